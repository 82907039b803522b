// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, Job, JobStatus} from "../../../contracts/libraries/JobTypes.sol";
import {JobHandler} from "./JobHandler.sol";
import {LedgerHandler} from "./LedgerHandler.sol";
import {within} from "./Vm.sol";

/// @notice What holds after any sequence of legal calls, with a token that refuses payees at random.
contract SolvencyTest {
    JobHandler private _handler;

    function setUp() external {
        _handler = new JobHandler();
    }

    /// @dev Where the runner looks for what to call.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// One campaign for all of them: each step is checked against each.
    function invariant_ledgerIsSound() external view {
        _checkAll();
    }

    /// The same actions in a fixed order: shows that the handler reaches every one of them, many times.
    function test_everyActionIsReached() external {
        for (uint256 i = 0; i < 1_500; ++i) {
            uint256 seed = uint256(keccak256(abi.encode(i)));
            (uint256 a, uint256 b, uint256 c, uint256 d) = (seed >> 8, seed >> 72, seed >> 136, seed >> 200);
            uint256 action = seed % 18;
            if (action == 0) _handler.deposit(a, b);
            else if (action == 1) _handler.withdraw(a, within(b, 1, 50));
            else if (action <= 4) _handler.lock(a, b, c);
            else if (action <= 7) _handler.acknowledge(a, b);
            else if (action == 8) _handler.complete(a, b, c, d);
            else if (action <= 11) _handler.submitProof(a, b);
            else if (action <= 14) _handler.finalize(a);
            else if (action == 15) a % 2 == 0 ? _handler.fail(a >> 1, b) : _handler.refund(a >> 1, b % 2 == 0);
            else if (action == 16) a % 2 == 0 ? _handler.misbehave(a >> 1, b) : _handler.claim(a >> 1);
            else _handler.wait(a);
            if (i % 50 == 0) _checkAll();
        }
        _checkAll();
        string[11] memory actions = [
            "deposit",
            "withdraw",
            "lock",
            "acknowledge",
            "complete",
            "submitProof",
            "finalize",
            "fail",
            "refund",
            "misbehave",
            "claim"
        ];
        for (uint256 i = 0; i < actions.length; ++i) {
            require(_handler.done(bytes32(bytes(actions[i]))) >= 10, actions[i]);
        }
    }

    function _checkAll() private view {
        _checkTokensHeldAreOwed();
        _checkLiabilitiesAreTheSumOfAccounts();
        _checkBalancesAreWhatTheirCallsMade();
        _checkJobsEndOnceAndAddUp();
        _checkPayeesHaveWhatTheyEarned();
        _checkStakesAreHeld();
    }

    /// The tokens held are exactly what is owed and what was given away.
    function _checkTokensHeldAreOwed() private view {
        (uint256 credits, uint256 claimable) = _handler.escrow().liabilities();
        uint256 held = _handler.token().balanceOf(address(_handler.escrow()));
        require(held == credits * 10_000 + claimable + _handler.donated(), "held is not owed");
    }

    /// The liabilities are the sum of their parts.
    function _checkLiabilitiesAreTheSumOfAccounts() private view {
        (uint256 credits, uint256 claimable) = _handler.escrow().liabilities();
        uint256 sum = 0;
        for (uint256 i = 0; i < _handler.WALLETS(); ++i) {
            Account memory account = _handler.escrow().accountOf(_handler.walletAt(i));
            sum += account.free + account.escrowed;
        }
        require(sum == credits, "credits");
        uint256 waiting = _handler.escrow().claimableOf(_handler.TREASURY());
        for (uint256 i = 0; i < _handler.WORKERS(); ++i) waiting += _handler.escrow().claimableOf(_handler.payoutAt(i));
        require(waiting == claimable, "claimable");
    }

    /// Nobody's balance moves but by the wallet's own calls and its jobs.
    function _checkBalancesAreWhatTheirCallsMade() private view {
        for (uint256 i = 0; i < _handler.WALLETS(); ++i) {
            address wallet = _handler.walletAt(i);
            Account memory account = _handler.escrow().accountOf(wallet);
            (uint256 free, uint256 escrowed) = _handler.wallets(wallet);
            require(account.free == free && account.escrowed == escrowed, "balance");
        }
    }

    /// A job's credits are paid or returned once, and add up to its lock; an open job has neither.
    function _checkJobsEndOnceAndAddUp() private view {
        for (uint256 i = 0; i < _handler.jobCount(); ++i) {
            bytes16 jobId = _handler.jobs(i);
            LedgerHandler.JobGhost memory ghost = _handler.ghostOf(jobId);
            Job memory job = _handler.escrow().jobOf(jobId);
            if (job.status == JobStatus.Settled) {
                require(ghost.ends == 1 && ghost.returned == 0 && job.credits == ghost.paid, "settled");
                require(ghost.paid <= ghost.locked, "charged above the lock");
            } else if (job.status == JobStatus.Failed || job.status == JobStatus.Refunded) {
                require(ghost.ends == 1 && ghost.paid == 0 && ghost.returned == ghost.locked, "returned");
            } else {
                require(ghost.ends == 0 && job.credits == ghost.locked, "open");
            }
        }
    }

    /// Every payee has what its jobs earned, in tokens or as a claim.
    function _checkPayeesHaveWhatTheyEarned() private view {
        _checkIncome(_handler.TREASURY());
        for (uint256 i = 0; i < _handler.WORKERS(); ++i) _checkIncome(_handler.payoutAt(i));
    }

    /// The registry holds the stakes it counts.
    function _checkStakesAreHeld() private view {
        uint256 stakes = 0;
        for (uint32 id = 1; id <= _handler.WORKERS(); ++id) stakes += _handler.registry().workerAt(id).stake;
        require(_handler.svc().balanceOf(address(_handler.registry())) == stakes * 1e12, "stakes");
    }

    function _checkIncome(address payee) private view {
        uint256 has = _handler.token().balanceOf(payee) + _handler.escrow().claimableOf(payee);
        require(has == _handler.income(payee), "income");
    }
}

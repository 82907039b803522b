// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, Dispute, Job, JobStatus, Operator} from "../../../../contracts/Types.sol";
import {LifeHandler} from "./LifeHandler.sol";

/// @notice What holds after any sequence of calls, each property under its name; the ghost ledger against the contracts.
abstract contract Checks is LifeHandler {
    function checkTokensHeldAreOwed() external view {
        (uint256 credits, uint256 claimable) = escrow.liabilities();
        uint256 balance = token.balanceOf(address(escrow));
        require(balance >= credits * 10_000 + claimable, "tokens held cover what is owed");
        require(balance == credits * 10_000 + claimable + donated, "nothing is held that nobody gave or is owed");
    }

    function checkOwedIsTheSumOfItsParts() external view {
        (uint256 credits, uint256 claimable) = escrow.liabilities();
        uint256 sum = 0;
        uint256 units = 0;
        for (uint256 i = 0; i < WALLETS; ++i) {
            Account memory account = escrow.accountOf(walletAt(i));
            sum += uint256(account.free) + account.escrowed;
            units += escrow.claimableOf(walletAt(i));
        }
        for (uint256 i = 0; i < WORKERS + 3; ++i) units += escrow.claimableOf(_payeeAt(i));
        for (uint8 i = 1; i <= OPERATORS; ++i) {
            Operator memory operator = escrow.operatorOf(i);
            sum += uint256(operator.reserve) + operator.held;
        }
        require(sum == credits, "balances, escrowed credits, reserves and held bonds are the credits owed");
        require(units == claimable, "what payees can claim is the units owed");
    }

    function checkBalancesMoveByTheirOwnersOnly() external view {
        for (uint256 i = 0; i < WALLETS; ++i) {
            address wallet = walletAt(i);
            Account memory account = escrow.accountOf(wallet);
            Wallet storage ghost = wallets[wallet];
            require(account.free == ghost.free, "no balance moves but by its wallet's calls and jobs");
            require(account.escrowed == ghost.escrowed, "escrow is the open jobs and bonds of its wallet");
            require(account.openDisputes == ghost.openDisputes, "open disputes are counted");
            require(account.operator == ghost.operator, "the operator is the wallet's choice");
            uint256 flags = (ghost.frozen ? 1 : 0) | (ghost.limited ? 2 : 0) | (ghost.authorized ? 4 : 0);
            require(account.flags == flags && account.dailyLimit == ghost.limit, "so are its switches");
            if (account.spentDay == ghost.lastLockDay) {
                require(account.spentToday == ghost.spent[ghost.lastLockDay], "the day's spending is counted");
            }
            _checkPayee(wallet);
        }
    }

    function checkReservesAreTheirOperators() external view {
        for (uint8 i = 1; i <= OPERATORS; ++i) {
            Operator memory operator = escrow.operatorOf(i);
            OperatorGhost storage ghost = operators[i];
            require(operator.reserve == ghost.reserve, "no reserve moves but by its rules");
            require(operator.held == ghost.held, "what is held are the bonds of open disputes");
            require(
                operator.leaving == ghost.leaving && operator.leavesAt == ghost.leavesAt,
                "what leaves was announced"
            );
        }
    }

    function checkPayeesHaveWhatTheyEarned() external view {
        for (uint256 i = 0; i < WORKERS; ++i) _checkPayee(payoutAt(i));
        _checkPayee(address(treasuries[0]));
        _checkPayee(address(treasuries[1]));
    }

    function checkStakesAreHeld() external view {
        uint256 sum = stakes[0] + stakes[1] + stakes[2];
        require(svc.balanceOf(address(registry)) == sum * 1e12, "stake held covers bonded and unbonding");
        require(svc.balanceOf(STAKE_RECEIVER) == stakeWithdrawn * 1e12, "a stake leaves once");
        for (uint256 i = 0; i < 2; ++i) {
            uint256 slashed = svc.balanceOf(address(treasuries[i]));
            require(slashed == slashIncome[address(treasuries[i])] * 1e12, "slashes are the treasury's");
        }
    }

    function checkFeeIsCapped() external view {
        require(escrow.feeBps() <= 2_000 && escrow.feeBps() == _feeNow(), "the fee is the announced one, at most 20 %");
    }

    function checkTouchedJob() external view {
        if (touched != 0) _checkJob(touched);
    }

    function checkAllJobs() public view {
        for (uint32 i = 0; i < WORKERS; ++i) {
            uint256 stake = registry.workerAt(i + 1).stake;
            require(stake == stakes[i], "a slash takes its amount or what is left, once a job");
        }
        for (uint256 i = 0; i < jobs.length; ++i) _checkJob(jobs[i]);
    }

    function _checkPayee(address payee) private view {
        require(token.balanceOf(payee) == held[payee], "a payee was paid what it earned");
        require(escrow.claimableOf(payee) == waiting[payee], "and can claim what the token refused");
    }

    function _checkJob(bytes16 jobId) private view {
        JobGhost storage ghost = ghosts[jobId];
        Job memory job = escrow.jobOf(jobId);
        require(job.status == ghost.status, "a job is where its calls brought it");
        require(
            job.creditsPerRequest == ghost.flat && job.creditsPer1kTokens == ghost.per1k && job.feeBps == ghost.fee,
            "governance never changes an open job's terms"
        );
        require(job.feeBps <= 2_000, "no job pays more than the highest fee");
        _checkEscrow(ghost, job);
        _checkDraw(ghost);
        (uint256 granted, uint256 paid, bool toWorker) = escrow.compensationOf(jobId);
        require(granted == ghost.granted && paid == ghost.paid, "what the treasury owes and paid is known");
        require(granted == 0 || toWorker == ghost.toWorker, "and whom");
        (uint32 worker, ) = registry.slashOf(jobId);
        require(worker == (ghost.slashes == 0 ? 0 : ghost.worker), "its worker is slashed for a job");
        require(ghost.slashes <= 1, "once");
        Dispute memory dispute = escrow.disputeOf(jobId);
        require((dispute.openedAt != 0) == (ghost.dispute.count != 0), "a dispute is one that was opened");
        require(
            ghost.dispute.count < 2 || (ghost.dispute.count == 2 && ghost.dispute.afterEquivocation),
            "a job is disputed once, and once more after an equivocation"
        );
    }

    /// @dev The escrow of a job leaves it once: for its payees, or back.
    function _checkEscrow(JobGhost storage ghost, Job memory job) private view {
        bool open =
            ghost.status == JobStatus.Locked ||
                ghost.status == JobStatus.Acknowledged ||
                ghost.status == JobStatus.Proven ||
                (ghost.status == JobStatus.Disputed && ghost.dispute.fromProven);
        if (open) {
            require(ghost.ends == 0 && job.credits == ghost.locked, "an open job has its whole escrow");
            return;
        }
        require(ghost.ends == 1, "a job is paid or returned exactly once");
        require(ghost.charged + ghost.returned == ghost.locked, "and adds up to its lock");
        bool returned = ghost.status == JobStatus.Failed || (ghost.status == JobStatus.Refunded && ghost.charged == 0);
        require(job.credits == (returned ? ghost.locked : ghost.charged), "never refunded and proven both");
    }

    /// @dev Client and worker may collude: the treasury pays back no more than the job's own fee. It pays more, but never more than the
    ///      charge, if a quorum blamed the gateway, or blamed the worker and a full slash was taken.
    function _checkDraw(JobGhost storage ghost) private view {
        require(ghost.paid <= ghost.granted, "paid is what was granted");
        if (ghost.granted == 0) return;
        DisputeGhost storage dispute = ghost.dispute;
        uint256 credits = ghost.toWorker ? ghost.proof : ghost.charged;
        require(ghost.granted <= credits * 10_000, "a job costs the treasury its charge at most");
        bool covered =
            uint8(dispute.ruling) == 2 || (uint8(dispute.ruling) == 1 && ghost.slashes == 1 && ghost.fullSlash);
        require(covered || ghost.granted <= credits * ghost.fee, "collusion takes no more than the job's fee");
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, JobStatus, Operator} from "../../../../contracts/Types.sol";
import {Behaviour} from "../../tokens/HostileStablecoin.sol";
import {VM} from "../Vm.sol";
import {Checks} from "./Checks.sol";

/// @notice Everything that can happen, and how it ends when nobody does anything any more.
contract Life is Checks {
    address private immutable TEST = msg.sender;

    /// @notice Everyone falls silent, under a pause: a stranger ends every job and every dispute; every wallet, every payee and every
    ///         operator leaves with all it has.
    /// @dev Once, by the test and not by the runner.
    function silence() external {
        if (msg.sender != TEST) return;
        escrow.setPaused(true);
        for (uint256 i = 0; i < jobs.length; ++i) _endBySilence(jobs[i]);
        checkAllJobs();
        for (uint256 i = 0; i < WALLETS; ++i) _leave(walletAt(i));
        for (uint256 i = 0; i < WORKERS + 3; ++i) _claimAll(_payeeAt(i));
        for (uint8 i = 1; i <= OPERATORS; ++i) _close(i);
        (uint256 credits, uint256 units) = escrow.liabilities();
        require(credits == 0 && units == 0, "everyone left with everything");
        require(token.balanceOf(address(escrow)) == donated, "and no more");
    }

    function _endBySilence(bytes16 jobId) private {
        JobGhost storage job = ghosts[jobId];
        uint256 last =
            job.status == JobStatus.Locked || job.status == JobStatus.Acknowledged
                ? job.lockedAt + COMPLETION + INCLUSION
                : job.due;
        if (block.timestamp < last) VM.warp(last);
        if (job.status == JobStatus.Locked || job.status == JobStatus.Acknowledged) _refund(jobId, STRANGER);
        else if (job.status == JobStatus.Proven) _finalize(jobId);
        else if (job.status == JobStatus.Disputed) _expire(jobId);
    }

    function _leave(address wallet) private {
        Account memory account = escrow.accountOf(wallet);
        require(account.escrowed == 0, "silence leaves nothing in escrow");
        if (account.free != 0) {
            VM.prank(wallet);
            escrow.withdraw(account.free, address(0xdead));
        }
        _claimAll(wallet);
    }

    function _close(uint8 operator) private {
        Operator memory open = escrow.operatorOf(operator);
        require(open.held == 0, "silence leaves no bond held");
        if (open.reserve == 0) return;
        escrow.announceReserveWithdrawal(operator, open.reserve);
        VM.warp(block.timestamp + LONGEST_RISK);
        escrow.withdrawReserve(operator, address(0xdead));
    }

    function _claimAll(address payee) private {
        if (escrow.claimableOf(payee) == 0) return;
        token.setBehaviour(payee, Behaviour.Standard);
        escrow.claim(payee);
    }
}

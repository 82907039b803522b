// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, Dispute, Job, JobStatus} from "../../../../contracts/libraries/JobTypes.sol";
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
        require(sum == credits, "balances and escrowed credits are the credits owed");
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
            if (account.spentDay == ghost.lastLockDay) {
                require(account.spentToday == ghost.spent[ghost.lastLockDay], "the day's spending is counted");
            }
            _checkPayee(wallet);
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
        (uint256 debt, ) = escrow.debtOf(jobId);
        require(debt == ghost.debt, "what the treasury owes is known");
        (uint32 worker, ) = registry.slashOf(jobId);
        require((worker != 0) == (ghost.slashes == 1) && ghost.slashes <= 1, "a job is slashed for once");
        Dispute memory dispute = escrow.disputeOf(jobId);
        require((dispute.openedAt != 0) == ghost.disputed, "a job is disputed once");
    }

    /// @dev The escrow of a job leaves it once: for its payees, or back.
    function _checkEscrow(JobGhost storage ghost, Job memory job) private view {
        bool open =
            ghost.status == JobStatus.Locked ||
                ghost.status == JobStatus.Acknowledged ||
                ghost.status == JobStatus.Proven ||
                (ghost.status == JobStatus.Disputed && ghost.fromProven);
        if (open) {
            require(ghost.ends == 0 && job.credits == ghost.locked, "an open job has its whole escrow");
            return;
        }
        require(ghost.ends == 1, "a job is paid or returned exactly once");
        require(ghost.charged + ghost.returned == ghost.locked, "and adds up to its lock");
        bool returned = ghost.status == JobStatus.Failed || (ghost.status == JobStatus.Refunded && ghost.charged == 0);
        require(job.credits == (returned ? ghost.locked : ghost.charged), "never refunded and proven both");
    }

    /// @dev Whoever colludes, client and worker: the treasury pays back no more than the job's own fee, unless a full slash was taken
    ///      for the job or a quorum blamed the gateway; and never more than the charge.
    function _checkDraw(JobGhost storage ghost) private view {
        uint256 owed = ghost.drawn + ghost.debt;
        if (owed == 0) return;
        uint256 credits = ghost.fromProven ? ghost.proof : ghost.charged;
        require(owed <= credits * 10_000, "a job costs the treasury its charge at most");
        bool covered = (ghost.slashes == 1 && ghost.fullSlash) || uint8(ghost.ruling) == 2;
        require(covered || owed <= credits * ghost.fee, "collusion takes no more than fees and lost stake");
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Deployment, EscrowState} from "../escrow/EscrowState.sol";
import {Jobs} from "../escrow/Jobs.sol";
import {Ledger} from "../escrow/Ledger.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {Dispute, JobStatus, Ruling} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";
import {Compensation} from "./Compensation.sol";
import {DisputeOutcome} from "./DisputeOutcome.sol";

/// @title What two Completions of one worker for one job do to the job
library Equivocation {
    using Compensation for EscrowState;
    using DisputeOutcome for EscrowState;
    using Jobs for EscrowState;

    /// @notice State the job will have. An open job goes back to Locked without a worker: the equivocator's old attempt is
    ///         worth nothing, a worker under a higher attempt can still answer, and else the escrow returns.
    function statusAfter(JobSlot job) internal pure returns (JobStatus) {
        JobStatus status = job.status();
        if (status == JobStatus.Acknowledged) return JobStatus.Locked;
        if (status == JobStatus.Failed) return JobStatus.Failed;
        return JobStatus.Refunded;
    }

    /// @notice Brings the job there: whoever was charged is made whole, a held escrow returns.
    /// @param punished The slash took its full amount.
    function settle(
        EscrowState storage state,
        Deployment calldata d,
        bytes16 jobId,
        JobSlot job,
        bool punished
    ) internal {
        JobStatus status = job.status();
        if (status == JobStatus.Acknowledged) {
            state.jobs[jobId] = job.withoutWorker();
        } else if (status == JobStatus.Proven) {
            (address wallet, AccountSlot account) = state.returnAll(jobId, job, JobStatus.Refunded);
            emit IJobLifecycle.JobRefunded(jobId, wallet, job.credits(), account.free(), account.escrowed());
        } else if (status == JobStatus.Disputed) {
            state.resolve(d, jobId, job, Ruling.WorkerAtFault, punished);
        } else if (status == JobStatus.Settled) {
            job = job.to(JobStatus.Refunded);
            state.jobs[jobId] = job;
            uint256 fee = DisputeOutcome.feeOf(job);
            uint256 units = punished ? job.credits() * Ledger.UNITS_PER_CREDIT : fee;
            Dispute memory dispute = state.disputes[jobId];
            // An expired dispute gave the fee back already, or made it a debt that still stands.
            if (dispute.resolved && dispute.ruling == Ruling.None) units = units - fee + state.debts[jobId].units;
            state.compensate(d, jobId, job, units, false);
        }
    }
}

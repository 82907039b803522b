// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Debt, Deployment, EscrowState} from "../escrow/EscrowState.sol";
import {Jobs} from "../escrow/Jobs.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Completion, JobStatus, Ruling, Signature} from "../libraries/JobTypes.sol";
import {JobSlot} from "../libraries/JobSlot.sol";
import {Compensation} from "./Compensation.sol";
import {DisputeOpening} from "./DisputeOpening.sol";
import {DisputeOutcome} from "./DisputeOutcome.sol";
import {Equivocation} from "./Equivocation.sol";

/// @title Disputes, as the escrow's linked library
/// @notice The rare paths of the state machine. The escrow calls these functions by delegatecall: they run on its storage, under
///         its address and behind its reentrancy guard; deployed apart only because one contract cannot hold all the code.
///         The link is fixed in the escrow's bytecode. Called directly, the library reverts.
library DisputeLogic {
    using Compensation for EscrowState;
    using DisputeOutcome for EscrowState;
    using Equivocation for EscrowState;
    using DisputeOpening for EscrowState;
    using JobMessages for *;

    /// @notice See IDisputes.openDispute.
    function open(
        EscrowState storage state,
        Deployment calldata d,
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker
    ) external {
        state.open(d, receivedHash, completion, byWorker);
    }

    /// @notice See IDisputes.rule.
    function rule(EscrowState storage state, Deployment calldata d, bytes16 jobId, Ruling ruling) external {
        if (msg.sender != address(d.panel)) revert IDisputes.Dispute_NotThePanel(msg.sender);
        if (ruling == Ruling.None) revert IDisputes.Dispute_InvalidRuling();
        JobSlot job = _disputed(state, jobId);
        uint256 deadline = job.dueAt();
        if (block.timestamp >= deadline) revert IJobLifecycle.Job_TooLate(jobId, deadline, block.timestamp);
        bool punished = false;
        if (ruling == Ruling.WorkerAtFault) {
            // A job is slashed for once: if an earlier worker of it was, that slash covers the client.
            uint32 slashed;
            (slashed, punished) = d.registry.slashOf(jobId);
            if (slashed == 0) punished = d.registry.slash(jobId, false);
        }
        state.resolve(d, jobId, job, ruling, punished);
    }

    /// @notice See IDisputes.expire.
    function expire(EscrowState storage state, Deployment calldata d, bytes16 jobId) external {
        JobSlot job = _disputed(state, jobId);
        uint256 deadline = job.dueAt();
        if (block.timestamp < deadline) revert IJobLifecycle.Job_TooEarly(jobId, deadline, block.timestamp);
        state.resolve(d, jobId, job, Ruling.None, false);
    }

    /// @notice See IDisputes.proveEquivocation.
    function proveEquivocation(
        EscrowState storage state,
        Deployment calldata d,
        Completion calldata first,
        Signature calldata firstByWorker,
        Completion calldata second,
        Signature calldata secondByWorker
    ) external {
        bytes16 jobId = first.jobId;
        JobSlot job = state.jobs[jobId];
        if (job.worker() == 0) Jobs.wrongState(jobId, job);
        uint256 deadline = uint256(job.lockedAt()) + d.equivocation;
        if (block.timestamp >= deadline) revert IJobLifecycle.Job_TooLate(jobId, deadline, block.timestamp);
        bytes32 firstHash = first.hash();
        bytes32 secondHash = second.hash();
        if (second.jobId != jobId || firstHash == secondHash) revert IDisputes.Dispute_NoEquivocation(jobId);
        address worker = DisputeOpening.requireWorker(d, jobId, job, firstHash, firstByWorker);
        DisputeOpening.requireWorker(d, jobId, job, secondHash, secondByWorker);

        bool punished = d.registry.slash(jobId, true);
        emit IDisputes.WorkerEquivocated(
            jobId,
            worker,
            first.proofHash,
            second.proofHash,
            Equivocation.statusAfter(job)
        );
        state.settle(d, jobId, job, punished);
    }

    /// @notice See IDisputes.collectDebt.
    function collectDebt(EscrowState storage state, Deployment calldata d, bytes16 jobId) external {
        Debt memory debt = state.debts[jobId];
        if (debt.units == 0) revert IDisputes.Dispute_NoDebt(jobId);
        uint256 paid = state.compensate(d, jobId, state.jobs[jobId], debt.units, debt.toWorker);
        if (paid == 0) revert IDisputes.Dispute_TreasuryEmpty(jobId, debt.units);
    }

    function _disputed(EscrowState storage state, bytes16 jobId) private view returns (JobSlot job) {
        job = state.jobs[jobId];
        if (job.status() != JobStatus.Disputed) Jobs.wrongState(jobId, job);
    }
}

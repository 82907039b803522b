// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Debt, Deployment, EscrowState} from "../escrow/EscrowState.sol";
import {Jobs} from "../escrow/Jobs.sol";
import {Ledger} from "../escrow/Ledger.sol";
import {ICreditLedger} from "../interfaces/ICreditLedger.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {ISettlement} from "../interfaces/ISettlement.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Completion, Dispute, JobStatus, Ruling, Signature} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";
import {Compensation} from "./Compensation.sol";
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
    using JobMessages for *;
    using Ledger for EscrowState;

    /// @notice Credits a wallet puts up for a dispute of its own; the gateway puts up none.
    uint32 internal constant BOND = 100;
    /// @notice Gateway-opened disputes an account can have at a time.
    uint8 internal constant LIMIT = 8;

    /// @notice See IDisputes.openDispute.
    function open(
        EscrowState storage state,
        Deployment calldata d,
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker
    ) external {
        bytes16 jobId = completion.jobId;
        JobSlot job = state.jobs[jobId];
        bool proven = job.status() == JobStatus.Proven;
        if (!proven && job.status() != JobStatus.Settled) Jobs.wrongState(jobId, job);
        uint256 deadline = job.dueAt();
        if (block.timestamp >= deadline) revert IJobLifecycle.Job_TooLate(jobId, deadline, block.timestamp);
        if (state.disputes[jobId].openedAt != 0) revert IDisputes.Dispute_AlreadyOpened(jobId);
        if (receivedHash == completion.proofHash) revert IDisputes.Dispute_SameHash(jobId);
        bytes32 structHash = completion.hash();
        address worker = _signer(d, jobId, job, structHash, byWorker);
        if (proven && state.proofs[jobId].digest != bytes28(structHash)) {
            revert ISettlement.Settlement_OtherCompletion(jobId);
        }

        address wallet = state.wallets[job.account()];
        (AccountSlot account, uint32 bond) = _entitle(state, jobId, job, wallet);
        state.accounts[wallet] = account;
        Dispute memory dispute = Dispute({
            openedAt: uint40(block.timestamp),
            arbiterSet: d.panel.currentSet(),
            bond: bond,
            byGateway: msg.sender != wallet,
            fromProven: proven,
            resolved: false,
            ruling: Ruling.None
        });
        state.disputes[jobId] = dispute;
        job = job.to(JobStatus.Disputed).withDueAt(block.timestamp + d.arbitration);
        state.jobs[jobId] = job;
        emit IDisputes.JobDisputed(
            jobId,
            wallet,
            worker,
            receivedHash,
            completion.proofHash,
            dispute.byGateway,
            proven ? state.proofs[jobId].credits : job.credits(),
            bond,
            dispute.arbiterSet,
            uint40(job.dueAt()),
            account.free(),
            account.escrowed()
        );
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
        address worker = _signer(d, jobId, job, firstHash, firstByWorker);
        _signer(d, jobId, job, secondHash, secondByWorker);

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

    /// @dev The wallet's account after its bond or its count, when the caller may open the dispute.
    function _entitle(
        EscrowState storage state,
        bytes16 jobId,
        JobSlot job,
        address wallet
    ) private view returns (AccountSlot account, uint32 bond) {
        account = state.accounts[wallet];
        if (msg.sender == wallet) {
            uint40 free = account.free();
            if (free < BOND) revert ICreditLedger.Ledger_InsufficientCredits(wallet, free, BOND);
            return (account.withBalance(free - BOND, account.escrowed() + BOND), BOND);
        }
        if (state.gateways[msg.sender].id != job.gateway()) revert IDisputes.Dispute_NotAParty(jobId, msg.sender);
        uint8 openDisputes = account.openDisputes();
        if (openDisputes == LIMIT) revert IDisputes.Dispute_TooMany(wallet);
        return (account.withOpenDisputes(openDisputes + 1), 0);
    }

    function _disputed(EscrowState storage state, bytes16 jobId) private view returns (JobSlot job) {
        job = state.jobs[jobId];
        if (job.status() != JobStatus.Disputed) Jobs.wrongState(jobId, job);
    }

    /// @dev Signer of a Completion, when it is the job's worker.
    function _signer(
        Deployment calldata d,
        bytes16 jobId,
        JobSlot job,
        bytes32 structHash,
        Signature calldata byWorker
    ) private view returns (address signer) {
        signer = structHash.recover(d.domain, byWorker);
        if (d.registry.payableTo(signer).id() != job.worker()) revert IJobLifecycle.Job_NotTheWorker(jobId, signer);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Deployment, EscrowState} from "../escrow/EscrowState.sol";
import {Jobs} from "../escrow/Jobs.sol";
import {ICreditLedger} from "../interfaces/ICreditLedger.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {ISettlement} from "../interfaces/ISettlement.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Completion, Dispute, JobStatus, Ruling, Signature} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";

/// @title How a dispute begins
/// @notice A worker's signed hash against the hash of what the client received; the panel finds out whose it was.
library DisputeOpening {
    using JobMessages for *;

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
    ) internal {
        bytes16 jobId = completion.jobId;
        JobSlot job = state.jobs[jobId];
        bool proven = job.status() == JobStatus.Proven;
        if (!proven && job.status() != JobStatus.Settled) Jobs.wrongState(jobId, job);
        uint256 deadline = job.dueAt();
        if (block.timestamp >= deadline) revert IJobLifecycle.Job_TooLate(jobId, deadline, block.timestamp);
        if (state.disputes[jobId].openedAt != 0) revert IDisputes.Dispute_AlreadyOpened(jobId);
        if (receivedHash == completion.proofHash) revert IDisputes.Dispute_SameHash(jobId);
        bytes32 structHash = completion.hash();
        address worker = requireWorker(d, jobId, job, structHash, byWorker);
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

    /// @notice The signer of a Completion, when it is the job's worker.
    function requireWorker(
        Deployment calldata d,
        bytes16 jobId,
        JobSlot job,
        bytes32 structHash,
        Signature calldata byWorker
    ) internal view returns (address signer) {
        signer = structHash.recover(d.domain, byWorker);
        if (d.registry.payableTo(signer).id() != job.worker()) revert IJobLifecycle.Job_NotTheWorker(jobId, signer);
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
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Deployment, EscrowState} from "../escrow/EscrowState.sol";
import {Ledger} from "../escrow/Ledger.sol";
import {Spending} from "../escrow/Spending.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {Dispute, JobStatus, Ruling} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";
import {Compensation} from "./Compensation.sol";

/// @title How a dispute ends
/// @notice Who pays when: a worker at fault is slashed, a gateway at fault costs the treasury, silence of the arbiters costs the
///         protocol its fee, a rejected dispute costs the wallet its bond.
library DisputeOutcome {
    using Compensation for EscrowState;
    using Ledger for EscrowState;
    using Spending for AccountSlot;

    /// @notice Ends the dispute of a Disputed job.
    /// @param ruling None when it expired.
    /// @param punished The slash took its full amount.
    function resolve(
        EscrowState storage state,
        Deployment calldata d,
        bytes16 jobId,
        JobSlot job,
        Ruling ruling,
        bool punished
    ) internal {
        Dispute memory dispute = state.disputes[jobId];
        dispute.resolved = true;
        dispute.ruling = ruling;
        state.disputes[jobId] = dispute;

        JobStatus end = _endOf(dispute, ruling);
        bool rejected = ruling == Ruling.Rejected;
        uint32 escrowBack = dispute.fromProven && !rejected ? job.credits() : 0;
        uint32 bondBack = rejected ? 0 : dispute.bond;
        address wallet = state.wallets[job.account()];
        AccountSlot account = state.accounts[wallet];
        if (dispute.byGateway) account = account.withOpenDisputes(account.openDisputes() - 1);
        account = account.returned(escrowBack, escrowBack, job.lockedAt());
        account = account.released(dispute.bond, bondBack);
        state.accounts[wallet] = account;
        job = job.to(end);
        // The proof stands: anyone can finalize it from now on.
        if (end == JobStatus.Proven) job = job.withDueAt(block.timestamp);
        state.jobs[jobId] = job;
        emit IDisputes.DisputeResolved(
            jobId,
            wallet,
            ruling,
            end,
            escrowBack + bondBack,
            account.free(),
            account.escrowed()
        );

        if (rejected) {
            state.release(dispute.bond);
            state.pay(d.token, jobId, state.config.treasury, dispute.bond * Ledger.UNITS_PER_CREDIT);
        }
        (uint256 units, bool toWorker) = _owed(state, dispute, jobId, job, punished);
        state.compensate(d, jobId, job, units, toWorker);
    }

    /// @notice Protocol fee of a charged job, token units.
    function feeOf(JobSlot job) internal pure returns (uint256) {
        // credits × UNITS_PER_CREDIT × feeBps / 10,000, exact because both constants are 10,000.
        return uint256(job.credits()) * job.feeBps();
    }

    function _endOf(Dispute memory dispute, Ruling ruling) private pure returns (JobStatus) {
        if (ruling == Ruling.Rejected) return dispute.fromProven ? JobStatus.Proven : JobStatus.Settled;
        // A charge that nobody ruled on stands; an escrow that nobody ruled on returns.
        if (ruling == Ruling.None && !dispute.fromProven) return JobStatus.Settled;
        return JobStatus.Refunded;
    }

    /// @dev What the treasury owes after the dispute, and to whom.
    function _owed(
        EscrowState storage state,
        Dispute memory dispute,
        bytes16 jobId,
        JobSlot job,
        bool punished
    ) private view returns (uint256 units, bool toWorker) {
        Ruling ruling = dispute.ruling;
        if (ruling == Ruling.Rejected) return (0, false);
        if (dispute.fromProven) {
            // The client has its escrow back. If the gateway hid the answer, the worker did its work: the protocol pays.
            if (ruling != Ruling.GatewayAtFault) return (0, false);
            return (uint256(state.proofs[jobId].credits) * (Ledger.UNITS_PER_CREDIT - job.feeBps()), true);
        }
        // In full when the slash covers it or the operator is to blame; else no more than the job brought in.
        if (punished || ruling == Ruling.GatewayAtFault) return (job.credits() * Ledger.UNITS_PER_CREDIT, false);
        return (feeOf(job), false);
    }
}

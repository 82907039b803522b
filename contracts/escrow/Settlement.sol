// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../interfaces/ISettlement.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Completion, JobStatus, Signature} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";
import {Payee} from "../libraries/Packed.sol";
import {Pricing} from "../libraries/Pricing.sol";
import {EscrowState, Proof} from "./EscrowState.sol";
import {JobLifecycle} from "./JobLifecycle.sol";
import {Jobs} from "./Jobs.sol";
import {Ledger} from "./Ledger.sol";
import {Spending} from "./Spending.sol";

/// @title Proof verification, charging and payouts
/// @notice The fast path (`complete`, by the gateway) and the slow path (`submitProof`, `finalize`, by anyone).
abstract contract Settlement is ISettlement, JobLifecycle {
    using JobMessages for *;
    using Ledger for EscrowState;
    using Spending for AccountSlot;

    /// @inheritdoc ISettlement
    function complete(
        Completion calldata completion,
        uint32 countedTokens,
        Signature calldata byWorker,
        uint8 attempt,
        address wallet
    ) external nonReentrant {
        bytes16 jobId = completion.jobId;
        JobSlot job = _ownJob(jobId);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(_domainSeparatorV4(), byWorker);
        address payout;

        if (job.isIn(JobStatus.Locked) || attempt > job.attempt()) {
            if (!job.isOpen()) Jobs.wrongState(jobId, job);
            (job, payout) = _assign(jobId, job, signer, attempt);
        } else {
            payout = _payoutOf(jobId, job, signer);
            if (!job.isIn(JobStatus.Acknowledged)) {
                if (job.isIn(JobStatus.Settled)) return;
                if (!job.isIn(JobStatus.Proven)) Jobs.wrongState(jobId, job);
                if (_state.proofs[jobId].digest != bytes28(structHash)) revert Settlement_OtherCompletion(jobId);
            }
        }
        _checkInTime(jobId, job, completion.completedAt);

        uint32 billed = completion.completionTokens;
        if (countedTokens < billed) billed = countedTokens;
        job = job.withDueAt(block.timestamp + SETTLED_WINDOW);
        _settle(completion, job, _charge(job, billed), billed, signer, payout, wallet);
    }

    /// @inheritdoc ISettlement
    function submitProof(Completion calldata completion, Signature calldata byWorker) external {
        bytes16 jobId = completion.jobId;
        JobSlot job = _state.jobs[jobId];
        if (!job.isIn(JobStatus.Acknowledged)) Jobs.wrongState(jobId, job);
        _checkInTime(jobId, job, completion.completedAt);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(_domainSeparatorV4(), byWorker);
        _payoutOf(jobId, job, signer);

        uint32 credits = _charge(job, completion.completionTokens);
        job = job.to(JobStatus.Proven).withDueAt(block.timestamp + FINALIZATION_WINDOW);
        _state.jobs[jobId] = job;
        _state.proofs[jobId] = Proof({digest: bytes28(structHash), credits: credits});
        emit JobProven(
            jobId,
            signer,
            completion.proofHash,
            completion.promptTokens,
            completion.completionTokens,
            completion.completedAt,
            credits,
            uint40(job.dueAt())
        );
    }

    /// @inheritdoc ISettlement
    function finalize(Completion calldata completion) external nonReentrant {
        bytes16 jobId = completion.jobId;
        JobSlot job = _state.jobs[jobId];
        if (!job.isIn(JobStatus.Proven)) Jobs.wrongState(jobId, job);
        uint256 notBefore = job.dueAt();
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        Proof memory proof = _state.proofs[jobId];
        if (proof.digest != bytes28(completion.hash())) revert Settlement_OtherCompletion(jobId);

        address signer = REGISTRY.signerOf(job.worker());
        address payout = REGISTRY.payableTo(signer).payout();
        address wallet = _state.wallets[job.account()];
        _settle(completion, job, proof.credits, completion.completionTokens, signer, payout, wallet);
    }

    /// @inheritdoc ISettlement
    function proofOf(bytes16 jobId) external view returns (bytes28 digest, uint32 credits) {
        Proof memory proof = _state.proofs[jobId];
        return (proof.digest, proof.credits);
    }

    /// @dev Charges the job, whose `deadline` the caller has set, stores it and pays everyone.
    function _settle(
        Completion calldata completion,
        JobSlot job,
        uint32 charge,
        uint32 billed,
        address signer,
        address payout,
        address wallet
    ) private {
        bytes16 jobId = completion.jobId;
        AccountSlot account = _state.accountOf(wallet);
        if (account.id() != job.account()) revert Settlement_WrongWallet(jobId, wallet);

        uint32 locked = job.credits();
        uint32 returned = locked - charge;
        account = account.returned(locked, returned, job.lockedAt());
        _state.accounts[wallet] = account;
        _state.jobs[jobId] = job.withCredits(charge).to(JobStatus.Settled);
        _state.release(charge);

        // charge × UNITS_PER_CREDIT × feeBps / 10,000, exact because both constants are 10,000; feeBps ≤ 2,000.
        uint256 feeUnits;
        uint256 workerUnits;
        unchecked {
            feeUnits = uint256(charge) * job.feeBps();
            workerUnits = uint256(charge) * UNITS_PER_CREDIT - feeUnits;
        }
        emit JobSettled(
            jobId,
            wallet,
            signer,
            completion.proofHash,
            completion.promptTokens,
            completion.completionTokens,
            billed,
            charge,
            returned,
            workerUnits,
            feeUnits,
            account.free(),
            account.escrowed()
        );
        _state.pay(TOKEN, jobId, payout, workerUnits);
        _state.pay(TOKEN, jobId, treasury(), feeUnits);
    }

    /// @dev Where the job's worker is paid, when `signer` is that worker.
    function _payoutOf(bytes16 jobId, JobSlot job, address signer) private view returns (address) {
        Payee payee = REGISTRY.payableTo(signer);
        if (payee.id() != job.worker()) revert Job_NotTheWorker(jobId, signer);
        return payee.payout();
    }

    function _charge(JobSlot job, uint32 tokens) private pure returns (uint32) {
        return Pricing.charge(tokens, job.creditsPerRequest(), job.creditsPer1kTokens(), job.credits());
    }

    /// @dev The answer was finished in [lockedAt, lockedAt + 120 s) and its proof arrives before lockedAt + 150 s.
    function _checkInTime(bytes16 jobId, JobSlot job, uint40 completedAt) private view {
        uint256 lockedAt = job.lockedAt();
        // 40-bit times and 32-bit windows: nothing can overflow.
        unchecked {
            if (completedAt < lockedAt || completedAt >= lockedAt + COMPLETION_WINDOW) {
                revert Settlement_CompletedOutOfTime(jobId, completedAt, lockedAt);
            }
            uint256 deadline = lockedAt + PROOF_WINDOW;
            if (block.timestamp >= deadline) revert Job_TooLate(jobId, deadline, block.timestamp);
        }
    }
}

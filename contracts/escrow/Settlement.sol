// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../interfaces/ISettlement.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Completion, JobStatus, Signature} from "../libraries/JobTypes.sol";
import {PackedAccount} from "../libraries/PackedAccount.sol";
import {PackedJob} from "../libraries/PackedJob.sol";
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
    using Spending for PackedAccount;

    /// @inheritdoc ISettlement
    function complete(
        Completion calldata completion,
        uint32 countedTokens,
        Signature calldata byWorker,
        uint8 attempt,
        address wallet
    ) external nonReentrant {
        bytes16 jobId = completion.jobId;
        PackedJob job = _ownJob(jobId);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(_domainSeparatorV4(), byWorker);
        address payout;

        bool locked = job.isIn(JobStatus.Locked);
        uint8 current = job.attempt();
        if (locked || attempt > current) {
            if (!locked && !job.isIn(JobStatus.Acknowledged)) Jobs.wrongState(jobId, job);
            if (attempt <= current) revert Job_AttemptTaken(jobId, attempt, current);
            uint16 model = job.model();
            (uint32 worker, address payee, bool eligible) = REGISTRY.eligiblePayee(signer, model);
            if (!eligible) revert Job_WorkerNotEligible(signer, model);
            (job, payout) = (job.acknowledged(worker, attempt), payee);
            emit JobAcknowledged(jobId, signer, attempt);
        } else {
            payout = _payoutOf(jobId, job, signer);
            if (job.isIn(JobStatus.Settled)) return;
            if (job.isIn(JobStatus.Proven)) {
                if (_state.proofs[jobId].digest != bytes28(structHash)) revert Settlement_OtherCompletion(jobId);
            } else if (!job.isIn(JobStatus.Acknowledged)) {
                Jobs.wrongState(jobId, job);
            }
        }
        _checkInTime(jobId, job, completion.completedAt);

        uint32 billed = completion.completionTokens;
        if (countedTokens < billed) billed = countedTokens;
        job = job.withDeadline(block.timestamp + SETTLED_WINDOW);
        _settle(completion, job, _charge(job, billed), billed, signer, payout, wallet);
    }

    /// @inheritdoc ISettlement
    function submitProof(Completion calldata completion, Signature calldata byWorker) external {
        bytes16 jobId = completion.jobId;
        PackedJob job = _state.jobs[jobId];
        if (!job.isIn(JobStatus.Acknowledged)) Jobs.wrongState(jobId, job);
        _checkInTime(jobId, job, completion.completedAt);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(_domainSeparatorV4(), byWorker);
        _payoutOf(jobId, job, signer);

        uint32 credits = _charge(job, completion.completionTokens);
        job = job.withStatus(JobStatus.Proven).withDeadline(block.timestamp + FINALIZATION_WINDOW);
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
            uint40(job.deadline())
        );
    }

    /// @inheritdoc ISettlement
    function finalize(Completion calldata completion) external nonReentrant {
        bytes16 jobId = completion.jobId;
        PackedJob job = _state.jobs[jobId];
        if (!job.isIn(JobStatus.Proven)) Jobs.wrongState(jobId, job);
        uint256 notBefore = job.deadline();
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        Proof memory proof = _state.proofs[jobId];
        if (proof.digest != bytes28(completion.hash())) revert Settlement_OtherCompletion(jobId);

        address signer = REGISTRY.signerOf(job.worker());
        (, address payout) = REGISTRY.payableTo(signer);
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
        PackedJob job,
        uint32 charge,
        uint32 billed,
        address signer,
        address payout,
        address wallet
    ) private {
        bytes16 jobId = completion.jobId;
        PackedAccount account = _state.accountOf(wallet);
        if (account.id() != job.account()) revert Settlement_WrongWallet(jobId, wallet);

        uint32 locked = job.credits();
        uint32 returned = locked - charge;
        account = account.returned(locked, returned, job.lockedAt());
        _state.accounts[wallet] = account;
        _state.jobs[jobId] = job.withCredits(charge).withStatus(JobStatus.Settled);
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
    function _payoutOf(bytes16 jobId, PackedJob job, address signer) private view returns (address payout) {
        uint32 worker;
        (worker, payout) = REGISTRY.payableTo(signer);
        if (worker == 0 || worker != job.worker()) revert Job_NotTheWorker(jobId, signer);
    }

    function _charge(PackedJob job, uint32 tokens) private pure returns (uint32) {
        return Pricing.charge(tokens, job.creditsPerRequest(), job.creditsPer1kTokens(), job.credits());
    }

    /// @dev The answer was finished in [lockedAt, lockedAt + 120 s) and its proof arrives before lockedAt + 150 s.
    function _checkInTime(bytes16 jobId, PackedJob job, uint40 completedAt) private view {
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

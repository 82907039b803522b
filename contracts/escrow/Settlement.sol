// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISettlement} from "../interfaces/ISettlement.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {JobSlot} from "../libraries/JobSlot.sol";
import {Completion, JobStatus, Signature} from "../libraries/JobTypes.sol";
import {Pricing} from "../libraries/Pricing.sol";
import {JobLifecycle} from "./JobLifecycle.sol";

/// @title Proof verification, charging and payouts
/// @notice The fast path (`complete`, by the gateway) and the slow path (`submitProof`, `finalize`, by anyone).
abstract contract Settlement is ISettlement, JobLifecycle {
    using JobMessages for *;

    /// @dev One slot, only for jobs on the slow path.
    struct Proof {
        bytes28 digest; // of the Completion's struct hash
        uint32 credits; // what finalization charges
    }

    mapping(bytes16 jobId => Proof) private _proofs;

    /// @inheritdoc ISettlement
    function complete(
        Completion calldata completion,
        Signature calldata byWorker,
        uint8 attempt,
        uint32 countedTokens,
        address wallet
    ) external nonReentrant {
        bytes16 jobId = completion.jobId;
        JobSlot job = _ownJob(jobId);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(_domainSeparatorV4(), byWorker);
        JobStatus status = job.status();
        address payout;

        if (status == JobStatus.Locked || attempt > job.attempt()) {
            if (status > JobStatus.Acknowledged) revert Job_WrongState(jobId, uint8(status));
            (job, payout) = _assign(jobId, job, signer, attempt);
        } else {
            uint32 worker;
            (worker, payout) = REGISTRY.payeeOf(signer);
            if (worker != job.worker()) revert Job_NotTheWorker(jobId, signer);
            if (status == JobStatus.Settled) return;
            if (status == JobStatus.Proven) {
                if (_proofs[jobId].digest != bytes28(structHash)) revert Settlement_OtherCompletion(jobId);
            } else if (status != JobStatus.Acknowledged) {
                revert Job_WrongState(jobId, uint8(status));
            }
        }
        _checkInTime(jobId, job, completion.completedAt);

        uint32 billed = countedTokens < completion.completionTokens ? countedTokens : completion.completionTokens;
        job = job.withDeadline(uint32(block.timestamp - job.lockedAt()) + DISPUTE_WINDOW + INCLUSION_WINDOW);
        _settle(completion, job, _charge(job, billed), billed, signer, payout, wallet);
    }

    /// @inheritdoc ISettlement
    function submitProof(Completion calldata completion, Signature calldata byWorker) external {
        bytes16 jobId = completion.jobId;
        JobSlot job = _jobs[jobId];
        if (job.status() != JobStatus.Acknowledged) revert Job_WrongState(jobId, uint8(job.status()));
        _checkInTime(jobId, job, completion.completedAt);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(_domainSeparatorV4(), byWorker);
        (uint32 worker, ) = REGISTRY.payeeOf(signer);
        if (worker != job.worker()) revert Job_NotTheWorker(jobId, signer);

        uint32 deadline = uint32(block.timestamp - job.lockedAt()) + FINALIZATION_WINDOW;
        _jobs[jobId] = job.to(JobStatus.Proven).withDeadline(deadline);
        uint32 credits = _charge(job, completion.completionTokens);
        _proofs[jobId] = Proof({digest: bytes28(structHash), credits: credits});
        emit JobProven(
            jobId,
            signer,
            completion.proofHash,
            completion.promptTokens,
            completion.completionTokens,
            completion.completedAt,
            credits,
            job.lockedAt() + deadline
        );
    }

    /// @inheritdoc ISettlement
    function finalize(Completion calldata completion) external nonReentrant {
        bytes16 jobId = completion.jobId;
        JobSlot job = _jobs[jobId];
        if (job.status() != JobStatus.Proven) revert Job_WrongState(jobId, uint8(job.status()));
        uint256 notBefore = uint256(job.lockedAt()) + job.deadline();
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        Proof memory proof = _proofs[jobId];
        if (proof.digest != bytes28(completion.hash())) revert Settlement_OtherCompletion(jobId);

        address signer = REGISTRY.signerOf(job.worker());
        (, address payout) = REGISTRY.payeeOf(signer);
        _settle(completion, job, proof.credits, completion.completionTokens, signer, payout, walletOf(job.account()));
    }

    /// @inheritdoc ISettlement
    function proofOf(bytes16 jobId) external view returns (bytes28 digest, uint32 credits) {
        Proof memory proof = _proofs[jobId];
        return (proof.digest, proof.credits);
    }

    /// @dev Charges the job in memory, whose `deadline` the caller has set, and pays everyone.
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
        AccountSlot account = _accountOf(wallet);
        if (account.id() != job.account()) revert Settlement_WrongWallet(jobId, wallet);

        uint32 locked = job.credits();
        uint32 returned = locked - charge;
        account = account.withBalance(account.free() + returned, account.escrowed() - locked);
        _store(wallet, account);
        _jobs[jobId] = job.to(JobStatus.Settled).withCredits(charge);
        _release(charge);

        // charge × UNITS_PER_CREDIT × feeBps / 10,000, exact because both constants are 10,000.
        uint256 feeUnits = uint256(charge) * job.feeBps();
        uint256 workerUnits = uint256(charge) * UNITS_PER_CREDIT - feeUnits;
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
        _pay(jobId, payout, workerUnits);
        _pay(jobId, treasury(), feeUnits);
    }

    function _charge(JobSlot job, uint32 tokens) private pure returns (uint32) {
        return Pricing.charge(tokens, job.creditsPerRequest(), job.creditsPer1kTokens(), job.credits());
    }

    /// @dev The answer was finished in [lockedAt, lockedAt + 120 s) and its proof arrives before lockedAt + 150 s.
    function _checkInTime(bytes16 jobId, JobSlot job, uint40 completedAt) private view {
        uint40 lockedAt = job.lockedAt();
        if (completedAt < lockedAt || completedAt >= uint256(lockedAt) + COMPLETION_WINDOW) {
            revert Settlement_CompletedOutOfTime(jobId, completedAt, lockedAt);
        }
        uint256 deadline = _proofDeadline(job);
        if (block.timestamp >= deadline) revert Job_TooLate(jobId, deadline, block.timestamp);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {IModelCatalog} from "../interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "../interfaces/IWorkerRegistry.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Assignment, FailureReason, Job, JobStatus, Signature} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot, JobSlots} from "../libraries/JobSlot.sol";
import {LockTerms, Payee} from "../libraries/Packed.sol";
import {Pricing} from "../libraries/Pricing.sol";
import {CreditLedger} from "./CreditLedger.sol";
import {EscrowState} from "./EscrowState.sol";
import {Jobs} from "./Jobs.sol";
import {Ledger} from "./Ledger.sol";
import {Spending} from "./Spending.sol";
import {TimeWindows} from "./TimeWindows.sol";

/// @title lock → acknowledge → fail | refund
/// @notice The life of a job that is not charged; Settlement charges it.
abstract contract JobLifecycle is IJobLifecycle, TimeWindows, CreditLedger, EIP712 {
    using JobMessages for *;
    using Jobs for EscrowState;
    using Ledger for EscrowState;
    using Spending for AccountSlot;

    /// @inheritdoc IJobLifecycle
    uint32 public constant JOB_LIMIT = 5_000;

    IModelCatalog public immutable CATALOG;
    IWorkerRegistry public immutable REGISTRY;

    constructor(IModelCatalog catalog, IWorkerRegistry registry) EIP712("InferenceEscrow", "1") {
        CATALOG = catalog;
        REGISTRY = registry;
        // A stake must outlast the last second in which a job of its worker can be punished.
        if (registry.unbondingPeriod() <= _longestRisk()) revert Admin_InvalidWindows();
    }

    /// @inheritdoc IJobLifecycle
    function lock(
        address wallet,
        uint16 model,
        bytes16 jobId,
        uint32 maxTokens,
        uint32 maxCredits,
        uint40 validUntil
    ) external {
        (uint8 gateway, bool mayLock) = _gateway(msg.sender);
        if (!mayLock) revert Job_NotLockingGateway(msg.sender);
        (bool paused_, uint16 fee) = _lockTerms();
        if (paused_) revert Ledger_Paused();
        if (block.timestamp >= validUntil) revert Job_LockExpired(validUntil, block.timestamp);
        if (jobId == 0) revert Job_InvalidId();
        if (!_state.jobs[jobId].isIn(JobStatus.None)) revert Job_AlreadyExists(jobId);
        LockTerms terms = CATALOG.activeTerms(model);
        if (LockTerms.unwrap(terms) == 0) revert Job_ModelNotActive(model);
        uint16 perRequest = terms.creditsPerRequest();
        uint16 per1k = terms.creditsPer1kTokens();
        uint32 credits = Pricing.quote(maxTokens, perRequest, per1k);
        if (credits > maxCredits) revert Job_PriceExceedsLimit(credits, maxCredits);
        if (credits > JOB_LIMIT) revert Job_TooLarge(credits, JOB_LIMIT);

        AccountSlot account = _state.accountOf(wallet).spent(wallet, credits);
        _state.accounts[wallet] = account;
        _state.jobs[jobId] = JobSlots.locked(account.id(), credits, perRequest, per1k, model, fee, gateway);
        emit JobLocked(
            jobId,
            wallet,
            model,
            gateway,
            terms.tier(),
            credits,
            perRequest,
            per1k,
            fee,
            account.free(),
            account.escrowed()
        );
    }

    /// @inheritdoc IJobLifecycle
    function acknowledge(
        Assignment calldata assignment,
        Signature calldata byGateway,
        Signature calldata byWorker
    ) external {
        bytes16 jobId = assignment.jobId;
        JobSlot job = _state.jobs[jobId];
        _requireUnanswered(jobId, job);
        uint40 acknowledgeBy = assignment.acknowledgeBy;
        if (block.timestamp >= acknowledgeBy) revert Job_TooLate(jobId, acknowledgeBy, block.timestamp);
        bytes32 domain = _domainSeparatorV4();
        address signer = msg.sender;
        // The gateway's own call says what its Assignment would say.
        if (_gatewayId(signer) != job.gateway()) {
            signer = assignment.hash().recover(domain, byGateway);
            if (_gatewayId(signer) != job.gateway()) revert Job_NotAssigned(jobId, signer);
        }
        uint8 attempt = assignment.attempt;
        signer = JobMessages.hashAcknowledgement(jobId, attempt).recover(domain, byWorker);
        if (signer != assignment.worker) revert Job_NotTheWorker(jobId, signer);

        // The attempt is taken; its own worker repeats itself without effect.
        if (attempt == job.attempt() && job.worker() != 0 && REGISTRY.signerOf(job.worker()) == signer) return;
        (job, ) = _assign(jobId, job, signer, attempt);
        _state.jobs[jobId] = job;
    }

    /// @inheritdoc IJobLifecycle
    function fail(bytes16 jobId, FailureReason reason) external {
        JobSlot job = _ownJob(jobId);
        _requireUnanswered(jobId, job);
        (address wallet, AccountSlot account) = _state.returnAll(jobId, job, JobStatus.Failed);
        emit JobFailed(jobId, wallet, reason, job.credits(), account.free(), account.escrowed());
    }

    /// @inheritdoc IJobLifecycle
    function refund(bytes16 jobId) external {
        JobSlot job = _state.jobs[jobId];
        uint256 notBefore = uint256(job.lockedAt()) + COMPLETION_WINDOW;
        if (_gatewayId(msg.sender) != job.gateway()) notBefore += INCLUSION_WINDOW;
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        _requireUnanswered(jobId, job);
        (address wallet, AccountSlot account) = _state.returnAll(jobId, job, JobStatus.Refunded);
        emit JobRefunded(jobId, wallet, job.credits(), account.free(), account.escrowed());
    }

    /// @inheritdoc IJobLifecycle
    function jobOf(bytes16 jobId) external view returns (Job memory) {
        return _state.jobs[jobId].unpack();
    }

    /// @inheritdoc IJobLifecycle
    function domainSeparator() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    /// @dev The job in the hands of an eligible worker under a higher attempt; the caller stores it.
    function _assign(
        bytes16 jobId,
        JobSlot job,
        address signer,
        uint8 attempt
    ) internal returns (JobSlot assigned, address payout) {
        if (attempt <= job.attempt()) revert Job_AttemptTaken(jobId, attempt, job.attempt());
        Payee payee = REGISTRY.eligiblePayee(signer, job.model());
        if (Payee.unwrap(payee) == 0) revert Job_WorkerNotEligible(signer, job.model());
        emit JobAcknowledged(jobId, signer, attempt);
        return (job.assigned(payee.id(), attempt), payee.payout());
    }

    /// @dev The job, when the caller is the gateway that locked it.
    function _ownJob(bytes16 jobId) internal view returns (JobSlot job) {
        job = _state.jobs[jobId];
        uint8 gateway = job.gateway();
        if (gateway == 0) Jobs.wrongState(jobId, job);
        if (_gatewayId(msg.sender) != gateway) revert Job_NotItsGateway(jobId, msg.sender);
    }

    function _requireUnanswered(bytes16 jobId, JobSlot job) internal pure {
        if (!job.isOpen()) Jobs.wrongState(jobId, job);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {IModelCatalog, Tier} from "../interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "../interfaces/IWorkerRegistry.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {JobSlot, JobSlots} from "../libraries/JobSlot.sol";
import {Assignment, FailureReason, Job, JobStatus, Signature, Windows} from "../libraries/JobTypes.sol";
import {Pricing} from "../libraries/Pricing.sol";
import {CreditLedger} from "./CreditLedger.sol";
import {ProtocolAdmin} from "./ProtocolAdmin.sol";

/// @title lock → acknowledge → fail | refund
/// @notice The life of a job that is not charged; Settlement charges it.
abstract contract JobLifecycle is IJobLifecycle, CreditLedger, EIP712 {
    using JobMessages for *;

    IModelCatalog public immutable CATALOG;
    IWorkerRegistry public immutable REGISTRY;

    uint32 internal immutable COMPLETION_WINDOW;
    uint32 internal immutable INCLUSION_WINDOW;
    uint32 internal immutable FINALIZATION_WINDOW;
    uint32 internal immutable DISPUTE_WINDOW;
    uint32 internal immutable ARBITRATION_WINDOW;
    uint32 internal immutable EQUIVOCATION_WINDOW;
    uint32 internal immutable NOTICE_WINDOW;

    mapping(bytes16 jobId => JobSlot) internal _jobs;

    constructor(IModelCatalog catalog, IWorkerRegistry registry, Windows memory w) EIP712("InferenceEscrow", "1") {
        CATALOG = catalog;
        REGISTRY = registry;
        COMPLETION_WINDOW = w.completion;
        INCLUSION_WINDOW = w.inclusion;
        FINALIZATION_WINDOW = w.finalization;
        DISPUTE_WINDOW = w.dispute;
        ARBITRATION_WINDOW = w.arbitration;
        EQUIVOCATION_WINDOW = w.equivocation;
        NOTICE_WINDOW = w.notice;
        // A stake must outlast the last second in which a job of its worker can be punished.
        uint256 settledBy = uint256(w.completion) + w.inclusion;
        uint256 proven = settledBy + w.finalization + w.arbitration;
        uint256 settled = settledBy + w.dispute + w.inclusion + w.arbitration;
        uint256 longest = proven > settled ? proven : settled;
        if (w.equivocation > longest) longest = w.equivocation;
        if (w.completion == 0 || w.inclusion == 0 || registry.unbondingPeriod() <= longest) {
            revert Admin_InvalidWindows();
        }
    }

    /// @inheritdoc IJobLifecycle
    function lock(
        bytes16 jobId,
        address wallet,
        uint16 model,
        uint32 maxTokens,
        uint32 maxCredits,
        uint40 validUntil
    ) external {
        uint8 gateway = _lockingGatewayId(msg.sender);
        if (gateway == 0) revert Job_NotLockingGateway(msg.sender);
        (bool paused_, uint16 fee) = _lockTerms();
        if (paused_) revert Ledger_Paused();
        if (block.timestamp >= validUntil) revert Job_LockExpired(validUntil, block.timestamp);
        if (jobId == 0) revert Job_InvalidId();
        if (_jobs[jobId].status() != JobStatus.None) revert Job_AlreadyExists(jobId);
        (bool active, Tier tier, uint16 perRequest, uint16 per1k) = CATALOG.termsOf(model);
        if (!active) revert Job_ModelNotActive(model);
        uint32 credits = Pricing.quote(maxTokens, perRequest, per1k);
        if (credits > maxCredits) revert Job_PriceExceedsLimit(credits, maxCredits);

        AccountSlot account = _accountOf(wallet);
        uint40 free = account.free();
        if (free < credits) revert Ledger_InsufficientCredits(wallet, free, credits);
        account = account.withBalance(free - credits, account.escrowed() + credits);
        _store(wallet, account);
        _jobs[jobId] = JobSlots.locked(account.id(), credits, perRequest, per1k, model, fee, gateway);
        emit JobLocked(
            jobId,
            wallet,
            model,
            gateway,
            uint8(tier),
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
        JobSlot job = _jobs[jobId];
        if (!job.isOpen()) revert Job_WrongState(jobId, uint8(job.status()));
        if (block.timestamp >= assignment.acknowledgeBy) {
            revert Job_TooLate(jobId, assignment.acknowledgeBy, block.timestamp);
        }
        bytes32 domain = _domainSeparatorV4();
        address signer = msg.sender;
        // The gateway's own call says what its Assignment would say.
        if (_gatewayId(signer) != job.gateway()) {
            signer = assignment.hash().recover(domain, byGateway);
            if (_gatewayId(signer) != job.gateway()) revert Job_NotAssigned(jobId, signer);
        }
        signer = JobMessages.hashAcknowledgement(jobId, assignment.attempt).recover(domain, byWorker);
        if (signer != assignment.worker) revert Job_NotTheWorker(jobId, signer);

        if (assignment.attempt == job.attempt() && assignment.attempt != 0) {
            // The attempt is taken; its own worker repeats itself without effect.
            (uint32 worker, ) = REGISTRY.payeeOf(signer);
            if (worker == job.worker()) return;
        }
        (_jobs[jobId], ) = _assign(jobId, job, signer, assignment.attempt);
    }

    /// @inheritdoc IJobLifecycle
    function fail(bytes16 jobId, FailureReason reason) external {
        JobSlot job = _ownJob(jobId);
        (address wallet, AccountSlot account) = _return(jobId, job, JobStatus.Failed);
        emit JobFailed(jobId, wallet, reason, job.credits(), account.free(), account.escrowed());
    }

    /// @inheritdoc IJobLifecycle
    function refund(bytes16 jobId) external {
        JobSlot job = _jobs[jobId];
        uint256 notBefore = uint256(job.lockedAt()) + COMPLETION_WINDOW;
        if (_gatewayId(msg.sender) != job.gateway()) notBefore += INCLUSION_WINDOW;
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        (address wallet, AccountSlot account) = _return(jobId, job, JobStatus.Refunded);
        emit JobRefunded(jobId, wallet, job.credits(), account.free(), account.escrowed());
    }

    /// @inheritdoc IJobLifecycle
    function jobOf(bytes16 jobId) external view returns (Job memory) {
        return _jobs[jobId].unpack();
    }

    /// @inheritdoc IJobLifecycle
    function windows() external view returns (Windows memory) {
        return
            Windows({
                completion: COMPLETION_WINDOW,
                inclusion: INCLUSION_WINDOW,
                finalization: FINALIZATION_WINDOW,
                dispute: DISPUTE_WINDOW,
                arbitration: ARBITRATION_WINDOW,
                equivocation: EQUIVOCATION_WINDOW,
                notice: NOTICE_WINDOW
            });
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
        (uint32 worker, address payout_, bool eligible) = REGISTRY.eligiblePayeeOf(signer, job.model());
        if (!eligible) revert Job_WorkerNotEligible(signer, job.model());
        emit JobAcknowledged(jobId, signer, attempt);
        return (job.assigned(worker, attempt), payout_);
    }

    /// @dev The job, when the caller is the gateway that locked it.
    function _ownJob(bytes16 jobId) internal view returns (JobSlot job) {
        job = _jobs[jobId];
        if (job.status() == JobStatus.None) revert Job_WrongState(jobId, uint8(JobStatus.None));
        if (_gatewayId(msg.sender) != job.gateway()) revert Job_NotItsGateway(jobId, msg.sender);
    }

    /// @dev Last moment (exclusive) at which an answer's proof can be mined.
    function _proofDeadline(JobSlot job) internal view returns (uint256) {
        return uint256(job.lockedAt()) + COMPLETION_WINDOW + INCLUSION_WINDOW;
    }

    /// @inheritdoc ProtocolAdmin
    function _noticePeriod() internal view override returns (uint40) {
        return NOTICE_WINDOW;
    }

    /// @dev Ends an unfinished job and gives its whole escrow back.
    function _return(bytes16 jobId, JobSlot job, JobStatus end) private returns (address wallet, AccountSlot account) {
        if (!job.isOpen()) revert Job_WrongState(jobId, uint8(job.status()));
        _jobs[jobId] = job.to(end);
        wallet = walletOf(job.account());
        account = _accountOf(wallet);
        uint32 credits = job.credits();
        account = account.withBalance(account.free() + credits, account.escrowed() - credits);
        _store(wallet, account);
    }
}

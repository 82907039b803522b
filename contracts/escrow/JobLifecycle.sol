// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {IModelCatalog, Tier} from "../interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "../interfaces/IWorkerRegistry.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Account, Assignment, FailureReason, Job, JobStatus, Signature, Windows} from "../libraries/JobTypes.sol";
import {Pricing} from "../libraries/Pricing.sol";
import {ProtocolAdmin} from "./ProtocolAdmin.sol";
import {SpendingLimits} from "./SpendingLimits.sol";

/// @title lock → acknowledge → fail | refund
/// @notice The life of a job that is not charged; Settlement charges it.
abstract contract JobLifecycle is IJobLifecycle, SpendingLimits, EIP712 {
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

    mapping(bytes16 jobId => Job) private _jobs;

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
        if (_jobs[jobId].status != JobStatus.None) revert Job_AlreadyExists(jobId);
        (bool active, Tier tier, uint16 perRequest, uint16 per1k) = CATALOG.termsOf(model);
        if (!active) revert Job_ModelNotActive(model);
        uint32 credits = Pricing.quote(maxTokens, perRequest, per1k);
        if (credits > maxCredits) revert Job_PriceExceedsLimit(credits, maxCredits);

        Account memory account = _accountOf(wallet);
        _escrow(wallet, account, credits);
        _store(wallet, account);
        _jobs[jobId] = Job({
            account: account.id,
            worker: 0,
            credits: credits,
            creditsPerRequest: perRequest,
            creditsPer1kTokens: per1k,
            model: model,
            feeBps: fee,
            lockedAt: uint40(block.timestamp),
            deadline: 0,
            gateway: gateway,
            attempt: 0,
            status: JobStatus.Locked
        });
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
            account.free,
            account.escrowed
        );
    }

    /// @inheritdoc IJobLifecycle
    function acknowledge(
        Assignment calldata assignment,
        Signature calldata byGateway,
        Signature calldata byWorker
    ) external {
        bytes16 jobId = assignment.jobId;
        Job memory job = _load(jobId);
        _requireUnanswered(jobId, job);
        if (block.timestamp >= assignment.acknowledgeBy) {
            revert Job_TooLate(jobId, assignment.acknowledgeBy, block.timestamp);
        }
        bytes32 domain = _domainSeparatorV4();
        address signer = assignment.hash().recover(domain, byGateway);
        if (_gatewayId(signer) != job.gateway) revert Job_NotAssigned(jobId, signer);
        signer = JobMessages.hashAcknowledgement(jobId, assignment.attempt).recover(domain, byWorker);
        if (signer != assignment.worker) revert Job_NotTheWorker(jobId, signer);

        (uint32 worker, ) = REGISTRY.payeeOf(signer);
        if (worker == job.worker && worker != 0 && assignment.attempt == job.attempt) return;
        _assign(jobId, job, signer, assignment.attempt);
        _save(jobId, job);
    }

    /// @inheritdoc IJobLifecycle
    function fail(bytes16 jobId, FailureReason reason) external {
        Job memory job = _ownJob(jobId);
        _requireUnanswered(jobId, job);
        (address wallet, Account memory account) = _return(jobId, job, JobStatus.Failed);
        emit JobFailed(jobId, wallet, reason, job.credits, account.free, account.escrowed);
    }

    /// @inheritdoc IJobLifecycle
    function refund(bytes16 jobId) external {
        Job memory job = _load(jobId);
        uint256 notBefore = uint256(job.lockedAt) + COMPLETION_WINDOW;
        if (_gatewayId(msg.sender) != job.gateway || job.gateway == 0) notBefore += INCLUSION_WINDOW;
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        _requireUnanswered(jobId, job);
        (address wallet, Account memory account) = _return(jobId, job, JobStatus.Refunded);
        emit JobRefunded(jobId, wallet, job.credits, account.free, account.escrowed);
    }

    /// @inheritdoc IJobLifecycle
    function jobOf(bytes16 jobId) external view returns (Job memory) {
        return _load(jobId);
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

    /// @dev Gives the job in memory to an eligible worker under a higher attempt; the caller stores the job.
    function _assign(bytes16 jobId, Job memory job, address signer, uint8 attempt) internal returns (address payout) {
        if (attempt <= job.attempt) revert Job_AttemptTaken(jobId, attempt, job.attempt);
        bool eligible;
        (job.worker, payout, eligible) = REGISTRY.eligiblePayeeOf(signer, job.model);
        if (!eligible) revert Job_WorkerNotEligible(signer, job.model);
        job.attempt = attempt;
        job.status = JobStatus.Acknowledged;
        emit JobAcknowledged(jobId, signer, attempt);
    }

    /// @dev The only place that unpacks a job: inlined copies of it cost 2.5 kB of code.
    function _load(bytes16 jobId) internal view returns (Job memory) {
        return _jobs[jobId];
    }

    /// @dev The only place that packs a job.
    function _save(bytes16 jobId, Job memory job) internal {
        _jobs[jobId] = job;
    }

    /// @dev The job, when the caller is the gateway that locked it.
    function _ownJob(bytes16 jobId) internal view returns (Job memory job) {
        job = _load(jobId);
        if (job.status == JobStatus.None) revert Job_WrongState(jobId, uint8(JobStatus.None));
        if (_gatewayId(msg.sender) != job.gateway) revert Job_NotItsGateway(jobId, msg.sender);
    }

    /// @dev Last moment (exclusive) at which an answer's proof can be mined.
    function _proofDeadline(Job memory job) internal view returns (uint256) {
        return uint256(job.lockedAt) + COMPLETION_WINDOW + INCLUSION_WINDOW;
    }

    /// @inheritdoc ProtocolAdmin
    function _noticePeriod() internal view override returns (uint40) {
        return NOTICE_WINDOW;
    }

    function _requireUnanswered(bytes16 jobId, Job memory job) internal pure {
        if (job.status != JobStatus.Locked && job.status != JobStatus.Acknowledged) {
            revert Job_WrongState(jobId, uint8(job.status));
        }
    }

    /// @dev Ends a job that still holds its escrow and gives all of it back.
    function _return(
        bytes16 jobId,
        Job memory job,
        JobStatus end
    ) internal returns (address wallet, Account memory account) {
        job.status = end;
        _save(jobId, job);
        wallet = walletOf(job.account);
        account = _accountOf(wallet);
        _unescrow(account, job.credits, job.credits, job.lockedAt);
        _store(wallet, account);
    }
}

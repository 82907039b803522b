// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Assignment, FailureReason, Job, Signature, Windows} from "../libraries/JobTypes.sol";

/// @title Life of a job up to its settlement
/// @notice Credits are locked before a worker is chosen; they are charged by settlement (ISettlement) or returned here.
/// @dev Specification: "States and transitions". All times are block times in Unix seconds.
interface IJobLifecycle {
    /// @notice Credits of `wallet` were debited from its free balance and locked in escrow for a job.
    /// @param jobId UUIDv7 of the job, `job_` + 32 hex digits in the API.
    /// @param wallet Who pays.
    /// @param model Catalog id.
    /// @param gateway Id of the gateway that locked it.
    /// @param tier 0 lite, 1 standard, 2 pro, 3 max.
    /// @param credits Credits in escrow, the most this job can cost.
    /// @param creditsPerRequest Price of the model at this moment; it stays the job's price.
    /// @param creditsPer1kTokens Price per 1,000 output tokens above 500.
    /// @param feeBps Protocol fee on the charge, hundredths of a percent.
    /// @param free Spendable credits after the lock.
    /// @param escrowed Escrowed credits of the wallet after the lock.
    event JobLocked(
        bytes16 indexed jobId,
        address indexed wallet,
        uint16 indexed model,
        uint8 gateway,
        uint8 tier,
        uint32 credits,
        uint16 creditsPerRequest,
        uint16 creditsPer1kTokens,
        uint16 feeBps,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A worker took the job.
    /// @param worker Signing key of the worker.
    /// @param attempt Attempt number; a later event with a higher one replaces this worker.
    event JobAcknowledged(bytes16 indexed jobId, address indexed worker, uint8 attempt);

    /// @notice The job ended without an answer; its escrow went back.
    /// @param credits Credits returned.
    event JobFailed(
        bytes16 indexed jobId,
        address indexed wallet,
        FailureReason reason,
        uint32 credits,
        uint40 free,
        uint40 escrowed
    );

    /// @notice No worker completed the job in time; its escrow went back.
    event JobRefunded(bytes16 indexed jobId, address indexed wallet, uint32 credits, uint40 free, uint40 escrowed);

    /// @notice The caller is not a gateway, or its right to lock is disabled.
    error Job_NotLockingGateway(address caller);
    /// @notice The caller is not the gateway that locked the job.
    error Job_NotItsGateway(bytes16 jobId, address caller);
    /// @notice The id was used before; ids are never reused.
    error Job_AlreadyExists(bytes16 jobId);
    /// @notice No job can have the id zero.
    error Job_InvalidId();
    /// @notice The lock was mined too late.
    error Job_LockExpired(uint256 validUntil, uint256 now_);
    /// @notice The model's price at this moment exceeds what the gateway told its client.
    error Job_PriceExceedsLimit(uint32 credits, uint32 maxCredits);
    /// @notice The price is more than any one job can cost.
    error Job_TooLarge(uint32 credits, uint32 limit);
    /// @notice The model is unknown or retired.
    error Job_ModelNotActive(uint16 model);
    /// @notice The job is not in a state in which this call is allowed.
    error Job_WrongState(bytes16 jobId, uint8 status);
    /// @notice The call is only allowed from `notBefore` on.
    error Job_TooEarly(bytes16 jobId, uint256 notBefore, uint256 now_);
    /// @notice The call was only allowed before `deadline`.
    error Job_TooLate(bytes16 jobId, uint256 deadline, uint256 now_);
    /// @notice The Assignment is not signed by the job's gateway.
    error Job_NotAssigned(bytes16 jobId, address signer);
    /// @notice The signature is not the expected worker's.
    error Job_NotTheWorker(bytes16 jobId, address signer);
    /// @notice The worker is unknown, unbonding, below the minimum stake or does not host the model.
    error Job_WorkerNotEligible(address worker, uint16 model);
    /// @notice Another worker holds this attempt or a higher one.
    error Job_AttemptTaken(bytes16 jobId, uint8 attempt, uint8 current);

    /// @notice Locks the price of `maxTokens` output tokens of `model` from `wallet`'s free credits.
    /// @param jobId New id, not zero.
    /// @param maxTokens Most output tokens the request can produce.
    /// @param maxCredits Reverts if the price is higher.
    /// @param validUntil Reverts when mined at or after this time.
    function lock(
        address wallet,
        uint16 model,
        bytes16 jobId,
        uint32 maxTokens,
        uint32 maxCredits,
        uint40 validUntil
    ) external;

    /// @notice Records that a worker took the job. Callable by anyone who holds both signatures, before
    ///         `assignment.acknowledgeBy`. A higher attempt replaces a lower one; repeating is a no-op.
    /// @param assignment The gateway's offer.
    /// @param byGateway The gateway's signature of it; not looked at (send zeros) when the job's gateway itself is the caller.
    /// @param byWorker The worker's signature of Acknowledgement{jobId, attempt}.
    function acknowledge(
        Assignment calldata assignment,
        Signature calldata byGateway,
        Signature calldata byWorker
    ) external;

    /// @notice Ends a job without a charge. Its gateway only, from Locked or Acknowledged, at any time.
    function fail(bytes16 jobId, FailureReason reason) external;

    /// @notice Returns the escrow of a job that nobody completed. Its gateway from lockedAt + completion (120 s)
    ///         inclusive, anyone from lockedAt + completion + inclusion (150 s) inclusive.
    function refund(bytes16 jobId) external;

    /// @notice The job as stored; status None if there is none.
    function jobOf(bytes16 jobId) external view returns (Job memory);

    /// @notice Most credits a job can lock: 50 stablecoin units, twice the price of a full context window on the dearest model. What a
    ///         worker and a client in collusion could have the treasury compensate is bounded by it; a slash must be worth more.
    // solhint-disable-next-line func-name-mixedcase
    function JOB_LIMIT() external view returns (uint32);

    /// @notice The deployment's time windows.
    function windows() external view returns (Windows memory);

    /// @notice EIP-712 domain separator of Assignment, Acknowledgement and Completion.
    function domainSeparator() external view returns (bytes32);
}

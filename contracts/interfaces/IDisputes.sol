// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Completion, Dispute, JobStatus, Ruling, Signature} from "../libraries/JobTypes.sol";

/// @title Disputes, rulings, equivocation
/// @notice A client that received another text than its worker signed (or none) disputes the charge. A panel rules within the
///         arbitration window; its silence costs the protocol its fee. Two Completions for one job need no panel.
/// @dev Specification: "States and transitions", `POST /v1/jobs/{job_id}/dispute`.
interface IDisputes {
    /// @notice A dispute was opened.
    /// @param worker Signing key of the disputed worker.
    /// @param receivedHash SHA-256 of what the client says it received; zero for nothing.
    /// @param workerHash SHA-256 the worker signed.
    /// @param byGateway Opened by the job's gateway for its client; otherwise by the wallet itself.
    /// @param credits Charge in dispute.
    /// @param bond Credits the wallet put up; returned unless the dispute is rejected.
    /// @param arbiterSet The arbiters who rule on this dispute, whatever is changed later.
    /// @param ruleBefore A ruling must be mined before this time.
    /// @param free Spendable credits of the wallet after it.
    /// @param escrowed Escrowed credits of the wallet after it.
    event JobDisputed(
        bytes16 indexed jobId,
        address indexed wallet,
        address indexed worker,
        bytes32 receivedHash,
        bytes32 workerHash,
        bool byGateway,
        uint32 credits,
        uint32 bond,
        uint32 arbiterSet,
        uint40 ruleBefore,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A dispute ended: by a ruling, by expiry (ruling None) or because the worker equivocated (WorkerAtFault).
    /// @param status State of the job after it: Settled or Refunded; Proven when the dispute of a proven job was rejected, which
    ///        anyone can finalize at once.
    /// @param returned Credits that went from escrow back to the wallet, its bond included.
    event DisputeResolved(
        bytes16 indexed jobId,
        address indexed wallet,
        Ruling ruling,
        JobStatus status,
        uint32 returned,
        uint40 free,
        uint40 escrowed
    );

    /// @notice The treasury was charged for a job.
    /// @param payee The client's wallet (as credits, fractions of a credit as claimable tokens) or the worker's payout address.
    /// @param paid Token units that arrived.
    /// @param owed Token units the treasury still owes; `collectDebt` pays them later.
    /// @param free Spendable credits of the job's wallet after it.
    /// @param escrowed Escrowed credits of the job's wallet after it.
    event Compensated(
        bytes16 indexed jobId,
        address indexed wallet,
        address indexed payee,
        uint256 paid,
        uint256 owed,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A worker was shown to have signed two different Completions for one job.
    /// @param status State of the job after it: Locked, without a worker, if it was Acknowledged; Failed if it was; else Refunded.
    event WorkerEquivocated(
        bytes16 indexed jobId,
        address indexed worker,
        bytes32 firstHash,
        bytes32 secondHash,
        JobStatus status
    );

    /// @notice The caller is neither the job's gateway nor the wallet that pays for it.
    error Dispute_NotAParty(bytes16 jobId, address caller);
    /// @notice The hashes are equal: there is nothing to dispute.
    error Dispute_SameHash(bytes16 jobId);
    /// @notice A job can be disputed once.
    error Dispute_AlreadyOpened(bytes16 jobId);
    /// @notice This account has as many gateway-opened disputes as are allowed at a time.
    error Dispute_TooMany(address wallet);
    /// @notice The caller is not the arbitration panel.
    error Dispute_NotThePanel(address caller);
    /// @notice A ruling must be WorkerAtFault, GatewayAtFault or Rejected.
    error Dispute_InvalidRuling();
    /// @notice The two Completions are the same one, or of two jobs.
    error Dispute_NoEquivocation(bytes16 jobId);
    /// @notice The treasury owes nothing for this job.
    error Dispute_NoDebt(bytes16 jobId);
    /// @notice The treasury could not pay anything now.
    error Dispute_TreasuryEmpty(bytes16 jobId, uint256 owed);

    /// @notice Opens a dispute. By the job's gateway for its client, or by the wallet itself for a bond of DISPUTE_BOND free
    ///         credits. From Settled before settledAt + dispute + inclusion (90 s); from Proven before it is finalizable.
    /// @param receivedHash SHA-256 of the received text; zero for none. Must differ from the signed one.
    /// @param completion What the worker signed.
    /// @param byWorker Its signature.
    function openDispute(bytes32 receivedHash, Completion calldata completion, Signature calldata byWorker) external;

    /// @notice Executes the panel's ruling. Panel only, before openedAt + arbitration (24 h).
    function rule(bytes16 jobId, Ruling ruling) external;

    /// @notice Ends a dispute that nobody ruled. Anyone, from openedAt + arbitration inclusive. A settled job stays settled and
    ///         its client gets the protocol fee back; the escrow of a proven job returns in full.
    function expire(bytes16 jobId) external;

    /// @notice Punishes a worker for two different Completions of one job, without a vote. Anyone, before
    ///         lockedAt + equivocation (24 h), once a job. A charged client is made whole, a held escrow is returned.
    function proveEquivocation(
        Completion calldata first,
        Signature calldata firstByWorker,
        Completion calldata second,
        Signature calldata secondByWorker
    ) external;

    /// @notice Has the treasury pay what it owes for a job, as far as it can. Anyone, any time.
    function collectDebt(bytes16 jobId) external;

    /// @notice The dispute of a job; openedAt 0 if there was none.
    function disputeOf(bytes16 jobId) external view returns (Dispute memory);

    /// @notice What the treasury still owes for a job, token units, and whether to its worker instead of its wallet.
    function debtOf(bytes16 jobId) external view returns (uint256 units, bool toWorker);
}

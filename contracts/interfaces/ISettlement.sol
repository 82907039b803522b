// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Completion, Signature} from "../libraries/JobTypes.sol";

/// @title Proof verification, charging and payouts
/// @notice A settlement verifies the worker's signature over the answer's SHA-256, charges the job, pays the worker and the
///         treasury at once and returns the rest of the escrow.
/// @dev Specification: "Charging", `on_chain`, "What the service does" 3 and 6.
interface ISettlement {
    /// @notice The escrow of a job was released: charged, paid out and the difference returned.
    /// @dev The token's own Transfer events of the same transaction show both payouts, unless PayoutDeferred does.
    /// @param proofHash SHA-256 of the answer, verified to be signed by the worker.
    /// @param promptTokens As signed by the worker.
    /// @param completionTokens As signed by the worker.
    /// @param billedTokens Output tokens charged: the lesser of the worker's and the gateway's count.
    /// @param credits Credits charged.
    /// @param returned Credits given back to the wallet.
    /// @param workerUnits Token units for the worker.
    /// @param feeUnits Token units for the treasury; workerUnits + feeUnits = credits × 10,000.
    /// @param free Spendable credits of the wallet after settlement.
    /// @param escrowed Escrowed credits of the wallet after settlement.
    event JobSettled(
        bytes16 indexed jobId,
        address indexed wallet,
        address indexed worker,
        bytes32 proofHash,
        uint32 promptTokens,
        uint32 completionTokens,
        uint32 billedTokens,
        uint32 credits,
        uint32 returned,
        uint256 workerUnits,
        uint256 feeUnits,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A worker's proof was recorded without its gateway; anyone can finalize it from `finalizeFrom`.
    /// @param completedAt Time of the final token as signed.
    /// @param credits What finalization will charge.
    event JobProven(
        bytes16 indexed jobId,
        address indexed worker,
        bytes32 proofHash,
        uint32 promptTokens,
        uint32 completionTokens,
        uint40 completedAt,
        uint32 credits,
        uint40 finalizeFrom
    );

    /// @notice The signed completion time is outside [lockedAt, lockedAt + completion).
    error Settlement_CompletedOutOfTime(bytes16 jobId, uint256 completedAt, uint256 lockedAt);
    /// @notice The wallet named in the call does not own the job.
    error Settlement_WrongWallet(bytes16 jobId, address wallet);
    /// @notice The Completion is not the one that was proven.
    error Settlement_OtherCompletion(bytes16 jobId);

    /// @notice Settles a job that was answered. Its gateway only; from Locked, Acknowledged or Proven; before
    ///         lockedAt + completion + inclusion (150 s). Repeating a settlement of the same worker is a no-op.
    /// @dev From Locked, or with an attempt above the acknowledged one, the call also records the acknowledgement: the
    ///      gateway's own call says what its Assignment would say. The gateway attests by this call that the text whose
    ///      SHA-256 is `completion.proofHash` was delivered: with any other hash the signature fails.
    /// @param completion What the worker signed.
    /// @param countedTokens Output tokens the gateway counted.
    /// @param byWorker The worker's signature.
    /// @param attempt The attempt under which the worker was assigned.
    /// @param wallet Owner of the job (spares a storage read; checked).
    function complete(
        Completion calldata completion,
        uint32 countedTokens,
        Signature calldata byWorker,
        uint8 attempt,
        address wallet
    ) external;

    /// @notice Records the acknowledged worker's proof while its gateway is silent. Anyone; from Acknowledged (batch it with
    ///         `acknowledge` if that was never relayed); before lockedAt + completion + inclusion.
    function submitProof(Completion calldata completion, Signature calldata byWorker) external;

    /// @notice Settles a proven job. Anyone, from provenAt + finalization (1 h) inclusive.
    /// @param completion The proven Completion (in JobProven).
    function finalize(Completion calldata completion) external;

    /// @notice Digest (first 28 bytes of the Completion's EIP-712 struct hash) and charge of a proven job; zero if none.
    function proofOf(bytes16 jobId) external view returns (bytes28 digest, uint32 credits);
}

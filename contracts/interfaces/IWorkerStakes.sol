// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Stake of workers: in, out after unbonding, and slashed
/// @notice Stake is counted in millionths of an SVC (10^12 base units). Unbonding lasts longer than every window in which a job of
///         the worker can be punished, and unbonding stake is still slashable.
/// @dev Specification: Events, `worker.slashed`.
interface IWorkerStakes {
    /// @notice A worker's stake grew.
    /// @param sequence The worker's running number of events, starting at 1.
    /// @param added Stake added, millionths of an SVC.
    /// @param stake Stake after it.
    event StakeAdded(uint32 indexed worker, address indexed signer, uint32 sequence, uint56 added, uint56 stake);

    /// @notice A worker began to unbond its whole stake; it takes no new job from this moment.
    /// @param unbondsAt When the stake can be withdrawn, inclusive.
    event UnbondingStarted(uint32 indexed worker, address indexed signer, uint32 sequence, uint40 unbondsAt);

    /// @notice A worker returned to work with its stake.
    event UnbondingCancelled(uint32 indexed worker, address indexed signer, uint32 sequence);

    /// @notice A worker's stake left after the unbonding period.
    /// @param stake Millionths of an SVC paid out, all that slashes had left.
    event StakeWithdrawn(
        uint32 indexed worker,
        address indexed signer,
        uint32 sequence,
        uint56 stake,
        address receiver
    );

    /// @notice A worker lost stake for a job; the amount went to the treasury.
    /// @param amount Stake taken, millionths of an SVC.
    /// @param stake Stake left.
    /// @param equivocation Two Completions for one job; otherwise a panel's ruling on a fraudulent proof.
    event WorkerSlashed(
        uint32 indexed worker,
        address indexed signer,
        bytes16 indexed jobId,
        uint32 sequence,
        uint56 amount,
        uint56 stake,
        bool equivocation
    );

    /// @notice New stake terms were announced; an announcement replaces an earlier one that is not in force yet.
    /// @param sequence Running number of the registry's own events, starting at 1.
    /// @param effectiveAt When they apply, inclusive.
    event StakeTermsScheduled(uint32 sequence, uint56 minimumStake, uint56 slashAmount, uint40 effectiveAt);

    /// @notice No worker has this signing key (or id).
    error Registry_UnknownWorker(address signer);
    /// @notice The caller does not own the worker.
    error Registry_NotOwner(address signer, address caller);
    /// @notice Nothing to add.
    error Registry_ZeroStake();
    /// @notice Nothing to unbond.
    error Registry_NoStake(address signer);
    /// @notice The worker is unbonding; cancel that first.
    error Registry_Unbonding(address signer);
    /// @notice The worker is not unbonding.
    error Registry_NotUnbonding(address signer);
    /// @notice The stake can be withdrawn from `unbondsAt` on.
    error Registry_StillBonded(address signer, uint256 unbondsAt, uint256 now_);
    /// @notice A receiver that would lose the stake: zero or the registry.
    error Registry_InvalidReceiver(address receiver);
    /// @notice Required: 0 < slash ≤ minimum stake < 2^48.
    error Registry_InvalidStakeTerms(uint256 minimumStake, uint256 slashAmount);
    /// @notice Only the escrow slashes.
    error Registry_NotTheEscrow(address caller);
    /// @notice A job is slashed for once.
    error Registry_AlreadySlashed(bytes16 jobId);

    /// @notice Adds stake; anyone can pay it. Not while unbonding.
    /// @param stake Millionths of an SVC; the caller must have approved stake × 10^12 base units.
    function addStake(address signer, uint56 stake) external;

    /// @notice Starts to unbond the whole stake. Owner of the worker only. The worker can take no new job from this moment.
    function startUnbonding(address signer) external;

    /// @notice Returns to work; the stake was never out. Owner of the worker only.
    function cancelUnbonding(address signer) external;

    /// @notice Pays the stake out, from `unbondsAt` inclusive. Owner of the worker only.
    function withdrawStake(address signer, address receiver) external;

    /// @notice Announces the minimum stake of an active worker and what a slash takes, in force after the unbonding period. So
    ///         no job that was taken before the announcement is under other terms. Owner of the registry only.
    function scheduleStakeTerms(uint56 minimumStake, uint56 slashAmount) external;

    /// @notice Slashes the worker of a job, once a job. Escrow only. Unbonding stake is taken too.
    /// @param equivocation For the event only: why.
    /// @return full Whether the whole slash amount was there; what is left is taken otherwise.
    function slash(bytes16 jobId, bool equivocation) external returns (bool full);

    /// @notice The worker that was slashed for a job, 0 if none was, and whether the whole slash amount was there.
    function slashOf(bytes16 jobId) external view returns (uint32 worker, bool full);

    /// @notice Stake that a worker needs to be active now, millionths of an SVC.
    function minimumStake() external view returns (uint56);

    /// @notice What a slash takes now, millionths of an SVC.
    function slashAmount() external view returns (uint56);

    /// @notice Terms that are announced and not in force yet; all zero if there are none.
    function nextStakeTerms() external view returns (uint56 minimumStake, uint56 slashAmount, uint40 effectiveAt);

    /// @notice Seconds between the start of unbonding and the withdrawal, and between stake terms and their effect.
    function unbondingPeriod() external view returns (uint40);
}

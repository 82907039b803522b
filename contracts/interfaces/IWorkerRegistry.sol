// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Signature} from "../libraries/JobTypes.sol";
import {Payee} from "../libraries/Packed.sol";

/// @notice A worker as it stands now. Stake is counted in millionths of an SVC (10^12 base units).
struct WorkerView {
    uint32 id;
    address signer;
    address owner;
    address payout;
    uint56 stake;
    uint40 unbondsAt; // 0: bonded; else when the stake can be withdrawn
    bool active; // bonded and at or above the minimum stake
    string endpoint;
    uint16[] models; // hosted catalog ids, ascending
}

/// @title Stake, endpoint and hosted models of workers
/// @notice A worker is a permanent signing key with an owner who holds its stake. Unbonding lasts longer than every window in
///         which a job of the worker can be punished, and unbonding stake is still slashable.
interface IWorkerRegistry {
    /// @param sequence The worker's running number of events, starting at 1.
    event WorkerRegistered(
        uint32 indexed worker,
        address indexed signer,
        address indexed owner,
        uint32 sequence,
        address payout,
        string endpoint
    );
    /// @param added Stake added, millionths of an SVC.
    /// @param stake Stake after it.
    event StakeAdded(uint32 indexed worker, address indexed signer, uint32 sequence, uint56 added, uint56 stake);
    event PayoutSet(uint32 indexed worker, address indexed signer, uint32 sequence, address payout);
    event EndpointSet(uint32 indexed worker, address indexed signer, uint32 sequence, string endpoint);
    /// @param hosted Whether the models were added to or removed from what the worker hosts.
    event HostingSet(uint32 indexed worker, address indexed signer, uint32 sequence, uint16[] models, bool hosted);
    event UnbondingStarted(uint32 indexed worker, address indexed signer, uint32 sequence, uint40 unbondsAt);
    event UnbondingCancelled(uint32 indexed worker, address indexed signer, uint32 sequence);
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
    /// @notice The amount of a slash was changed.
    event SlashAmountSet(uint32 sequence, uint56 slashAmount);
    /// @notice The minimum stake was changed.
    event MinimumStakeSet(uint32 sequence, uint56 minimumStake);

    error Registry_UnknownWorker(address signer);
    error Registry_WorkerExists(address signer);
    error Registry_NotOwner(address signer, address caller);
    error Registry_InvalidEnrollment(address signer, address recovered);
    error Registry_InvalidPayout(address payout);
    error Registry_InvalidEndpoint();
    error Registry_ZeroStake();
    error Registry_NoStake(address signer);
    error Registry_Unbonding(address signer);
    error Registry_NotUnbonding(address signer);
    error Registry_StillBonded(address signer, uint256 unbondsAt, uint256 now_);
    error Registry_InvalidModel(uint16 model);
    error Registry_InvalidReceiver(address receiver);
    error Registry_InvalidConfiguration();
    error Registry_NotTheEscrow(address caller);
    error Registry_AlreadySlashed(bytes16 jobId);

    /// @notice Registers `signer` with the caller as owner and, if not zero, a first stake.
    /// @param enrollment EIP-712 signature by `signer` of Enrollment{owner} under the domain {"WorkerRegistry", "1"}: nobody
    ///        can register, and thereby take, another's key.
    /// @param stake Millionths of an SVC; the caller must have approved stake × 10^12 units.
    function register(
        address signer,
        address payout,
        string calldata endpoint,
        uint16[] calldata models,
        uint56 stake,
        Signature calldata enrollment
    ) external returns (uint32 worker);
    /// @notice Adds stake; anyone can pay it. Not while unbonding.
    function addStake(address signer, uint56 stake) external;
    function setPayout(address signer, address payout) external;
    function setEndpoint(address signer, string calldata endpoint) external;
    /// @notice Adds models to or removes models from what the worker hosts.
    function setHosting(address signer, uint16[] calldata models, bool hosted) external;
    /// @notice Starts to unbond the whole stake. The worker can take no new job from this moment.
    function startUnbonding(address signer) external;
    /// @notice Returns to work; the stake was never out.
    function cancelUnbonding(address signer) external;
    /// @notice Pays the stake out, from unbondsAt inclusive.
    function withdrawStake(address signer, address receiver) external;
    /// @notice Sets the minimum stake of an active worker. Owner of the registry only.
    function setMinimumStake(uint56 minimumStake) external;

    /// @notice Sets what a slash takes; more than zero, at most the minimum stake. Owner of the registry only.
    function setSlashAmount(uint56 slashAmount) external;
    /// @notice Slashes the worker of a job, once a job. Escrow only. Unbonding stake is taken too.
    /// @return full Whether the whole slash amount was there.
    function slash(bytes16 jobId, bool equivocation) external returns (bool full);

    /// @notice The worker that was slashed for a job, 0 if none was, and whether the whole slash amount was there.
    function slashOf(bytes16 jobId) external view returns (uint32 worker, bool full);
    /// @notice What a slash takes, millionths of an SVC.
    function slashAmount() external view returns (uint56);
    /// @notice Id and payout address of a worker in one word, as the escrow asks for it; zero if unknown.
    function payableTo(address signer) external view returns (Payee);
    /// @notice The same for a worker that may take a job of `model` now; else zero.
    function eligiblePayee(address signer, uint16 model) external view returns (Payee);
    /// @notice Id and payout address of a worker; id 0 if unknown.
    function payeeOf(address signer) external view returns (uint32 worker, address payout);
    /// @notice Id and payout address, and whether the worker may take a job of `model` now.
    function eligiblePayeeOf(
        address signer,
        uint16 model
    ) external view returns (uint32 worker, address payout, bool eligible);
    /// @notice Signing key of a worker id; zero if unknown.
    function signerOf(uint32 worker) external view returns (address);
    /// @notice Number of workers ever registered; ids are 1 … count.
    function workerCount() external view returns (uint32);
    /// @notice One worker; reverts if unknown.
    function workerAt(uint32 worker) external view returns (WorkerView memory);
    function minimumStake() external view returns (uint56);
    /// @notice Seconds between the start of unbonding and the withdrawal.
    function unbondingPeriod() external view returns (uint40);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Signature} from "../Types.sol";
import {Payee} from "../Words.sol";

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

/// @title Workers: registration, endpoint, hosted models, stake
/// @notice A worker is a permanent signing key with an owner who holds its stake; owner and key never change. Stake is counted in
///         millionths of an SVC (10^12 base units). Unbonding lasts longer than every window in which a job of the worker can be
///         punished, and unbonding stake is still slashable.
/// @dev Specification: "What the service does" 4, Model resource `active_workers`, events `worker.registered`, `worker.slashed`.
interface IWorkerRegistry {
    /// @notice A worker joined.
    /// @param worker Its id; ids start at 1 and are never reused.
    /// @param signer Its signing key.
    /// @param owner Who holds its stake and settings.
    /// @param sequence The worker's running number of events, starting at 1.
    /// @param payout Where it is paid.
    /// @param endpoint Where gateways reach it.
    event WorkerRegistered(
        uint32 indexed worker,
        address indexed signer,
        address indexed owner,
        uint32 sequence,
        address payout,
        string endpoint
    );

    /// @notice A worker is paid elsewhere from now on, also for jobs it has already taken.
    event PayoutSet(uint32 indexed worker, address indexed signer, uint32 sequence, address payout);

    /// @notice A worker is reached elsewhere from now on.
    event EndpointSet(uint32 indexed worker, address indexed signer, uint32 sequence, string endpoint);

    /// @notice A worker hosts more or fewer models.
    /// @param hosted Whether the models were added to or removed from what the worker hosts.
    event HostingSet(uint32 indexed worker, address indexed signer, uint32 sequence, uint16[] models, bool hosted);

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

    /// @notice Another worth of SVC was announced; it replaces an announcement that is not in force yet.
    /// @param sequence Running number of the registry's own events, shared with StakeTermsScheduled.
    /// @param creditsPer1kSvc What 1,000 SVC are worth, credits.
    /// @param effectiveAt When it applies, inclusive; a fall applies at once.
    event SvcWorthScheduled(uint32 sequence, uint32 creditsPer1kSvc, uint40 effectiveAt);

    /// @notice The escrow was set.
    event EscrowSet(address indexed escrow);

    /// @notice The signing key is registered already.
    error Registry_WorkerExists(address signer);
    /// @notice The enrollment is not signed by the key that is to be registered.
    error Registry_InvalidEnrollment(address signer, address recovered);
    /// @notice A payout that would lose the tokens: zero, the escrow or the token contract.
    error Registry_InvalidPayout(address payout);
    /// @notice An endpoint has 1 to 200 bytes.
    error Registry_InvalidEndpoint(uint256 length);
    /// @notice No model has the number zero.
    error Registry_InvalidModel(uint16 model);
    /// @notice The escrow is set once, not to zero; and nothing can be registered before.
    error Registry_InvalidEscrow(address escrow);

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
    /// @notice A change of the stake terms before the unbonding period has passed since the last one came into force.
    error Registry_TermsTooSoon(uint256 notBefore, uint256 now_);
    /// @notice SVC must be worth something.
    error Registry_InvalidSvcWorth();
    /// @notice Only the escrow slashes.
    error Registry_NotTheEscrow(address caller);
    /// @notice A job is slashed for once.
    error Registry_AlreadySlashed(bytes16 jobId);

    /// @notice Names the escrow, once. Owner only, at deployment.
    function setEscrow(address escrow) external;

    /// @notice The escrow whose jobs the workers do; may slash.
    function escrow() external view returns (address);

    /// @notice Registers `signer` with the caller as owner and, if not zero, a first stake.
    /// @param signer The worker's signing key, for ever.
    /// @param payout Where it is paid.
    /// @param endpoint URL at which gateways reach it, 1 to 200 bytes.
    /// @param models Catalog ids it hosts.
    /// @param stake Millionths of an SVC; the caller must have approved stake × 10^12 base units.
    /// @param enrollment EIP-712 signature by `signer` of Enrollment{owner} under the domain {"WorkerRegistry", "1"}: nobody
    ///        can register, and thereby take, another's key.
    /// @return worker The new id.
    function register(
        address signer,
        address payout,
        string calldata endpoint,
        uint16[] calldata models,
        uint56 stake,
        Signature calldata enrollment
    ) external returns (uint32 worker);

    /// @notice Sets where the worker is paid, open jobs included. Owner of the worker only.
    function setPayout(address signer, address payout) external;

    /// @notice Sets where gateways reach the worker. Owner of the worker only.
    function setEndpoint(address signer, string calldata endpoint) external;

    /// @notice Adds models to or removes models from what the worker hosts. Owner of the worker only.
    function setHosting(address signer, uint16[] calldata models, bool hosted) external;

    /// @notice Id and payout address of a worker in one word (Words.sol). With a `model`: zero unless the worker may take a job of
    ///         it now. With model 0: of every registered worker, zero if unknown.
    function payeeOf(address signer, uint16 model) external view returns (Payee);

    /// @notice Signing key of a worker id; zero if unknown.
    function signerOf(uint32 worker) external view returns (address);

    /// @notice Number of workers ever registered; ids are 1 … count.
    function workerCount() external view returns (uint32);

    /// @notice One worker; reverts if unknown.
    function workerAt(uint32 worker) external view returns (WorkerView memory);

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
    ///         no job that was taken before the announcement is under other terms. Replaces terms that are not in force yet; not
    ///         within the unbonding period after the last terms came into force. Owner of the registry only.
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
    function nextStakeTerms() external view returns (uint56 minimum, uint56 slashed, uint40 effectiveAt);

    /// @notice States what 1,000 SVC are worth, credits. A fall is in force at once, a rise after the unbonding period. Gateways offer a
    ///         worker no job above the worth of a slash, and no more open ones than the full slashes in its stake. The contracts do
    ///         not use it: a lock knows no worker. Owner of the registry only.
    function scheduleSvcWorth(uint32 creditsPer1kSvc) external;

    /// @notice What 1,000 SVC are worth now, credits.
    function svcWorth() external view returns (uint32);

    /// @notice The worth that is announced and not in force yet; zero if there is none.
    function nextSvcWorth() external view returns (uint32 creditsPer1kSvc, uint40 effectiveAt);

    /// @notice Seconds between the start of unbonding and the withdrawal, and between stake terms and their effect.
    function unbondingPeriod() external view returns (uint40);
}

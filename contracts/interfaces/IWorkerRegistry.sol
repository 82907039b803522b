// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Signature} from "../libraries/JobTypes.sol";
import {Payee} from "../libraries/Packed.sol";
import {IWorkerStakes} from "./IWorkerStakes.sol";

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

/// @title Registration, endpoint and hosted models of workers
/// @notice A worker is a permanent signing key with an owner who holds its stake; owner and key never change.
/// @dev Specification: "What the service does" 4, Model resource `active_workers`, event `worker.registered`.
interface IWorkerRegistry is IWorkerStakes {
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

    /// @notice The signing key is registered already.
    error Registry_WorkerExists(address signer);
    /// @notice The enrollment is not signed by the key that is to be registered.
    error Registry_InvalidEnrollment(address signer, address recovered);
    /// @notice A payout that would lose the tokens: zero, the escrow or the token contract.
    error Registry_InvalidPayout(address payout);
    /// @notice An endpoint has 1 to 200 bytes.
    error Registry_InvalidEndpoint();
    /// @notice No model has the number zero.
    error Registry_InvalidModel(uint16 model);
    /// @notice The escrow is set once, not to zero; and nothing can be registered before.
    error Registry_InvalidEscrow(address escrow);

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
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ICreditLedger} from "../interfaces/ICreditLedger.sol";
import {IWorkerRegistry, WorkerView} from "../interfaces/IWorkerRegistry.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Signature} from "../libraries/JobTypes.sol";
import {packPayee, Payee} from "../libraries/Packed.sol";
import {StakeTerms} from "./StakeTerms.sol";
import {WorkerHosting} from "./WorkerHosting.sol";
import {WorkerStakes} from "./WorkerStakes.sol";

/// @title Registration of workers, and what the escrow asks about them
/// @notice Holds the stake token. Only the escrow, set once, can slash. Read it room by room:
///         WorkerStorage → StakeTerms → WorkerStakes, WorkerHosting → WorkerRegistry.
contract WorkerRegistry is WorkerStakes, WorkerHosting, EIP712 {
    uint256 private constant ENDPOINT_LIMIT = 200;
    bytes32 private constant ENROLLMENT_TYPEHASH = keccak256("Enrollment(address owner)");

    /// @notice The escrow was set.
    event EscrowSet(address indexed escrow);

    /// @param owner_ Governance.
    /// @param stakeToken SVC, 18 decimals.
    /// @param minimumStake_ Stake of an active worker, millionths of an SVC.
    /// @param slashAmount_ What a slash takes, millionths of an SVC.
    /// @param unbondingPeriod_ Seconds; the escrow's constructor checks that it outlasts every window.
    constructor(
        address owner_,
        IERC20 stakeToken,
        uint56 minimumStake_,
        uint56 slashAmount_,
        uint40 unbondingPeriod_
    )
        Ownable(owner_)
        StakeTerms(unbondingPeriod_, minimumStake_, slashAmount_)
        WorkerStakes(stakeToken)
        EIP712("WorkerRegistry", "1")
    {}

    /// @notice Names the escrow, once. Owner only, at deployment.
    function setEscrow(address escrow_) external onlyOwner {
        if (escrow != address(0) || escrow_ == address(0)) revert Registry_InvalidEscrow(escrow_);
        escrow = escrow_;
        emit EscrowSet(escrow_);
    }

    /// @inheritdoc IWorkerRegistry
    function register(
        address signer,
        address payout,
        string calldata endpoint,
        uint16[] calldata models,
        uint56 stake,
        Signature calldata enrollment
    ) external returns (uint32 id) {
        Worker storage worker = _workers[signer];
        if (worker.id != 0) revert Registry_WorkerExists(signer);
        bytes32 structHash = keccak256(abi.encode(ENROLLMENT_TYPEHASH, msg.sender));
        address recovered = JobMessages.recover(structHash, _domainSeparatorV4(), enrollment);
        if (recovered != signer) revert Registry_InvalidEnrollment(signer, recovered);
        _checkPayout(payout);
        _checkEndpoint(endpoint);

        id = ++workerCount;
        _signers[id] = signer;
        worker.id = id;
        worker.owner = msg.sender;
        worker.payout = payout;
        worker.endpoint = endpoint;
        emit WorkerRegistered(id, signer, msg.sender, _next(worker), payout, endpoint);
        if (models.length != 0) _setHosting(signer, models, true);
        if (stake != 0) _addStake(signer, stake);
    }

    /// @inheritdoc IWorkerRegistry
    function setPayout(address signer, address payout) external onlyWorkerOwner(signer) {
        _checkPayout(payout);
        Worker storage worker = _workers[signer];
        worker.payout = payout;
        emit PayoutSet(worker.id, signer, _next(worker), payout);
    }

    /// @inheritdoc IWorkerRegistry
    function setEndpoint(address signer, string calldata endpoint) external onlyWorkerOwner(signer) {
        _checkEndpoint(endpoint);
        Worker storage worker = _workers[signer];
        worker.endpoint = endpoint;
        emit EndpointSet(worker.id, signer, _next(worker), endpoint);
    }

    /// @inheritdoc IWorkerRegistry
    function payableTo(address signer) external view returns (Payee) {
        Worker storage worker = _workers[signer];
        return packPayee(worker.payout, worker.id);
    }

    /// @inheritdoc IWorkerRegistry
    function eligiblePayee(address signer, uint16 model) external view returns (Payee payee) {
        Worker storage worker = _workers[signer];
        if (_isEligible(worker, model)) payee = packPayee(worker.payout, worker.id);
    }

    /// @inheritdoc IWorkerRegistry
    function payeeOf(address signer) external view returns (uint32 id, address payout) {
        Worker storage worker = _workers[signer];
        return (worker.id, worker.payout);
    }

    /// @inheritdoc IWorkerRegistry
    function eligiblePayeeOf(
        address signer,
        uint16 model
    ) external view returns (uint32 id, address payout, bool eligible) {
        Worker storage worker = _workers[signer];
        return (worker.id, worker.payout, _isEligible(worker, model));
    }

    /// @inheritdoc IWorkerRegistry
    function signerOf(uint32 id) external view returns (address) {
        return _signers[id];
    }

    /// @inheritdoc IWorkerRegistry
    function workerAt(uint32 id) external view returns (WorkerView memory) {
        address signer = _signers[id];
        if (signer == address(0)) revert Registry_UnknownWorker(signer);
        Worker storage worker = _workers[signer];
        return
            WorkerView({
                id: id,
                signer: signer,
                owner: worker.owner,
                payout: worker.payout,
                stake: worker.stake,
                unbondsAt: worker.unbondsAt,
                active: !_isUnbonding(worker) && worker.stake >= _minimumStake(),
                endpoint: worker.endpoint,
                models: _hostedModels(worker)
            });
    }

    /// @dev Each job asks this; the slot is read once.
    function _isEligible(Worker storage worker, uint16 model) private view returns (bool) {
        (uint32 id, uint48 stake, uint16 bits) = (worker.id, worker.stake, worker.bits);
        return id != 0 && bits & UNBONDING == 0 && stake >= _minimumStake() && _hosts(id, bits, model);
    }

    /// @dev A payout can never be where tokens are lost.
    function _checkPayout(address payout) private view {
        address escrow_ = escrow;
        if (escrow_ == address(0)) revert Registry_InvalidEscrow(escrow_);
        if (payout == address(0) || payout == escrow_ || payout == ICreditLedger(escrow_).token()) {
            revert Registry_InvalidPayout(payout);
        }
    }

    function _checkEndpoint(string calldata endpoint) private pure {
        uint256 length = bytes(endpoint).length;
        if (length == 0 || length > ENDPOINT_LIMIT) revert Registry_InvalidEndpoint();
    }
}

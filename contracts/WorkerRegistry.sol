// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {IWorkerRegistry, WorkerView} from "./interfaces/IWorkerRegistry.sol";
import {JobMessages} from "./JobMessages.sol";
import {Job, Signature} from "./Types.sol";
import {Payee, Payees} from "./Words.sol";

/// @title Workers: registration, endpoint, hosted models, stake
/// @notice Holds the stake token. Stake leaves in two ways only: to its owner after the unbonding period, or by a slash to the
///         treasury. Only the escrow, set once, can slash.
contract WorkerRegistry is IWorkerRegistry, Ownable, EIP712 {
    using SafeERC20 for IERC20;

    /// @dev Slot 0 is all that a job's calls read; `owner` and below are read by the worker's own calls only.
    struct Worker {
        address payout;
        uint32 id; // 0: unknown
        uint48 stake; // millionths of an SVC; up to 281 million SVC
        uint16 bits; // bit 0: unbonding; bits 1 to 15: hosts the model of that number
        address owner;
        uint40 unbondsAt;
        uint32 sequence;
        string endpoint;
    }

    /// @dev What an SVC is worth, by time as the terms are. No job reads it.
    struct Worth {
        uint32 credits; // of 1,000 SVC
        uint32 nextCredits;
        uint40 changeAt; // from then on the next ones are in force
    }

    /// @dev One slot: each job reads it. Announced terms apply by time, nobody has to switch them.
    struct Terms {
        uint40 changeAt; // from then on the next ones are in force
        uint48 minimum;
        uint48 nextMinimum;
        uint48 slash;
        uint48 nextSlash;
    }

    struct Slash {
        uint32 worker; // 0: none
        bool full;
    }

    /// @notice Base units of one stake unit: a millionth of an 18-decimal SVC.
    uint256 public constant STAKE_UNIT = 1e12;

    /// @notice The token of stakes, SVC.
    IERC20 public immutable STAKE_TOKEN;

    uint16 private constant UNBONDING = 1;
    /// @dev Models below stand in the worker's slot 0, where a job needs no second read.
    uint16 private constant HOT_MODELS = 16;
    uint256 private constant ENDPOINT_LIMIT = 200;
    bytes32 private constant ENROLLMENT_TYPEHASH = keccak256("Enrollment(address owner)");

    /// @inheritdoc IWorkerRegistry
    // The getter carries the name that the interface gives it.
    // solhint-disable-next-line immutable-vars-naming
    uint40 public immutable override unbondingPeriod;
    /// @inheritdoc IWorkerRegistry
    address public override escrow;
    /// @inheritdoc IWorkerRegistry
    uint32 public override workerCount;
    uint32 private _termsSequence;
    Terms private _terms;
    Worth private _worth;

    mapping(address signer => Worker) private _workers;
    mapping(uint32 id => address signer) private _signers;
    /// @dev Hosted models from number 16 on, one bit each.
    mapping(uint32 id => mapping(uint256 word => uint256 bits)) private _hosting;
    mapping(bytes16 jobId => Slash) private _slashes;

    /// @dev The worker, when the caller owns it.
    modifier onlyWorkerOwner(address signer) {
        Worker storage worker = _workers[signer];
        if (worker.id == 0) revert Registry_UnknownWorker(signer);
        if (worker.owner != msg.sender) revert Registry_NotOwner(signer, msg.sender);
        _;
    }

    /// @param owner_ Governance.
    /// @param stakeToken SVC, 18 decimals.
    /// @param minimumStake_ Stake of an active worker, millionths of an SVC.
    /// @param slashAmount_ What a slash takes, millionths of an SVC.
    /// @param creditsPer1kSvc What 1,000 SVC are worth, credits.
    /// @param unbondingPeriod_ Seconds; the escrow's constructor checks that it outlasts every window.
    constructor(
        address owner_,
        IERC20 stakeToken,
        uint56 minimumStake_,
        uint56 slashAmount_,
        uint32 creditsPer1kSvc,
        uint40 unbondingPeriod_
    ) Ownable(owner_) EIP712("WorkerRegistry", "1") {
        STAKE_TOKEN = stakeToken;
        unbondingPeriod = unbondingPeriod_;
        _checkTerms(minimumStake_, slashAmount_);
        _schedule(minimumStake_, slashAmount_, uint40(block.timestamp));
        _scheduleWorth(creditsPer1kSvc, uint40(block.timestamp));
    }

    // ------------------------------------------------------------------------------------------------ registration

    /// @inheritdoc IWorkerRegistry
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
    function setHosting(address signer, uint16[] calldata models, bool hosted) external onlyWorkerOwner(signer) {
        _setHosting(signer, models, hosted);
    }

    /// @inheritdoc IWorkerRegistry
    function payeeOf(address signer, uint16 model) external view returns (Payee) {
        // Each job asks this: the slot is read once.
        Worker storage worker = _workers[signer];
        (address payout, uint32 id, uint48 stake, uint16 bits) = (worker.payout, worker.id, worker.stake, worker.bits);
        if (model != 0 && (bits & UNBONDING != 0 || stake < _minimumStake() || !_hosts(id, bits, model))) {
            return Payee.wrap(0);
        }
        return Payees.pack(payout, id);
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

    // ------------------------------------------------------------------------------------------------------- stake

    /// @inheritdoc IWorkerRegistry
    function addStake(address signer, uint56 stake) external {
        if (_workers[signer].id == 0) revert Registry_UnknownWorker(signer);
        _addStake(signer, stake);
    }

    /// @inheritdoc IWorkerRegistry
    function startUnbonding(address signer) external onlyWorkerOwner(signer) {
        Worker storage worker = _workers[signer];
        if (_isUnbonding(worker)) revert Registry_Unbonding(signer);
        if (worker.stake == 0) revert Registry_NoStake(signer);
        worker.bits |= UNBONDING;
        worker.unbondsAt = uint40(block.timestamp) + unbondingPeriod;
        emit UnbondingStarted(worker.id, signer, _next(worker), worker.unbondsAt);
    }

    /// @inheritdoc IWorkerRegistry
    function cancelUnbonding(address signer) external onlyWorkerOwner(signer) {
        Worker storage worker = _workers[signer];
        if (!_isUnbonding(worker)) revert Registry_NotUnbonding(signer);
        worker.bits &= ~UNBONDING;
        worker.unbondsAt = 0;
        emit UnbondingCancelled(worker.id, signer, _next(worker));
    }

    /// @inheritdoc IWorkerRegistry
    function withdrawStake(address signer, address receiver) external onlyWorkerOwner(signer) {
        if (receiver == address(0) || receiver == address(this)) revert Registry_InvalidReceiver(receiver);
        Worker storage worker = _workers[signer];
        if (!_isUnbonding(worker)) revert Registry_NotUnbonding(signer);
        if (block.timestamp < worker.unbondsAt) {
            revert Registry_StillBonded(signer, worker.unbondsAt, block.timestamp);
        }
        uint56 stake = worker.stake;
        worker.stake = 0;
        worker.bits &= ~UNBONDING;
        worker.unbondsAt = 0;
        emit StakeWithdrawn(worker.id, signer, _next(worker), stake, receiver);
        STAKE_TOKEN.safeTransfer(receiver, uint256(stake) * STAKE_UNIT);
    }

    /// @inheritdoc IWorkerRegistry
    function slash(bytes16 jobId, bool equivocation) external returns (bool full) {
        if (msg.sender != escrow) revert Registry_NotTheEscrow(msg.sender);
        if (_slashes[jobId].worker != 0) revert Registry_AlreadySlashed(jobId);
        // The job names its worker: nobody, the escrow included, can point a slash at anyone else.
        Job memory job = IInferenceEscrow(msg.sender).jobOf(jobId);
        address signer = _signers[job.worker];
        Worker storage worker = _workers[signer];
        if (worker.id == 0) revert Registry_UnknownWorker(signer);
        // What the worker had to expect when it took the job: a later rise could make its stake fall short.
        uint48 due = job.lockedAt < _terms.changeAt ? _terms.slash : _terms.nextSlash;
        full = worker.stake >= due;
        uint48 amount = full ? due : worker.stake;
        worker.stake -= amount;
        _slashes[jobId] = Slash({worker: worker.id, full: full});
        emit WorkerSlashed(worker.id, signer, jobId, _next(worker), amount, worker.stake, equivocation);
        if (amount != 0) {
            STAKE_TOKEN.safeTransfer(IInferenceEscrow(msg.sender).treasury(), uint256(amount) * STAKE_UNIT);
        }
    }

    /// @inheritdoc IWorkerRegistry
    function slashOf(bytes16 jobId) external view returns (uint32 worker, bool full) {
        return (_slashes[jobId].worker, _slashes[jobId].full);
    }

    /// @inheritdoc IWorkerRegistry
    function scheduleStakeTerms(uint56 minimumStake_, uint56 slashAmount_) external onlyOwner {
        _checkTerms(minimumStake_, slashAmount_);
        // While a job from before the last change can be slashed, the slash of its lock must not be forgotten. The first terms had
        // none before them.
        Terms memory terms = _terms;
        uint256 notBefore = uint256(terms.changeAt) + unbondingPeriod;
        if (terms.slash != 0 && block.timestamp >= terms.changeAt && block.timestamp < notBefore) {
            revert Registry_TermsTooSoon(notBefore, block.timestamp);
        }
        _schedule(minimumStake_, slashAmount_, uint40(block.timestamp) + unbondingPeriod);
    }

    /// @inheritdoc IWorkerRegistry
    function scheduleSvcWorth(uint32 creditsPer1kSvc) external onlyOwner {
        // A fall must bound the next offer already: nobody relies on a worth that the market no longer pays.
        uint40 notice = creditsPer1kSvc > _svcWorth() ? unbondingPeriod : 0;
        _scheduleWorth(creditsPer1kSvc, uint40(block.timestamp) + notice);
    }

    /// @inheritdoc IWorkerRegistry
    function svcWorth() external view returns (uint32) {
        return _svcWorth();
    }

    /// @inheritdoc IWorkerRegistry
    function nextSvcWorth() external view returns (uint32 creditsPer1kSvc, uint40 effectiveAt) {
        Worth memory worth = _worth;
        if (block.timestamp < worth.changeAt) return (worth.nextCredits, worth.changeAt);
    }

    /// @inheritdoc IWorkerRegistry
    function minimumStake() external view returns (uint56) {
        return _minimumStake();
    }

    /// @inheritdoc IWorkerRegistry
    function slashAmount() external view returns (uint56) {
        return _slashAmount();
    }

    /// @inheritdoc IWorkerRegistry
    function nextStakeTerms() external view returns (uint56 minimum, uint56 slashed, uint40 effectiveAt) {
        Terms memory terms = _terms;
        if (block.timestamp < terms.changeAt) return (terms.nextMinimum, terms.nextSlash, terms.changeAt);
    }

    // ---------------------------------------------------------------------------------------------------- internal

    /// @dev A payout can never be where tokens are lost.
    function _checkPayout(address payout) private view {
        address escrow_ = escrow;
        if (escrow_ == address(0)) revert Registry_InvalidEscrow(escrow_);
        if (payout == address(0) || payout == escrow_ || payout == IInferenceEscrow(escrow_).token()) {
            revert Registry_InvalidPayout(payout);
        }
    }

    function _checkEndpoint(string calldata endpoint) private pure {
        uint256 length = bytes(endpoint).length;
        if (length == 0 || length > ENDPOINT_LIMIT) revert Registry_InvalidEndpoint(length);
    }

    function _setHosting(address signer, uint16[] calldata models, bool hosted) private {
        Worker storage worker = _workers[signer];
        for (uint256 i = 0; i < models.length; ++i) {
            uint16 model = models[i];
            if (model == 0) revert Registry_InvalidModel(model);
            if (model < HOT_MODELS) {
                uint16 hot = uint16(1) << model;
                worker.bits = hosted ? worker.bits | hot : worker.bits & ~hot;
                continue;
            }
            uint256 bit = uint256(1) << (model & 0xff);
            uint256 bits = _hosting[worker.id][model >> 8];
            _hosting[worker.id][model >> 8] = hosted ? bits | bit : bits & ~bit;
        }
        emit HostingSet(worker.id, signer, _next(worker), models, hosted);
    }

    function _hosts(uint32 id, uint16 bits, uint16 model) private view returns (bool) {
        if (model < HOT_MODELS) return model != 0 && (bits >> model) & 1 == 1;
        return (_hosting[id][model >> 8] >> (model & 0xff)) & 1 == 1;
    }

    /// @dev Walks all 256 words, once to count and once to collect: for off-chain readers only.
    function _hostedModels(Worker storage worker) private view returns (uint16[] memory models) {
        uint256 count = _collectModels(worker, models);
        models = new uint16[](count);
        _collectModels(worker, models);
    }

    /// @dev Number of hosted models; writes them to `models` as far as it has room.
    function _collectModels(Worker storage worker, uint16[] memory models) private view returns (uint256 count) {
        for (uint256 word = 0; word < 256; ++word) {
            uint256 bits = _hosting[worker.id][word];
            if (word == 0) bits |= worker.bits & ~UNBONDING;
            for (uint256 bit = 0; bits != 0; ++bit) {
                if (bits & 1 == 1) {
                    if (count < models.length) models[count] = uint16((word << 8) | bit);
                    ++count;
                }
                bits >>= 1;
            }
        }
    }

    function _addStake(address signer, uint56 added) private {
        Worker storage worker = _workers[signer];
        if (added == 0) revert Registry_ZeroStake();
        if (_isUnbonding(worker)) revert Registry_Unbonding(signer);
        worker.stake = SafeCast.toUint48(uint256(worker.stake) + added);
        emit StakeAdded(worker.id, signer, _next(worker), added, worker.stake);
        STAKE_TOKEN.safeTransferFrom(msg.sender, address(this), uint256(added) * STAKE_UNIT);
    }

    function _minimumStake() private view returns (uint48) {
        Terms storage terms = _terms;
        return block.timestamp >= terms.changeAt ? terms.nextMinimum : terms.minimum;
    }

    function _slashAmount() private view returns (uint48) {
        Terms storage terms = _terms;
        return block.timestamp >= terms.changeAt ? terms.nextSlash : terms.slash;
    }

    function _schedule(uint56 minimumStake_, uint56 slashAmount_, uint40 changeAt) private {
        _terms = Terms({
            changeAt: changeAt,
            minimum: _minimumStake(),
            nextMinimum: uint48(minimumStake_),
            slash: _slashAmount(),
            nextSlash: uint48(slashAmount_)
        });
        emit StakeTermsScheduled(++_termsSequence, minimumStake_, slashAmount_, changeAt);
    }

    function _svcWorth() private view returns (uint32) {
        Worth storage worth = _worth;
        return block.timestamp >= worth.changeAt ? worth.nextCredits : worth.credits;
    }

    function _scheduleWorth(uint32 creditsPer1kSvc, uint40 changeAt) private {
        if (creditsPer1kSvc == 0) revert Registry_InvalidSvcWorth();
        _worth = Worth({credits: _svcWorth(), nextCredits: creditsPer1kSvc, changeAt: changeAt});
        emit SvcWorthScheduled(++_termsSequence, creditsPer1kSvc, changeAt);
    }

    /// @dev A slash is at most the minimum stake: whoever may work can be punished in full.
    function _checkTerms(uint56 minimumStake_, uint56 slashAmount_) private pure {
        if (slashAmount_ == 0 || slashAmount_ > minimumStake_ || minimumStake_ > type(uint48).max) {
            revert Registry_InvalidStakeTerms(minimumStake_, slashAmount_);
        }
    }

    function _isUnbonding(Worker storage worker) private view returns (bool) {
        return worker.bits & UNBONDING != 0;
    }

    /// @dev The worker's next event number.
    function _next(Worker storage worker) private returns (uint32) {
        return ++worker.sequence;
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {IProtocolAdmin} from "../interfaces/IProtocolAdmin.sol";
import {IWorkerStakes} from "../interfaces/IWorkerStakes.sol";
import {StakeTerms} from "./StakeTerms.sol";

/// @title Stake: in, out after unbonding, and slashed
/// @notice Stake leaves in two ways only: to its owner after the unbonding period, or by a slash to the treasury.
abstract contract WorkerStakes is StakeTerms {
    using SafeERC20 for IERC20;

    struct Slash {
        uint32 worker; // 0: none
        bool full;
    }

    /// @notice Base units of one stake unit: a millionth of an 18-decimal SVC.
    uint256 public constant STAKE_UNIT = 1e12;

    /// @notice The token of stakes, SVC.
    IERC20 public immutable STAKE_TOKEN;

    mapping(bytes16 jobId => Slash) private _slashes;

    constructor(IERC20 stakeToken) {
        STAKE_TOKEN = stakeToken;
    }

    /// @inheritdoc IWorkerStakes
    function addStake(address signer, uint56 stake) external {
        if (_workers[signer].id == 0) revert Registry_UnknownWorker(signer);
        _addStake(signer, stake);
    }

    /// @inheritdoc IWorkerStakes
    function startUnbonding(address signer) external onlyWorkerOwner(signer) {
        Worker storage worker = _workers[signer];
        if (_isUnbonding(worker)) revert Registry_Unbonding(signer);
        if (worker.stake == 0) revert Registry_NoStake(signer);
        worker.bits |= UNBONDING;
        worker.unbondsAt = uint40(block.timestamp) + unbondingPeriod;
        emit UnbondingStarted(worker.id, signer, _next(worker), worker.unbondsAt);
    }

    /// @inheritdoc IWorkerStakes
    function cancelUnbonding(address signer) external onlyWorkerOwner(signer) {
        Worker storage worker = _workers[signer];
        if (!_isUnbonding(worker)) revert Registry_NotUnbonding(signer);
        worker.bits &= ~UNBONDING;
        worker.unbondsAt = 0;
        emit UnbondingCancelled(worker.id, signer, _next(worker));
    }

    /// @inheritdoc IWorkerStakes
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

    /// @inheritdoc IWorkerStakes
    function slash(bytes16 jobId, bool equivocation) external returns (bool full) {
        if (msg.sender != escrow) revert Registry_NotTheEscrow(msg.sender);
        if (_slashes[jobId].worker != 0) revert Registry_AlreadySlashed(jobId);
        // The job names its worker: nobody, the escrow included, can point a slash at anyone else.
        address signer = _signers[IJobLifecycle(msg.sender).jobOf(jobId).worker];
        Worker storage worker = _workers[signer];
        if (worker.id == 0) revert Registry_UnknownWorker(signer);
        uint48 due = _slashAmount();
        full = worker.stake >= due;
        uint48 amount = full ? due : worker.stake;
        worker.stake -= amount;
        _slashes[jobId] = Slash({worker: worker.id, full: full});
        emit WorkerSlashed(worker.id, signer, jobId, _next(worker), amount, worker.stake, equivocation);
        if (amount != 0) {
            STAKE_TOKEN.safeTransfer(IProtocolAdmin(msg.sender).treasury(), uint256(amount) * STAKE_UNIT);
        }
    }

    /// @inheritdoc IWorkerStakes
    function slashOf(bytes16 jobId) external view returns (uint32 worker, bool full) {
        return (_slashes[jobId].worker, _slashes[jobId].full);
    }

    function _addStake(address signer, uint56 added) internal {
        Worker storage worker = _workers[signer];
        if (added == 0) revert Registry_ZeroStake();
        if (_isUnbonding(worker)) revert Registry_Unbonding(signer);
        worker.stake = SafeCast.toUint48(uint256(worker.stake) + added);
        emit StakeAdded(worker.id, signer, _next(worker), added, worker.stake);
        STAKE_TOKEN.safeTransferFrom(msg.sender, address(this), uint256(added) * STAKE_UNIT);
    }
}

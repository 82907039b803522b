// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IProtocolAdmin} from "../interfaces/IProtocolAdmin.sol";
import {Config, EscrowStorage, Gateway} from "./EscrowState.sol";

/// @title Gateways, fee, treasury and pause
/// @notice Everything that governance can change in the escrow, in one place.
abstract contract ProtocolAdmin is IProtocolAdmin, EscrowStorage, Ownable {
    /// @notice Highest protocol fee: 20 %.
    uint16 public constant FEE_CAP_BPS = 2_000;

    /// @dev Escrow and token can never be payees: tokens sent there would be lost.
    function _isUnpayable(address payee) internal view virtual returns (bool);

    /// @dev Seconds between the announcement of a fee and its effect.
    function _noticePeriod() internal view virtual returns (uint40);

    modifier onlyGuardianOrOwner() {
        if (msg.sender != _state.guardian && msg.sender != owner()) revert Admin_NotGuardian(msg.sender);
        _;
    }

    /// @inheritdoc IProtocolAdmin
    function addGateway(address signer) external onlyOwner {
        if (signer == address(0)) revert Admin_InvalidAddress(signer);
        if (_state.gateways[signer].id != 0) revert Admin_GatewayExists(signer);
        if (_state.gatewayCount == type(uint8).max) revert Admin_TooManyGateways();
        uint8 id = ++_state.gatewayCount;
        _state.gateways[signer] = Gateway({id: id, mayLock: true});
        _state.gatewaySigners[id] = signer;
        emit GatewayAdded(id, signer, ++_state.adminSequence);
    }

    /// @inheritdoc IProtocolAdmin
    function setGatewayLocking(address signer, bool enabled) external onlyGuardianOrOwner {
        // The guardian can only take away: giving back is governance's.
        if (enabled && msg.sender != owner()) revert OwnableUnauthorizedAccount(msg.sender);
        Gateway storage gateway = _state.gateways[signer];
        if (gateway.id == 0) revert Admin_UnknownGateway(signer);
        gateway.mayLock = enabled;
        emit GatewayLockingSet(gateway.id, signer, ++_state.adminSequence, enabled);
    }

    /// @inheritdoc IProtocolAdmin
    function scheduleFee(uint16 feeBps_) external onlyOwner {
        if (feeBps_ > FEE_CAP_BPS) revert Admin_FeeAboveCap(feeBps_, FEE_CAP_BPS);
        uint40 effectiveAt = uint40(block.timestamp) + _noticePeriod();
        Config storage config = _state.config;
        config.feeBps = feeBps();
        config.nextFeeBps = feeBps_;
        config.nextFeeAt = effectiveAt;
        emit FeeScheduled(++_state.adminSequence, feeBps_, effectiveAt);
    }

    /// @inheritdoc IProtocolAdmin
    function setTreasury(address treasury_) external onlyOwner {
        _setTreasury(treasury_);
    }

    /// @inheritdoc IProtocolAdmin
    function setGuardian(address guardian_) external onlyOwner {
        _setGuardian(guardian_);
    }

    /// @inheritdoc IProtocolAdmin
    function setPaused(bool paused_) external onlyGuardianOrOwner {
        _state.config.paused = paused_;
        emit PausedSet(++_state.adminSequence, paused_);
    }

    /// @inheritdoc IProtocolAdmin
    function gatewayOf(address signer) external view returns (uint8 id, bool mayLock) {
        return _gateway(signer);
    }

    /// @inheritdoc IProtocolAdmin
    function gatewaySigner(uint8 id) external view returns (address) {
        return _state.gatewaySigners[id];
    }

    /// @inheritdoc IProtocolAdmin
    function feeBps() public view returns (uint16) {
        (, uint16 fee) = _lockTerms();
        return fee;
    }

    /// @inheritdoc IProtocolAdmin
    function guardian() external view returns (address) {
        return _state.guardian;
    }

    /// @inheritdoc IProtocolAdmin
    function treasury() public view returns (address) {
        return _state.config.treasury;
    }

    /// @inheritdoc IProtocolAdmin
    function paused() public view returns (bool) {
        return _state.config.paused;
    }

    /// @dev First configuration; the initial fee needs no notice because no job can be open.
    function _initializeAdmin(address treasury_, address guardian_, uint16 feeBps_) internal {
        if (feeBps_ > FEE_CAP_BPS) revert Admin_FeeAboveCap(feeBps_, FEE_CAP_BPS);
        _setTreasury(treasury_);
        _setGuardian(guardian_);
        _state.config.feeBps = feeBps_;
        emit FeeScheduled(++_state.adminSequence, feeBps_, uint40(block.timestamp));
    }

    function _gateway(address signer) internal view returns (uint8 id, bool mayLock) {
        Gateway storage gateway = _state.gateways[signer];
        return (gateway.id, gateway.mayLock);
    }

    /// @dev Id of a gateway, 0 if it is none; ids do not depend on the right to lock.
    function _gatewayId(address signer) internal view returns (uint8) {
        return _state.gateways[signer].id;
    }

    /// @dev What a lock needs of the configuration.
    function _lockTerms() internal view returns (bool paused_, uint16 fee) {
        Config storage config = _state.config;
        uint40 nextFeeAt = config.nextFeeAt;
        fee = nextFeeAt != 0 && block.timestamp >= nextFeeAt ? config.nextFeeBps : config.feeBps;
        return (config.paused, fee);
    }

    function _setTreasury(address treasury_) private {
        if (treasury_ == address(0) || _isUnpayable(treasury_)) revert Admin_InvalidAddress(treasury_);
        _state.config.treasury = treasury_;
        emit TreasurySet(++_state.adminSequence, treasury_);
    }

    function _setGuardian(address guardian_) private {
        _state.guardian = guardian_;
        emit GuardianSet(++_state.adminSequence, guardian_);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IProtocolAdmin} from "../interfaces/IProtocolAdmin.sol";

/// @title Gateways, fee, treasury and pause
/// @notice Everything that governance can change in the escrow, in one place.
abstract contract ProtocolAdmin is IProtocolAdmin, Ownable {
    /// @dev One slot, read by every lock and settlement.
    struct Config {
        address treasury;
        uint16 feeBps;
        uint16 nextFeeBps; // in force from nextFeeAt when that is not 0
        uint40 nextFeeAt;
        bool paused;
    }

    /// @dev Id 0 is "no gateway". Ids are permanent: open jobs are pinned to them.
    struct Gateway {
        uint8 id;
        bool mayLock;
    }

    /// @notice Highest protocol fee: 20 %.
    uint16 public constant FEE_CAP_BPS = 2_000;

    Config private _config;
    mapping(address signer => Gateway) private _gateways;
    mapping(uint8 id => address signer) private _gatewaySigners;
    uint8 private _gatewayCount;
    uint32 private _adminSequence;
    /// @inheritdoc IProtocolAdmin
    address public override guardian;

    /// @dev Escrow and token can never be payees: tokens sent there would be lost.
    function _isUnpayable(address payee) internal view virtual returns (bool);

    /// @dev Seconds between the announcement of a fee and its effect.
    function _noticePeriod() internal view virtual returns (uint40);

    modifier onlyGuardianOrOwner() {
        if (msg.sender != guardian && msg.sender != owner()) revert Admin_NotGuardian(msg.sender);
        _;
    }

    /// @inheritdoc IProtocolAdmin
    function addGateway(address signer) external onlyOwner {
        if (signer == address(0)) revert Admin_InvalidAddress(signer);
        if (_gateways[signer].id != 0) revert Admin_GatewayExists(signer);
        if (_gatewayCount == type(uint8).max) revert Admin_TooManyGateways();
        uint8 id = ++_gatewayCount;
        _gateways[signer] = Gateway({id: id, mayLock: true});
        _gatewaySigners[id] = signer;
        emit GatewayAdded(id, signer, ++_adminSequence);
    }

    /// @inheritdoc IProtocolAdmin
    function setGatewayLocking(address signer, bool enabled) external onlyGuardianOrOwner {
        // The guardian can only take away: giving back is governance's.
        if (enabled && msg.sender != owner()) revert OwnableUnauthorizedAccount(msg.sender);
        Gateway storage gateway = _gateways[signer];
        if (gateway.id == 0) revert Admin_UnknownGateway(signer);
        gateway.mayLock = enabled;
        emit GatewayLockingSet(gateway.id, signer, ++_adminSequence, enabled);
    }

    /// @inheritdoc IProtocolAdmin
    function scheduleFee(uint16 feeBps_) external onlyOwner {
        if (feeBps_ > FEE_CAP_BPS) revert Admin_FeeAboveCap(feeBps_, FEE_CAP_BPS);
        Config memory config = _config;
        config.feeBps = _feeBps();
        config.nextFeeBps = feeBps_;
        config.nextFeeAt = uint40(block.timestamp) + _noticePeriod();
        _config = config;
        emit FeeScheduled(++_adminSequence, feeBps_, config.nextFeeAt);
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
        _config.paused = paused_;
        emit PausedSet(++_adminSequence, paused_);
    }

    /// @inheritdoc IProtocolAdmin
    function gatewayOf(address signer) external view returns (uint8 id, bool mayLock) {
        Gateway memory gateway = _gateways[signer];
        return (gateway.id, gateway.mayLock);
    }

    /// @inheritdoc IProtocolAdmin
    function gatewaySigner(uint8 id) external view returns (address) {
        return _gatewaySigners[id];
    }

    /// @inheritdoc IProtocolAdmin
    function feeBps() external view returns (uint16) {
        return _feeBps();
    }

    /// @inheritdoc IProtocolAdmin
    function treasury() public view returns (address) {
        return _config.treasury;
    }

    /// @inheritdoc IProtocolAdmin
    function paused() public view returns (bool) {
        return _config.paused;
    }

    /// @dev First configuration; the initial fee needs no notice because no job can be open.
    function _initializeAdmin(address treasury_, address guardian_, uint16 feeBps_) internal {
        if (feeBps_ > FEE_CAP_BPS) revert Admin_FeeAboveCap(feeBps_, FEE_CAP_BPS);
        _setTreasury(treasury_);
        _setGuardian(guardian_);
        _config.feeBps = feeBps_;
        emit FeeScheduled(++_adminSequence, feeBps_, uint40(block.timestamp));
    }

    /// @dev Everything a lock needs to know of the configuration, from one storage slot.
    function _lockTerms() internal view returns (bool paused_, uint16 feeBps_) {
        return (_config.paused, _feeBps());
    }

    /// @dev Id of a gateway, 0 if it is none; ids do not depend on the right to lock.
    function _gatewayId(address signer) internal view returns (uint8) {
        return _gateways[signer].id;
    }

    /// @dev Id of the calling gateway if it may lock, else 0.
    function _lockingGatewayId(address signer) internal view returns (uint8) {
        Gateway storage gateway = _gateways[signer];
        return gateway.mayLock ? gateway.id : 0;
    }

    function _setTreasury(address treasury_) private {
        if (treasury_ == address(0) || _isUnpayable(treasury_)) revert Admin_InvalidAddress(treasury_);
        _config.treasury = treasury_;
        emit TreasurySet(++_adminSequence, treasury_);
    }

    function _setGuardian(address guardian_) private {
        guardian = guardian_;
        emit GuardianSet(++_adminSequence, guardian_);
    }

    function _feeBps() private view returns (uint16) {
        uint40 nextFeeAt = _config.nextFeeAt;
        return nextFeeAt != 0 && block.timestamp >= nextFeeAt ? _config.nextFeeBps : _config.feeBps;
    }
}

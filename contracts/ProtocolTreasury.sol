// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {IProtocolTreasury} from "./interfaces/IProtocolTreasury.sol";

/// @title Receiver of protocol fees and payer of compensations
/// @notice Holds fees and slashed stakes. Governance decides where they go; the escrow draws compensations by rulings only.
contract ProtocolTreasury is IProtocolTreasury, Ownable {
    using SafeERC20 for IERC20;

    /// @notice The stablecoin of compensations.
    IERC20 public immutable STABLECOIN;
    /// @inheritdoc IProtocolTreasury
    address public override escrow;
    uint32 private _sequence;

    constructor(address owner_, IERC20 stablecoin) Ownable(owner_) {
        STABLECOIN = stablecoin;
    }

    /// @inheritdoc IProtocolTreasury
    function setEscrow(address escrow_) external onlyOwner {
        if (escrow != address(0) || escrow_ == address(0)) revert Treasury_InvalidEscrow(escrow_);
        escrow = escrow_;
        emit EscrowSet(escrow_);
    }

    /// @inheritdoc IProtocolTreasury
    function compensate(bytes16 jobId, uint256 units) external {
        if (msg.sender != escrow) revert Treasury_NotTheEscrow(msg.sender);
        uint256 available = STABLECOIN.balanceOf(address(this));
        uint256 paid = units < available ? units : available;
        if (paid == 0) return;
        emit CompensationPaid(jobId, ++_sequence, paid);
        STABLECOIN.safeTransfer(msg.sender, paid);
    }

    /// @inheritdoc IProtocolTreasury
    function claimTo(address receiver) external onlyOwner {
        IInferenceEscrow(escrow).claimTo(receiver);
    }

    /// @inheritdoc IProtocolTreasury
    function pay(address token, address receiver, uint256 units) external onlyOwner {
        emit TreasuryPaid(++_sequence, token, receiver, units);
        IERC20(token).safeTransfer(receiver, units);
    }
}

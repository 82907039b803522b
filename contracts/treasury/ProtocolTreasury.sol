// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Receiver of protocol fees
/// @notice Holds the fees of settled jobs; governance decides where they go.
contract ProtocolTreasury is Ownable {
    using SafeERC20 for IERC20;

    /// @notice Governance paid `units` of `token` out.
    event TreasuryPaid(uint32 sequence, address indexed token, address indexed receiver, uint256 units);

    uint32 private _sequence;

    constructor(address owner_) Ownable(owner_) {}

    /// @notice Pays `units` of `token` to `receiver`. Owner only.
    function pay(IERC20 token, address receiver, uint256 units) external onlyOwner {
        emit TreasuryPaid(++_sequence, address(token), receiver, units);
        token.safeTransfer(receiver, units);
    }
}

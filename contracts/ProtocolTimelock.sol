// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

/// @title Owner of every contract of the protocol
/// @notice OpenZeppelin's timelock, unchanged. After deployment only the governor can propose and cancel, everyone can execute what
///         its delay has run out for, and nobody but the timelock itself holds its admin role.
contract ProtocolTimelock is TimelockController {
    /// @param delay Seconds between the queueing of a decision and its execution.
    /// @param proposers May queue and cancel.
    /// @param executors May execute; the zero address for everyone.
    /// @param admin Grants the governor its roles and renounces, at deployment.
    constructor(
        uint256 delay,
        address[] memory proposers,
        address[] memory executors,
        address admin
    ) TimelockController(delay, proposers, executors, admin) {}
}

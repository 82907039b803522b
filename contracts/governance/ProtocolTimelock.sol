// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// The timelock is OpenZeppelin's, unchanged; imported here so that it is compiled and deployed with the rest.
import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ruling} from "../libraries/JobTypes.sol";

/// @title m-of-n arbiters
/// @notice Votes on disputes. The arbiters of a dispute are those of the moment it was opened; a change makes a new set.
interface IArbitrationPanel {
    /// @notice A set of arbiters was appointed; it rules on disputes opened from now on.
    event ArbitersSet(uint32 indexed set, address[] arbiters, uint8 quorum);
    /// @notice An arbiter voted.
    /// @param votes Votes for this ruling so far.
    event Voted(bytes16 indexed jobId, address indexed arbiter, Ruling ruling, uint8 votes);
    /// @notice The escrow was set.
    event EscrowSet(address indexed escrow);

    error Panel_InvalidArbiters();
    error Panel_NotAnArbiter(bytes16 jobId, address caller);
    error Panel_AlreadyVoted(bytes16 jobId, address arbiter);
    error Panel_NotOpen(bytes16 jobId);
    error Panel_InvalidRuling();
    error Panel_InvalidEscrow(address escrow);

    /// @notice Appoints the arbiters of future disputes. Owner only. Distinct, not zero, at most 32; a quorum is more than half.
    function setArbiters(address[] calldata arbiters, uint8 quorum) external;
    /// @notice Votes; the vote that reaches the quorum executes the ruling in the same call. Arbiters of the dispute's set only,
    ///         once each, before the arbitration window ends.
    function vote(bytes16 jobId, Ruling ruling) external;
    /// @notice Names the escrow, once. Owner only, at deployment.
    function setEscrow(address escrow) external;
    /// @notice The set that rules on disputes opened now.
    function currentSet() external view returns (uint32);
    /// @notice Arbiters and quorum of a set.
    function arbitersOf(uint32 set) external view returns (address[] memory arbiters, uint8 quorum);
    /// @notice Votes for a ruling on a job so far.
    function votesFor(bytes16 jobId, Ruling ruling) external view returns (uint8);
}

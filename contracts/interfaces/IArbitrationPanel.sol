// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ruling} from "../Types.sol";

/// @title m-of-n arbiters
/// @notice Votes on disputes. The arbiters of a dispute are those of the moment it was opened; a change makes a new set.
interface IArbitrationPanel {
    /// @notice A set of arbiters was appointed; it rules on disputes opened from now on.
    event ArbitersSet(uint32 indexed set, address[] arbiters, uint8 quorum);
    /// @notice An arbiter voted; a later vote of the same arbiter on the same dispute replaces it.
    /// @param votes Votes for this ruling so far.
    event Voted(bytes16 indexed jobId, address indexed arbiter, Ruling ruling, uint8 votes);
    /// @notice The escrow was set.
    event EscrowSet(address indexed escrow);

    /// @notice At most 32 arbiters; a quorum is more than half of them and at most all.
    error Panel_InvalidQuorum(uint256 arbiters, uint256 quorum);
    /// @notice The zero address, or one that is named twice.
    error Panel_InvalidArbiter(address arbiter);
    /// @notice The caller is no arbiter of the set that rules on this dispute.
    error Panel_NotAnArbiter(bytes16 jobId, address caller);
    /// @notice The arbiter voted for this ruling already.
    error Panel_AlreadyVoted(bytes16 jobId, address arbiter);
    /// @notice The job is not under dispute, or its arbitration window has ended.
    error Panel_NotOpen(bytes16 jobId);
    /// @notice The wallet can still join this dispute: votes count from `ruleFrom` on.
    error Panel_TooEarly(bytes16 jobId, uint256 ruleFrom, uint256 now_);
    /// @notice A ruling must be WorkerAtFault, GatewayAtFault or Rejected.
    error Panel_InvalidRuling();
    /// @notice The escrow is set once, not to zero.
    error Panel_InvalidEscrow(address escrow);

    /// @notice Appoints the arbiters of future disputes. Owner only. Distinct, not zero, at most 32; a quorum is more than half.
    function setArbiters(address[] calldata arbiters, uint8 quorum) external;
    /// @notice Votes, or changes a vote; the vote that reaches the quorum executes the ruling in the same call. Arbiters of the
    ///         dispute's set only, from its `ruleFrom` on, before the arbitration window ends.
    function vote(bytes16 jobId, Ruling ruling) external;
    /// @notice The same vote on several disputes. Passes over those that have ended; any other error undoes all.
    function voteMany(bytes16[] calldata jobIds, Ruling ruling) external;
    /// @notice Names the escrow, once. Owner only, at deployment.
    function setEscrow(address escrow) external;
    /// @notice The set that rules on disputes opened now.
    function currentSet() external view returns (uint32);
    /// @notice Arbiters and quorum of a set.
    function arbitersOf(uint32 set) external view returns (address[] memory arbiters, uint8 quorum);
    /// @notice Votes for a ruling on a job's last dispute so far.
    function votesFor(bytes16 jobId, Ruling ruling) external view returns (uint8);
}

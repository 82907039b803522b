// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IArbitrationPanel} from "./interfaces/IArbitrationPanel.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {Dispute, Job, JobStatus, Ruling} from "./Types.sol";

/// @title m-of-n arbiters
contract ArbitrationPanel is IArbitrationPanel, Ownable {
    struct Set {
        address[] arbiters;
        uint8 quorum;
    }

    uint256 private constant MOST_ARBITERS = 32;

    /// @notice The escrow whose disputes are ruled; set once.
    address public escrow;
    /// @inheritdoc IArbitrationPanel
    uint32 public override currentSet;

    mapping(uint32 set => Set) private _sets;
    mapping(uint32 set => mapping(address arbiter => bool)) private _isArbiter;
    mapping(bytes32 dispute => mapping(address arbiter => Ruling)) private _voteOf;
    mapping(bytes32 dispute => mapping(Ruling => uint8)) private _votes;

    constructor(address owner_, address[] memory arbiters, uint8 quorum) Ownable(owner_) {
        _setArbiters(arbiters, quorum);
    }

    /// @inheritdoc IArbitrationPanel
    function setEscrow(address escrow_) external onlyOwner {
        if (escrow != address(0) || escrow_ == address(0)) revert Panel_InvalidEscrow(escrow_);
        escrow = escrow_;
        emit EscrowSet(escrow_);
    }

    /// @inheritdoc IArbitrationPanel
    function setArbiters(address[] calldata arbiters, uint8 quorum) external onlyOwner {
        _setArbiters(arbiters, quorum);
    }

    /// @inheritdoc IArbitrationPanel
    function vote(bytes16 jobId, Ruling ruling) external {
        _vote(jobId, ruling);
    }

    /// @inheritdoc IArbitrationPanel
    function voteMany(bytes16[] calldata jobIds, Ruling ruling) external {
        // A dispute that ended while the transaction was on its way takes nothing from the others.
        for (uint256 i = 0; i < jobIds.length; ++i) if (_isOpen(jobIds[i])) _vote(jobIds[i], ruling);
    }

    /// @inheritdoc IArbitrationPanel
    function arbitersOf(uint32 set) external view returns (address[] memory arbiters, uint8 quorum) {
        return (_sets[set].arbiters, _sets[set].quorum);
    }

    /// @inheritdoc IArbitrationPanel
    function votesFor(bytes16 jobId, Ruling ruling) external view returns (uint8) {
        return _votes[_key(jobId, IInferenceEscrow(escrow).disputeOf(jobId))][ruling];
    }

    function _vote(bytes16 jobId, Ruling ruling) private {
        if (ruling == Ruling.None) revert Panel_InvalidRuling();
        if (!_isOpen(jobId)) revert Panel_NotOpen(jobId);
        Dispute memory dispute = IInferenceEscrow(escrow).disputeOf(jobId);
        if (!_isArbiter[dispute.arbiterSet][msg.sender]) revert Panel_NotAnArbiter(jobId, msg.sender);
        if (block.timestamp < dispute.ruleFrom) revert Panel_TooEarly(jobId, dispute.ruleFrom, block.timestamp);
        bytes32 key = _key(jobId, dispute);
        Ruling earlier = _voteOf[key][msg.sender];
        if (earlier == ruling) revert Panel_AlreadyVoted(jobId, msg.sender);

        if (earlier != Ruling.None) --_votes[key][earlier];
        _voteOf[key][msg.sender] = ruling;
        uint8 votes = ++_votes[key][ruling];
        emit Voted(jobId, msg.sender, ruling, votes);
        if (votes == _sets[dispute.arbiterSet].quorum) IInferenceEscrow(escrow).rule(jobId, ruling);
    }

    /// @dev Whether the job has a dispute that can still be ruled.
    function _isOpen(bytes16 jobId) private view returns (bool) {
        Job memory job = IInferenceEscrow(escrow).jobOf(jobId);
        return job.status == JobStatus.Disputed && block.timestamp < uint256(job.lockedAt) + job.deadline;
    }

    /// @dev A job has at most two disputes, the second after an equivocation: each has votes of its own.
    function _key(bytes16 jobId, Dispute memory dispute) private pure returns (bytes32) {
        return bytes32(jobId) | bytes32(uint256(dispute.afterEquivocation ? 1 : 0));
    }

    function _setArbiters(address[] memory arbiters, uint8 quorum) private {
        // With a quorum above one half two contrary rulings can never both be reached.
        if (arbiters.length > MOST_ARBITERS || quorum > arbiters.length || uint256(quorum) * 2 <= arbiters.length) {
            revert Panel_InvalidQuorum(arbiters.length, quorum);
        }
        uint32 set = ++currentSet;
        for (uint256 i = 0; i < arbiters.length; ++i) {
            if (arbiters[i] == address(0) || _isArbiter[set][arbiters[i]]) revert Panel_InvalidArbiter(arbiters[i]);
            _isArbiter[set][arbiters[i]] = true;
        }
        _sets[set] = Set({arbiters: arbiters, quorum: quorum});
        emit ArbitersSet(set, arbiters, quorum);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IWorkerStakes} from "../interfaces/IWorkerStakes.sol";
import {WorkerStorage} from "./WorkerStorage.sol";

/// @title How much a worker must stake, and what a slash takes
/// @notice Announced, and in force after the unbonding period, which outlasts every job: a change never reaches a job that was
///         taken before its announcement, and whoever does not like it can have left with the whole stake when it comes.
abstract contract StakeTerms is WorkerStorage, Ownable {
    /// @dev One slot: each job reads it. Announced terms apply by time, nobody has to switch them.
    struct Terms {
        uint40 changeAt; // from then on the next ones are in force
        uint48 minimum;
        uint48 nextMinimum;
        uint48 slash;
        uint48 nextSlash;
    }

    /// @inheritdoc IWorkerStakes
    // The getter carries the name that the interface gives it.
    // solhint-disable-next-line immutable-vars-naming
    uint40 public immutable override unbondingPeriod;

    Terms private _terms;
    uint32 private _termsSequence;

    constructor(uint40 unbondingPeriod_, uint56 minimumStake_, uint56 slashAmount_) {
        unbondingPeriod = unbondingPeriod_;
        _checkTerms(minimumStake_, slashAmount_);
        _schedule(minimumStake_, slashAmount_, uint40(block.timestamp));
    }

    /// @inheritdoc IWorkerStakes
    function scheduleStakeTerms(uint56 minimumStake_, uint56 slashAmount_) external onlyOwner {
        _checkTerms(minimumStake_, slashAmount_);
        _schedule(minimumStake_, slashAmount_, uint40(block.timestamp) + unbondingPeriod);
    }

    /// @inheritdoc IWorkerStakes
    function minimumStake() external view returns (uint56) {
        return _minimumStake();
    }

    /// @inheritdoc IWorkerStakes
    function slashAmount() external view returns (uint56) {
        return _slashAmount();
    }

    /// @inheritdoc IWorkerStakes
    function nextStakeTerms() external view returns (uint56 minimum, uint56 slash, uint40 effectiveAt) {
        Terms memory terms = _terms;
        if (block.timestamp < terms.changeAt) return (terms.nextMinimum, terms.nextSlash, terms.changeAt);
    }

    function _minimumStake() internal view returns (uint48) {
        Terms storage terms = _terms;
        return block.timestamp >= terms.changeAt ? terms.nextMinimum : terms.minimum;
    }

    function _slashAmount() internal view returns (uint48) {
        Terms storage terms = _terms;
        return block.timestamp >= terms.changeAt ? terms.nextSlash : terms.slash;
    }

    function _schedule(uint56 minimumStake_, uint56 slashAmount_, uint40 changeAt) private {
        _terms = Terms({
            changeAt: changeAt,
            minimum: _minimumStake(),
            nextMinimum: uint48(minimumStake_),
            slash: _slashAmount(),
            nextSlash: uint48(slashAmount_)
        });
        emit StakeTermsScheduled(++_termsSequence, minimumStake_, slashAmount_, changeAt);
    }

    /// @dev A slash is at most the minimum stake: whoever may work can be punished in full.
    function _checkTerms(uint56 minimumStake_, uint56 slashAmount_) private pure {
        if (slashAmount_ == 0 || slashAmount_ > minimumStake_ || minimumStake_ > type(uint48).max) {
            revert Registry_InvalidStakeTerms(minimumStake_, slashAmount_);
        }
    }
}

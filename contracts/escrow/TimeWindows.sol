// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {Windows} from "../libraries/JobTypes.sol";
import {ProtocolAdmin} from "./ProtocolAdmin.sol";

/// @title The time windows of a deployment
/// @notice Immutable. Every window runs from its own start, never from the call that ends it.
abstract contract TimeWindows is IJobLifecycle, ProtocolAdmin {
    uint32 internal immutable COMPLETION_WINDOW;
    uint32 internal immutable INCLUSION_WINDOW;
    /// @dev completion + inclusion: a proof must be mined before lockedAt + this.
    uint256 internal immutable PROOF_WINDOW;
    /// @dev dispute + inclusion: a settled job is disputable before settledAt + this.
    uint256 internal immutable SETTLED_WINDOW;
    uint32 internal immutable FINALIZATION_WINDOW;
    uint32 internal immutable DISPUTE_WINDOW;
    uint32 internal immutable ARBITRATION_WINDOW;
    uint32 internal immutable EQUIVOCATION_WINDOW;
    uint32 internal immutable NOTICE_WINDOW;

    constructor(Windows memory w) {
        if (w.completion == 0 || w.inclusion == 0) revert Admin_InvalidWindows();
        COMPLETION_WINDOW = w.completion;
        INCLUSION_WINDOW = w.inclusion;
        PROOF_WINDOW = uint256(w.completion) + w.inclusion;
        SETTLED_WINDOW = uint256(w.dispute) + w.inclusion;
        FINALIZATION_WINDOW = w.finalization;
        DISPUTE_WINDOW = w.dispute;
        ARBITRATION_WINDOW = w.arbitration;
        EQUIVOCATION_WINDOW = w.equivocation;
        NOTICE_WINDOW = w.notice;
    }

    /// @inheritdoc IJobLifecycle
    function windows() external view returns (Windows memory) {
        return
            Windows({
                completion: COMPLETION_WINDOW,
                inclusion: INCLUSION_WINDOW,
                finalization: FINALIZATION_WINDOW,
                dispute: DISPUTE_WINDOW,
                arbitration: ARBITRATION_WINDOW,
                equivocation: EQUIVOCATION_WINDOW,
                notice: NOTICE_WINDOW
            });
    }

    /// @dev Seconds after a lock until which its worker can be punished: by a dispute of a proven job, by a dispute of a settled
    ///      one, or for equivocation.
    function _longestRisk() internal view returns (uint256 longest) {
        uint256 proven = PROOF_WINDOW + FINALIZATION_WINDOW + ARBITRATION_WINDOW;
        uint256 settled = PROOF_WINDOW + SETTLED_WINDOW + ARBITRATION_WINDOW;
        longest = proven > settled ? proven : settled;
        if (EQUIVOCATION_WINDOW > longest) longest = EQUIVOCATION_WINDOW;
        // Deadlines are kept as 32-bit seconds after the lock.
        if (longest > type(uint32).max) revert Admin_InvalidWindows();
    }

    /// @inheritdoc ProtocolAdmin
    function _noticePeriod() internal view override returns (uint40) {
        return NOTICE_WINDOW;
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DisputeLogic} from "../disputes/DisputeLogic.sol";
import {DisputeOpening} from "../disputes/DisputeOpening.sol";
import {IArbitrationPanel} from "../interfaces/IArbitrationPanel.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {Completion, Dispute, Ruling, Signature} from "../libraries/JobTypes.sol";
import {Deployment} from "./EscrowState.sol";
import {Settlement} from "./Settlement.sol";

/// @title open → rule | expire, and equivocation
/// @notice The doors to DisputeLogic, which runs on this contract's state. Nothing is decided here.
abstract contract Disputes is IDisputes, Settlement {
    /// @notice Credits a wallet puts up for a dispute of its own; the gateway puts up none.
    uint32 public constant DISPUTE_BOND = DisputeOpening.BOND;
    /// @notice Gateway-opened disputes an account can have at a time.
    uint8 public constant DISPUTE_LIMIT = DisputeOpening.LIMIT;

    /// @notice The arbitration panel.
    IArbitrationPanel public immutable PANEL;

    constructor(IArbitrationPanel panel) {
        PANEL = panel;
    }

    /// @inheritdoc IDisputes
    function openDispute(
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker
    ) external nonReentrant {
        DisputeLogic.open(_state, _deployment(), receivedHash, completion, byWorker);
    }

    /// @inheritdoc IDisputes
    function rule(bytes16 jobId, Ruling ruling) external nonReentrant {
        DisputeLogic.rule(_state, _deployment(), jobId, ruling);
    }

    /// @inheritdoc IDisputes
    function expire(bytes16 jobId) external nonReentrant {
        DisputeLogic.expire(_state, _deployment(), jobId);
    }

    /// @inheritdoc IDisputes
    function proveEquivocation(
        Completion calldata first,
        Signature calldata firstByWorker,
        Completion calldata second,
        Signature calldata secondByWorker
    ) external nonReentrant {
        DisputeLogic.proveEquivocation(_state, _deployment(), first, firstByWorker, second, secondByWorker);
    }

    /// @inheritdoc IDisputes
    function collectDebt(bytes16 jobId) external nonReentrant {
        DisputeLogic.collectDebt(_state, _deployment(), jobId);
    }

    /// @inheritdoc IDisputes
    function disputeOf(bytes16 jobId) external view returns (Dispute memory) {
        return _state.disputes[jobId];
    }

    /// @inheritdoc IDisputes
    function debtOf(bytes16 jobId) external view returns (uint256 units, bool toWorker) {
        return (_state.debts[jobId].units, _state.debts[jobId].toWorker);
    }

    function _deployment() private view returns (Deployment memory) {
        return
            Deployment({
                token: TOKEN,
                registry: REGISTRY,
                panel: PANEL,
                domain: _domainSeparatorV4(),
                arbitration: ARBITRATION_WINDOW,
                equivocation: EQUIVOCATION_WINDOW
            });
    }
}

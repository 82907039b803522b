// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {EscrowState, Ledger} from "./EscrowState.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {JobMessages} from "./JobMessages.sol";
import {Operator, Signature, Signer} from "./Types.sol";

/// @title Accounts of operators, as the escrow's linked library
/// @notice Who an operator is, who signs for it, and its reserve. The escrow calls these functions by delegatecall: they run on
///         its storage, under its address and behind its reentrancy guard. The link is fixed in the escrow's bytecode. Called
///         directly, the library reverts.
/// @dev Rights of governance and guardian are checked by the escrow, those of an operator's admin here. What a reserve pays in
///      disputes stands in DisputeLogic.
library OperatorLogic {
    using JobMessages for bytes32;
    using Ledger for EscrowState;
    using SafeERC20 for IERC20;

    /// @notice Operators that can ever be admitted.
    uint8 internal constant MOST = 160;

    // -------------------------------------------------------------------------------------------------- governance

    /// @notice See IInferenceEscrow.admitOperator.
    function admit(EscrowState storage state, address admin) external returns (uint8 operator) {
        if (admin == address(0)) revert IInferenceEscrow.Admin_InvalidAddress(admin);
        if (state.operatorCount == MOST) revert IInferenceEscrow.Operator_TooMany();
        operator = ++state.operatorCount;
        state.operators[operator].admin = admin;
        emit IInferenceEscrow.OperatorAdmitted(operator, admin, ++state.adminSequence);
    }

    /// @notice See IInferenceEscrow.stopOperator.
    function stop(EscrowState storage state, uint8 operator, bool stopped) external {
        _requireKnown(state, operator);
        uint160 bit = uint160(1) << (operator - 1);
        if (stopped) state.config.stopped |= bit;
        else state.config.stopped &= ~bit;
        emit IInferenceEscrow.OperatorStopped(operator, ++state.adminSequence, stopped);
    }

    // ------------------------------------------------------------------------------------------- admin and signers

    /// @notice See IInferenceEscrow.setOperatorAdmin.
    function setAdmin(EscrowState storage state, uint8 operator, address admin) external {
        Operator storage o = _administered(state, operator);
        if (admin == address(0)) revert IInferenceEscrow.Admin_InvalidAddress(admin);
        o.admin = admin;
        emit IInferenceEscrow.OperatorAdminSet(operator, admin, ++o.sequence);
    }

    /// @notice See IInferenceEscrow.rotateSigners.
    function rotateSigners(
        EscrowState storage state,
        uint8 operator,
        address[] calldata added,
        Signature[] calldata consents,
        address[] calldata removed
    ) external {
        Operator storage o = _administered(state, operator);
        if (added.length != consents.length) {
            revert IInferenceEscrow.Operator_ConsentsMissing(added.length, consents.length);
        }
        bytes32 domain = IInferenceEscrow(address(this)).domainSeparator();
        bytes32 consent = JobMessages.hashSignerConsent(operator, msg.sender);
        for (uint256 i = 0; i < removed.length; ++i) {
            if (!state.isSigner(removed[i], operator)) {
                revert IInferenceEscrow.Operator_NotASigner(operator, removed[i]);
            }
            state.signers[removed[i]].removedAt = uint40(block.timestamp);
            emit IInferenceEscrow.SignerRemoved(operator, removed[i], ++o.sequence);
        }
        for (uint256 i = 0; i < added.length; ++i) {
            Signer memory signer = state.signers[added[i]];
            bool free = signer.operator == 0 || (signer.operator == operator && signer.removedAt != 0);
            if (!free) revert IInferenceEscrow.Operator_SignerTaken(added[i], signer.operator);
            address recovered = consent.recover(domain, consents[i]);
            if (recovered != added[i]) revert IInferenceEscrow.Operator_NoConsent(added[i], recovered);
            state.signers[added[i]] = Signer({operator: operator, removedAt: 0});
            emit IInferenceEscrow.SignerAdded(operator, added[i], ++o.sequence);
        }
    }

    // ----------------------------------------------------------------------------------------------------- reserve

    /// @notice See IInferenceEscrow.fundReserve.
    function fundReserve(EscrowState storage state, uint8 operator, uint40 credits) external {
        _requireKnown(state, operator);
        if (credits == 0) revert IInferenceEscrow.Ledger_ZeroCredits();
        Operator storage o = state.operators[operator];
        // Reserve and held bonds together fit 40 bits, so a bond always finds room to return.
        uint40 total = SafeCast.toUint40(uint256(o.reserve) + o.held + credits);
        state.creditsOwed += credits;
        state.setReserve(operator, 0, total - o.held, o.held);
        Ledger.pull(state.deployment.token, msg.sender, credits);
    }

    /// @notice See IInferenceEscrow.announceReserveWithdrawal.
    /// @param notice Seconds from now until the credits can be withdrawn.
    function announceReserveWithdrawal(
        EscrowState storage state,
        uint8 operator,
        uint40 credits,
        uint40 notice
    ) external {
        Operator storage o = _administered(state, operator);
        (o.leaving, o.leavesAt) = (credits, credits == 0 ? 0 : uint40(block.timestamp) + notice);
        emit IInferenceEscrow.ReserveLeaving(operator, ++o.sequence, credits, o.leavesAt);
    }

    /// @notice See IInferenceEscrow.withdrawReserve. The escrow checks the receiver.
    function withdrawReserve(EscrowState storage state, uint8 operator, address receiver) external {
        Operator storage o = _administered(state, operator);
        if (o.leavesAt == 0 || block.timestamp < o.leavesAt) {
            revert IInferenceEscrow.Operator_ReserveStays(operator, o.leavesAt, block.timestamp);
        }
        uint40 credits = o.leaving < o.reserve ? o.leaving : o.reserve;
        (o.leaving, o.leavesAt) = (0, 0);
        state.creditsOwed -= credits;
        state.setReserve(operator, 0, o.reserve - credits, o.held);
        state.deployment.token.safeTransfer(receiver, uint256(credits) * Ledger.UNITS_PER_CREDIT);
    }

    function _requireKnown(EscrowState storage state, uint8 operator) private view {
        if (operator == 0 || operator > state.operatorCount) revert IInferenceEscrow.Operator_Unknown(operator);
    }

    /// @dev The operator, when the caller is its admin.
    function _administered(EscrowState storage state, uint8 operator) private view returns (Operator storage o) {
        o = state.operators[operator];
        if (operator == 0 || o.admin != msg.sender) revert IInferenceEscrow.Operator_NotAdmin(operator, msg.sender);
    }
}

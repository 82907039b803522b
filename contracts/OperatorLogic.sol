// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Config, EscrowState, Ledger} from "./EscrowState.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {JobMessages} from "./JobMessages.sol";
import {Operator, Signature, Signer} from "./Types.sol";
import {FeeTermsFields} from "./Words.sol";

/// @title Accounts of operators, as the escrow's linked library
/// @notice Who an operator is, who signs for it, its reserve, what it earns, and the fee. The escrow calls these functions by
///         delegatecall: they run on its storage and under its address, those that move tokens behind its reentrancy guard. The
///         link is fixed in the escrow's bytecode. Called directly, the library reverts.
/// @dev Rights of governance and guardian are checked by the escrow, those of an operator's admin here. What a reserve pays in
///      disputes, and when they take earnings back, stands in DisputeLogic.
library OperatorLogic {
    using JobMessages for bytes32;
    using Ledger for Config;
    using Ledger for EscrowState;
    using SafeERC20 for IERC20;

    /// @notice Operators that can ever be admitted.
    uint8 internal constant MOST = 160;
    /// @notice Highest protocol fee: 20 %.
    uint16 internal constant FEE_CAP_BPS = 2_000;
    /// @notice Highest share of the fee that operators can have, twentieths: half.
    uint8 internal constant SHARE_CAP = 10;

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

    /// @notice See IInferenceEscrow.scheduleFee.
    function scheduleFee(EscrowState storage state, uint16 feeBps, uint8 operatorShare) external {
        checkFee(feeBps, operatorShare);
        uint40 effectiveAt = uint40(block.timestamp) + state.windows.notice;
        Config storage config = state.config;
        config.fee = config.feeNow();
        config.nextFee = FeeTermsFields.pack(feeBps, operatorShare);
        config.nextFeeAt = effectiveAt;
        emit IInferenceEscrow.FeeScheduled(++state.adminSequence, feeBps, operatorShare, effectiveAt);
    }

    /// @notice Refuses a fee, or a share of it, above its cap.
    function checkFee(uint16 feeBps, uint8 operatorShare) internal pure {
        if (feeBps > FEE_CAP_BPS) revert IInferenceEscrow.Admin_FeeAboveCap(feeBps, FEE_CAP_BPS);
        if (operatorShare > SHARE_CAP) revert IInferenceEscrow.Admin_ShareAboveCap(operatorShare, SHARE_CAP);
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
    function announceReserveWithdrawal(EscrowState storage state, uint8 operator, uint40 credits) external {
        Operator storage o = _administered(state, operator);
        uint40 leavesAt = uint40(block.timestamp) + state.longestRisk;
        (o.leaving, o.leavesAt) = (credits, credits == 0 ? 0 : leavesAt);
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

    // ---------------------------------------------------------------------------------------------------- earnings

    /// @notice See IInferenceEscrow.withdrawEarnings. The escrow checks the receiver.
    function withdrawEarnings(
        EscrowState storage state,
        uint8 operator,
        uint16 firstDay,
        uint16 lastDay,
        address receiver
    ) external {
        Operator storage o = _administered(state, operator);
        uint256 vestsAt = (uint256(lastDay) + 1) * 1 days + state.longestRisk;
        if (block.timestamp < vestsAt) {
            revert IInferenceEscrow.Operator_EarningsNotVested(operator, lastDay, vestsAt, block.timestamp);
        }
        mapping(uint16 day => uint256 units) storage earnings = state.earnings[operator];
        uint256 units = 0;
        for (uint256 day = firstDay; day <= lastDay; ++day) {
            units += earnings[uint16(day)];
            delete earnings[uint16(day)];
        }
        if (units == 0) revert IInferenceEscrow.Operator_NothingEarned(operator, firstDay, lastDay);
        state.unitsOwed -= units;
        emit IInferenceEscrow.EarningsWithdrawn(operator, receiver, ++o.sequence, firstDay, lastDay, units);
        state.deployment.token.safeTransfer(receiver, units);
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

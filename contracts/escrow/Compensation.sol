// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {IProtocolTreasury} from "../interfaces/IProtocolTreasury.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {Account, Job} from "../libraries/JobTypes.sol";
import {Settlement} from "./Settlement.sol";

/// @title What the treasury pays after a ruling
/// @notice Counts only tokens that arrived; the rest is a debt that anyone can have paid later. The treasury is called within
///         bounds: whatever governance puts in its place can delay a compensation, never a ruling.
abstract contract Compensation is IDisputes, Settlement {
    struct Debt {
        uint128 units;
        bool toWorker; // to the job's worker (as tokens) instead of its wallet (as credits)
    }

    mapping(bytes16 jobId => Debt) private _debts;

    /// @inheritdoc IDisputes
    function collectDebt(bytes16 jobId) external nonReentrant {
        Debt memory debt = _debts[jobId];
        if (debt.units == 0) revert Dispute_NoDebt(jobId);
        uint256 paid = _compensate(jobId, _load(jobId), debt.units, debt.toWorker);
        if (paid == 0) revert Dispute_TreasuryEmpty(jobId, debt.units);
    }

    /// @inheritdoc IDisputes
    function debtOf(bytes16 jobId) external view returns (uint256 units, bool toWorker) {
        Debt memory debt = _debts[jobId];
        return (debt.units, debt.toWorker);
    }

    function _debtUnits(bytes16 jobId) internal view returns (uint256) {
        return _debts[jobId].units;
    }

    /// @dev Has the treasury pay `units` for a job; what does not arrive becomes its debt. Replaces an earlier debt of the job, which
    ///      is therefore always contained in `units`.
    function _compensate(
        bytes16 jobId,
        Job memory job,
        uint256 units,
        bool toWorker
    ) internal returns (uint256 paid) {
        if (units == 0) return 0;
        paid = _drawFromTreasury(jobId, units);
        _debts[jobId] = Debt({units: SafeCast.toUint128(units - paid), toWorker: toWorker});

        address wallet = walletOf(job.account);
        address payee = wallet;
        Account memory account = _accountOf(wallet);
        if (toWorker) {
            (, payee) = REGISTRY.payeeOf(REGISTRY.signerOf(job.worker));
        } else {
            uint40 credits = uint40(paid / UNITS_PER_CREDIT);
            account.free += credits;
            _store(wallet, account);
            _acquire(credits);
            // The ledger counts whole credits: a fraction (the fee of a small job) waits as tokens.
            _defer(jobId, wallet, paid % UNITS_PER_CREDIT);
        }
        emit Compensated(jobId, wallet, payee, paid, units - paid, account.free, account.escrowed);
        if (toWorker) _pay(jobId, payee, paid);
    }

    function _drawFromTreasury(bytes16 jobId, uint256 units) private returns (uint256 arrived) {
        uint256 before = TOKEN.balanceOf(address(this));
        // The outcome is what arrived, whatever the call says.
        BoundedCall.tryCall(treasury(), abi.encodeCall(IProtocolTreasury.compensate, (jobId, units)));
        uint256 afterwards = TOKEN.balanceOf(address(this));
        arrived = afterwards > before ? afterwards - before : 0;
        if (arrived > units) arrived = units;
    }
}

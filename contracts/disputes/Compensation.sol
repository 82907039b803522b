// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Debt, Deployment, EscrowState} from "../escrow/EscrowState.sol";
import {Ledger} from "../escrow/Ledger.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {IProtocolTreasury} from "../interfaces/IProtocolTreasury.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";

/// @title What the treasury pays after a ruling
/// @notice Counts only tokens that arrived; the rest is a debt that anyone can have paid later. The treasury is called within
///         bounds: whatever governance puts in its place can delay a compensation, never a ruling.
library Compensation {
    using Ledger for EscrowState;

    /// @notice Has the treasury pay `units` for a job; what does not arrive becomes its debt. Replaces an earlier debt of the job,
    ///         which the caller has therefore included in `units`.
    /// @param toWorker To the worker's payout address instead of the client's balance.
    /// @return paid Token units that arrived.
    function compensate(
        EscrowState storage state,
        Deployment calldata d,
        bytes16 jobId,
        JobSlot job,
        uint256 units,
        bool toWorker
    ) internal returns (uint256 paid) {
        if (units == 0) return 0;
        paid = _draw(state, d, jobId, units);
        state.debts[jobId] = Debt({units: SafeCast.toUint128(units - paid), toWorker: toWorker});

        address wallet = state.wallets[job.account()];
        AccountSlot account = state.accounts[wallet];
        uint256 fraction = 0;
        address payee = wallet;
        if (toWorker) {
            payee = d.registry.payableTo(d.registry.signerOf(job.worker())).payout();
        } else {
            uint256 credits = paid / Ledger.UNITS_PER_CREDIT;
            uint256 room = type(uint40).max - account.free() - account.escrowed();
            if (credits > room) credits = room;
            account = account.withBalance(account.free() + uint40(credits), account.escrowed());
            state.accounts[wallet] = account;
            state.acquire(credits);
            // The ledger counts whole credits: a fraction (the fee of a small job) waits as tokens.
            fraction = paid - credits * Ledger.UNITS_PER_CREDIT;
        }
        emit IDisputes.Compensated(jobId, wallet, payee, paid, units - paid, account.free(), account.escrowed());
        if (toWorker) state.pay(d.token, jobId, payee, paid);
        else state.defer(jobId, wallet, fraction);
    }

    function _draw(
        EscrowState storage state,
        Deployment calldata d,
        bytes16 jobId,
        uint256 units
    ) private returns (uint256 arrived) {
        uint256 before = d.token.balanceOf(address(this));
        // The outcome is what arrived, whatever the call says.
        BoundedCall.tryCall(state.config.treasury, abi.encodeCall(IProtocolTreasury.compensate, (jobId, units)));
        uint256 afterwards = d.token.balanceOf(address(this));
        arrived = afterwards > before ? afterwards - before : 0;
        if (arrived > units) arrived = units;
    }
}

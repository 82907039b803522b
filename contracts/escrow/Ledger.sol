// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ICreditLedger} from "../interfaces/ICreditLedger.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {EscrowState} from "./EscrowState.sol";

/// @title Balances and payouts
/// @notice What the rooms of the escrow and its dispute library do to accounts, in one place.
library Ledger {
    /// @notice Token units of one credit: 0.01 of a 6-decimal stablecoin.
    uint256 internal constant UNITS_PER_CREDIT = 10_000;

    /// @notice The account of a wallet that must have one.
    function accountOf(EscrowState storage state, address wallet) internal view returns (AccountSlot account) {
        account = state.accounts[wallet];
        if (account.id() == 0) revert ICreditLedger.Ledger_UnknownAccount(wallet);
    }

    /// @notice Moves credits that leave the ledger (a charge) out of the liabilities, ahead of their payout.
    function release(EscrowState storage state, uint256 credits) internal {
        state.creditsOwed -= credits;
    }

    /// @notice Takes credits whose tokens arrived into the liabilities.
    function acquire(EscrowState storage state, uint256 credits) internal {
        state.creditsOwed += credits;
    }

    /// @notice Pays at once, or defers what the token refuses. Effects on the ledger must be complete before it is called.
    function pay(EscrowState storage state, IERC20 token, bytes16 jobId, address payee, uint256 units) internal {
        if (units == 0) return;
        if (BoundedCall.tryTransfer(address(token), payee, units)) return;
        defer(state, jobId, payee, units);
    }

    /// @notice Lets `units` wait for `payee`, who can have them by `claim`.
    function defer(EscrowState storage state, bytes16 jobId, address payee, uint256 units) internal {
        if (units == 0) return;
        uint128 deferred = SafeCast.toUint128(units);
        state.claimables[payee].units += deferred;
        state.unitsOwed += units;
        emit ICreditLedger.PayoutDeferred(jobId, payee, units);
    }
}

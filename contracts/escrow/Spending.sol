// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ICreditLedger} from "../interfaces/ICreditLedger.sol";
import {ISpendingLimits} from "../interfaces/ISpendingLimits.sol";
import {AccountSlot, AccountSlots} from "../libraries/AccountSlot.sol";

/// @title Credits into escrow and back, within a wallet's limits
/// @notice Pure on the account's word; the caller stores it.
library Spending {
    /// @notice The account after a lock of `credits`. Reverts when the wallet's balance or limits do not allow it.
    function spent(AccountSlot account, address wallet, uint32 credits) internal view returns (AccountSlot) {
        uint8 flags = account.flags();
        if (flags & AccountSlots.FROZEN != 0) revert ISpendingLimits.Limits_Frozen(wallet);
        uint40 free = account.free();
        if (free < credits) revert ICreditLedger.Ledger_InsufficientCredits(wallet, free, credits);
        uint16 today = _day(block.timestamp);
        uint256 before = account.spentDay() == today ? account.spentToday() : 0;
        uint256 total = before + credits;
        if (flags & AccountSlots.LIMITED != 0 && total > account.dailyLimit()) {
            revert ISpendingLimits.Limits_DailyLimitReached(wallet, before, account.dailyLimit(), credits);
        }
        // Counted without a limit too, so that one set at noon knows the morning. Saturates: no limit is above it.
        if (total > type(uint32).max) total = type(uint32).max;
        return account.withBalance(free - credits, account.escrowed() + credits).withSpent(today, uint32(total));
    }

    /// @notice The account after a job's `locked` credits left escrow and `back` of them came back to it. What comes back gives
    ///         the daily limit back on the day of the lock only.
    function returned(
        AccountSlot account,
        uint32 locked,
        uint32 back,
        uint40 lockedAt
    ) internal pure returns (AccountSlot) {
        uint16 day = account.spentDay();
        if (day == _day(lockedAt)) {
            uint32 before = account.spentToday();
            account = account.withSpent(day, back < before ? before - back : 0);
        }
        return account.released(locked, back);
    }

    function _day(uint256 time) private pure returns (uint16) {
        return uint16(time / 1 days);
    }
}

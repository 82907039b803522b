// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISpendingLimits} from "../interfaces/ISpendingLimits.sol";
import {Account} from "../libraries/JobTypes.sol";
import {CreditLedger} from "./CreditLedger.sol";

/// @title What a wallet allows gateways to lock
/// @notice Daily limit and freeze switch. Everything they need lies in the account's own slot.
abstract contract SpendingLimits is ISpendingLimits, CreditLedger {
    uint8 private constant FROZEN = 1;
    uint8 private constant LIMITED = 2;

    /// @inheritdoc ISpendingLimits
    function setLimits(bool limited, uint32 dailyLimit, bool frozen) external {
        Account memory account = _accountOf(msg.sender);
        account.flags = (frozen ? FROZEN : 0) | (limited ? LIMITED : 0);
        account.dailyLimit = limited ? dailyLimit : 0;
        account.sequence += 1;
        _store(msg.sender, account);
        emit LimitsSet(account.id, msg.sender, account.sequence, limited, account.dailyLimit, frozen);
    }

    /// @dev Moves `credits` of the account in memory into escrow for a lock, within its limits.
    function _escrow(address wallet, Account memory account, uint32 credits) internal view {
        if (account.flags & FROZEN != 0) revert Limits_Frozen(wallet);
        if (account.free < credits) revert Ledger_InsufficientCredits(wallet, account.free, credits);
        uint16 today = _day(block.timestamp);
        uint256 spent = account.spentDay == today ? account.spentToday : 0;
        if (account.flags & LIMITED != 0 && spent + credits > account.dailyLimit) {
            revert Limits_DailyLimitReached(wallet, spent, account.dailyLimit, credits);
        }
        account.free -= credits;
        account.escrowed += credits;
        account.spentDay = today;
        // Counted without a limit too, so that one set at noon knows the morning. Saturates far above any limit.
        uint256 total = spent + credits;
        account.spentToday = total > type(uint32).max ? type(uint32).max : uint32(total);
    }

    /// @dev Takes `locked` credits of a job out of escrow in memory and gives `returned` of them back.
    function _unescrow(Account memory account, uint32 locked, uint32 returned, uint40 lockedAt) internal pure {
        account.escrowed -= locked;
        account.free += returned;
        if (account.spentDay == _day(lockedAt)) {
            account.spentToday = account.spentToday > returned ? account.spentToday - returned : 0;
        }
    }

    function _day(uint256 time) private pure returns (uint16) {
        return uint16(time / 1 days);
    }
}

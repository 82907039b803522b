// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account} from "./JobTypes.sol";

/// @notice An `Account` as it is stored: one word, read and written whole.
/// @dev From the lowest bit: id 32, free 40, escrowed 40, sequence 32, dailyLimit 32, spentToday 32, spentDay 16, flags 8,
///      openDisputes 8.
type AccountSlot is uint256;

using AccountSlots for AccountSlot global;

/// @title Fields of a stored account
library AccountSlots {
    uint256 private constant FREE = 32;
    uint256 private constant ESCROWED = 72;
    uint256 private constant SEQUENCE = 112;
    uint256 private constant DAILY_LIMIT = 144;
    uint256 private constant SPENT_TODAY = 176;
    uint256 private constant SPENT_DAY = 208;
    uint256 private constant FLAGS = 224;
    uint256 private constant OPEN_DISPUTES = 232;

    /// @notice Bits of `flags`.
    uint8 internal constant FROZEN = 1;
    uint8 internal constant LIMITED = 2;

    function id(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account));
    }

    function free(AccountSlot account) internal pure returns (uint40) {
        return uint40(AccountSlot.unwrap(account) >> FREE);
    }

    function escrowed(AccountSlot account) internal pure returns (uint40) {
        return uint40(AccountSlot.unwrap(account) >> ESCROWED);
    }

    function sequence(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account) >> SEQUENCE);
    }

    function dailyLimit(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account) >> DAILY_LIMIT);
    }

    function spentToday(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account) >> SPENT_TODAY);
    }

    function spentDay(AccountSlot account) internal pure returns (uint16) {
        return uint16(AccountSlot.unwrap(account) >> SPENT_DAY);
    }

    function flags(AccountSlot account) internal pure returns (uint8) {
        return uint8(AccountSlot.unwrap(account) >> FLAGS);
    }

    function openDisputes(AccountSlot account) internal pure returns (uint8) {
        return uint8(AccountSlot.unwrap(account) >> OPEN_DISPUTES);
    }

    /// @notice A new account without credits.
    function opened(uint32 id_) internal pure returns (AccountSlot) {
        return AccountSlot.wrap(id_);
    }

    function withBalance(AccountSlot account, uint40 free_, uint40 escrowed_) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint80).max) << FREE);
        return AccountSlot.wrap(others | (uint256(free_) << FREE) | (uint256(escrowed_) << ESCROWED));
    }

    /// @notice The account after `locked` credits left escrow and `back` of them became free.
    function released(AccountSlot account, uint256 locked, uint256 back) internal pure returns (AccountSlot) {
        // An account never gives more than it has in escrow; were that ever wrong, nothing may happen.
        assert(locked <= account.escrowed() && back <= locked);
        // Free and escrowed credits together fit 40 bits (checked at each deposit): neither leaves its field.
        unchecked {
            return AccountSlot.wrap(AccountSlot.unwrap(account) + (back << FREE) - (locked << ESCROWED));
        }
    }

    function withSpent(AccountSlot account, uint16 day, uint32 spent) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint48).max) << SPENT_TODAY);
        return AccountSlot.wrap(others | (uint256(spent) << SPENT_TODAY) | (uint256(day) << SPENT_DAY));
    }

    function withLimits(AccountSlot account, uint8 flags_, uint32 dailyLimit_) internal pure returns (AccountSlot) {
        uint256 fields = (uint256(type(uint8).max) << FLAGS) | (uint256(type(uint32).max) << DAILY_LIMIT);
        uint256 others = AccountSlot.unwrap(account) & ~fields;
        return AccountSlot.wrap(others | (uint256(flags_) << FLAGS) | (uint256(dailyLimit_) << DAILY_LIMIT));
    }

    function withOpenDisputes(AccountSlot account, uint8 open) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint8).max) << OPEN_DISPUTES);
        return AccountSlot.wrap(others | (uint256(open) << OPEN_DISPUTES));
    }

    /// @notice The account with its event counter one higher.
    function counted(AccountSlot account) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint32).max) << SEQUENCE);
        return AccountSlot.wrap(others | (uint256(account.sequence() + 1) << SEQUENCE));
    }

    /// @notice All fields, for readers off chain.
    function unpack(AccountSlot account) internal pure returns (Account memory) {
        return
            Account({
                id: account.id(),
                free: account.free(),
                escrowed: account.escrowed(),
                sequence: account.sequence(),
                dailyLimit: account.dailyLimit(),
                spentToday: account.spentToday(),
                spentDay: account.spentDay(),
                flags: account.flags(),
                openDisputes: account.openDisputes()
            });
    }
}

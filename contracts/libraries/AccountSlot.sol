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

    /// @notice A new account without credits.
    function opened(uint32 id_) internal pure returns (AccountSlot) {
        return AccountSlot.wrap(id_);
    }

    function withBalance(AccountSlot account, uint40 free_, uint40 escrowed_) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint80).max) << FREE);
        return AccountSlot.wrap(others | (uint256(free_) << FREE) | (uint256(escrowed_) << ESCROWED));
    }

    /// @notice The account with its event counter one higher.
    function counted(AccountSlot account) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint32).max) << SEQUENCE);
        return AccountSlot.wrap(others | (uint256(account.sequence() + 1) << SEQUENCE));
    }

    /// @notice All fields, for readers off chain.
    function unpack(AccountSlot account) internal pure returns (Account memory) {
        uint256 word = AccountSlot.unwrap(account);
        return
            Account({
                id: account.id(),
                free: account.free(),
                escrowed: account.escrowed(),
                sequence: account.sequence(),
                dailyLimit: uint32(word >> DAILY_LIMIT),
                spentToday: uint32(word >> SPENT_TODAY),
                spentDay: uint16(word >> SPENT_DAY),
                flags: uint8(word >> FLAGS),
                openDisputes: uint8(word >> OPEN_DISPUTES)
            });
    }
}

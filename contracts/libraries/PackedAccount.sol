// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fields} from "./Fields.sol";
import {Account} from "./JobTypes.sol";

/// @notice An Account as it lies in its storage slot: the fields of the struct in their order, from the lowest bit. Zero: none.
type PackedAccount is uint256;

using PackedAccounts for PackedAccount global;

/// @title Fields of a packed account
/// @notice Getters have the name of the field in `Account`; the other functions return the changed word and write nothing.
library PackedAccounts {
    using Fields for uint256;

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

    /// @notice A new account without credits.
    function opened(uint32 id_) internal pure returns (PackedAccount) {
        return PackedAccount.wrap(id_);
    }

    function withBalances(PackedAccount account, uint256 free_, uint256 escrowed_) internal pure returns (PackedAccount) {
        // Deposits and compensations keep free + escrowed within 40 bits, so neither alone can leave its field.
        uint256 word = PackedAccount.unwrap(account).set(FREE, 40, free_);
        return PackedAccount.wrap(word.set(ESCROWED, 40, escrowed_));
    }

    /// @notice The account after `locked` credits left escrow and `back` of them became free.
    function released(PackedAccount account, uint256 locked, uint256 back) internal pure returns (PackedAccount) {
        // An account never gives more than it has in escrow; were that ever wrong, nothing may happen.
        assert(locked <= escrowed(account) && back <= locked);
        unchecked {
            return PackedAccount.wrap(PackedAccount.unwrap(account) + (back << FREE) - (locked << ESCROWED));
        }
    }

    /// @notice The account with its next sequence number.
    function advanced(PackedAccount account) internal pure returns (PackedAccount) {
        return PackedAccount.wrap(PackedAccount.unwrap(account).set(SEQUENCE, 32, sequence(account) + 1));
    }

    function withLimits(PackedAccount account, uint8 flags_, uint32 dailyLimit_) internal pure returns (PackedAccount) {
        uint256 word = PackedAccount.unwrap(account).set(FLAGS, 8, flags_);
        return PackedAccount.wrap(word.set(DAILY_LIMIT, 32, dailyLimit_));
    }

    function withSpent(PackedAccount account, uint16 day, uint32 spent) internal pure returns (PackedAccount) {
        uint256 word = PackedAccount.unwrap(account).set(SPENT_DAY, 16, day);
        return PackedAccount.wrap(word.set(SPENT_TODAY, 32, spent));
    }

    function withOpenDisputes(PackedAccount account, uint8 open) internal pure returns (PackedAccount) {
        return PackedAccount.wrap(PackedAccount.unwrap(account).set(OPEN_DISPUTES, 8, open));
    }

    function id(PackedAccount account) internal pure returns (uint32) {
        return uint32(PackedAccount.unwrap(account));
    }

    function free(PackedAccount account) internal pure returns (uint40) {
        return uint40(PackedAccount.unwrap(account) >> FREE);
    }

    function escrowed(PackedAccount account) internal pure returns (uint40) {
        return uint40(PackedAccount.unwrap(account) >> ESCROWED);
    }

    function sequence(PackedAccount account) internal pure returns (uint32) {
        return uint32(PackedAccount.unwrap(account) >> SEQUENCE);
    }

    function dailyLimit(PackedAccount account) internal pure returns (uint32) {
        return uint32(PackedAccount.unwrap(account) >> DAILY_LIMIT);
    }

    function spentToday(PackedAccount account) internal pure returns (uint32) {
        return uint32(PackedAccount.unwrap(account) >> SPENT_TODAY);
    }

    function spentDay(PackedAccount account) internal pure returns (uint16) {
        return uint16(PackedAccount.unwrap(account) >> SPENT_DAY);
    }

    function flags(PackedAccount account) internal pure returns (uint8) {
        return uint8(PackedAccount.unwrap(account) >> FLAGS);
    }

    function openDisputes(PackedAccount account) internal pure returns (uint8) {
        return uint8(PackedAccount.unwrap(account) >> OPEN_DISPUTES);
    }

    /// @notice The account as a struct, for readers.
    function unpacked(PackedAccount account) internal pure returns (Account memory) {
        return
            Account({
                id: id(account),
                free: free(account),
                escrowed: escrowed(account),
                sequence: sequence(account),
                dailyLimit: dailyLimit(account),
                spentToday: spentToday(account),
                spentDay: spentDay(account),
                flags: flags(account),
                openDisputes: openDisputes(account)
            });
    }
}

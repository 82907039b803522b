// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISpendingLimits} from "../interfaces/ISpendingLimits.sol";
import {PackedAccount, PackedAccounts} from "../libraries/PackedAccount.sol";
import {EscrowState, EscrowStorage} from "./EscrowState.sol";
import {Ledger} from "./Ledger.sol";

/// @title What a wallet allows gateways to lock
/// @notice Daily limit and freeze switch. Everything they need lies in the account's own slot; `Spending` applies them.
abstract contract SpendingLimits is ISpendingLimits, EscrowStorage {
    using Ledger for EscrowState;

    /// @inheritdoc ISpendingLimits
    function setLimits(bool limited, uint32 dailyLimit, bool frozen) external {
        uint8 flags = (frozen ? PackedAccounts.FROZEN : 0) | (limited ? PackedAccounts.LIMITED : 0);
        if (!limited) dailyLimit = 0;
        PackedAccount account = _state.accountOf(msg.sender).withLimits(flags, dailyLimit).advanced();
        _state.accounts[msg.sender] = account;
        emit LimitsSet(account.id(), msg.sender, account.sequence(), limited, dailyLimit, frozen);
    }
}

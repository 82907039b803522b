// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISpendingLimits} from "../interfaces/ISpendingLimits.sol";
import {AccountSlot, AccountSlots} from "../libraries/AccountSlot.sol";
import {EscrowState, EscrowStorage} from "./EscrowState.sol";
import {Ledger} from "./Ledger.sol";

/// @title What a wallet allows gateways to lock
/// @notice Daily limit and freeze switch. Everything they need lies in the account's own slot; `Spending` applies them.
abstract contract SpendingLimits is ISpendingLimits, EscrowStorage {
    using Ledger for EscrowState;

    /// @inheritdoc ISpendingLimits
    function setLimits(bool limited, uint32 dailyLimit, bool frozen) external {
        uint8 flags = (frozen ? AccountSlots.FROZEN : 0) | (limited ? AccountSlots.LIMITED : 0);
        if (!limited) dailyLimit = 0;
        AccountSlot account = _state.accountOf(msg.sender).withLimits(flags, dailyLimit).counted();
        _state.accounts[msg.sender] = account;
        emit LimitsSet(account.id(), msg.sender, account.sequence(), limited, dailyLimit, frozen);
    }
}

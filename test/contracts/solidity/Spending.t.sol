// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Spending} from "../../../contracts/escrow/Spending.sol";
import {AccountSlot, AccountSlots} from "../../../contracts/libraries/AccountSlot.sol";

/// @notice A day of which the counter cannot hold the spending: nobody gets there by jobs, so the account's word says it.
contract SpendingTest {
    using Spending for AccountSlot;

    function spend(AccountSlot account, uint32 credits) external view returns (AccountSlot) {
        return account.spent(address(this), credits);
    }

    function testFuzz_aDaysSpendingAddsUpToTheHighestNumber(uint32 before, uint32 credits) external view {
        AccountSlot account = _spentToday(before).spent(address(this), credits);
        uint256 total = uint256(before) + credits;
        require(account.spentToday() == (total > type(uint32).max ? type(uint32).max : total), "spent today");
        require(account.spentDay() == block.timestamp / 1 days, "on this day");
        require(account.free() == type(uint32).max - credits && account.escrowed() == credits, "into escrow");
    }

    /// Were it to start anew from zero, a limit set on that day would allow the day's spending once more.
    function test_aLimitSetOnSuchADayKnowsOfIt() external view {
        AccountSlot account = _spentToday(type(uint32).max - 10).spent(address(this), 11);
        try this.spend(account.withLimits(AccountSlots.LIMITED, type(uint32).max), 1) {
            revert("the day's spending was forgotten");
        } catch (bytes memory reason) {
            require(
                bytes4(reason) == bytes4(keccak256("Limits_DailyLimitReached(address,uint256,uint256,uint256)")),
                "refused by the limit"
            );
        }
    }

    function _spentToday(uint32 credits) private view returns (AccountSlot) {
        return
            AccountSlots.opened(1).withBalance(type(uint32).max, 0).withSpent(
                uint16(block.timestamp / 1 days),
                credits
            );
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account} from "../../../contracts/Types.sol";
import {AccountSlot, AccountSlots} from "../../../contracts/Words.sol";
import {Protocol} from "./Protocol.sol";
import {VM} from "./Vm.sol";

/// @notice A day of which the counter cannot hold the spending: nobody gets there by jobs, so the account's word is written.
contract SpendingTest is Protocol {
    address private constant WALLET = address(0x1000);
    uint32 private constant MOST = type(uint32).max;
    bytes32 private _slot;

    function setUp() external {
        deployProtocol(0);
        token.mint(WALLET, 1_000_000);
        VM.prank(WALLET);
        token.approve(address(escrow), 1_000_000);
        VM.prank(WALLET);
        escrow.deposit(100, 1);
        // The map of the accounts is in one of the first slots: there the wallet's word says what the view says.
        for (uint256 map = 0; _slot == 0; ++map) {
            bytes32 slot = keccak256(abi.encode(WALLET, map));
            uint256 word = uint256(VM.load(address(escrow), slot));
            if (word != 0 && AccountSlot.wrap(word).free() == 100 && AccountSlot.wrap(word).operator() == 1) {
                _slot = slot;
            }
        }
    }

    function testFuzz_aDaysSpendingAddsUpToTheHighestNumber(uint32 before) external {
        before = before % 2 == 0 ? before : MOST - (before % 100);
        _spentToday(before, 0, 0);
        _lock();
        Account memory account = escrow.accountOf(WALLET);
        uint256 total = uint256(before) + 40;
        require(account.spentToday == (total > MOST ? MOST : total), "spent today");
        require(account.spentDay == block.timestamp / 1 days, "on this day");
        require(account.free == 60 && account.escrowed == 40, "into escrow");
    }

    /// Were it to start anew from zero, a limit set on that day would allow the day's spending once more.
    function test_aLimitSetOnSuchADayKnowsOfIt() external {
        _spentToday(MOST - 10, 0, 0);
        _lock();
        _spentToday(escrow.accountOf(WALLET).spentToday, AccountSlots.LIMITED, MOST);
        try this.lockOne(2) {
            revert("the day's spending was forgotten");
        } catch (bytes memory reason) {
            require(
                bytes4(reason) == bytes4(keccak256("Limits_DailyLimitReached(address,uint256,uint256,uint256)")),
                "refused by the limit"
            );
        }
    }

    function lockOne(uint128 id) external {
        VM.prank(gatewayOf(1));
        escrow.lock(WALLET, 1, bytes16(id), 500, 40, type(uint40).max);
    }

    function _lock() private {
        this.lockOne(1);
    }

    /// @dev 100 free credits, nothing in escrow, and this spending of today.
    function _spentToday(uint32 credits, uint8 flags, uint32 limit) private {
        AccountSlot account = AccountSlot
            .wrap(uint256(VM.load(address(escrow), _slot)))
            .withSpent(uint16(block.timestamp / 1 days), credits)
            .withFlags(flags)
            .withDailyLimit(limit);
        VM.store(address(escrow), _slot, bytes32(AccountSlot.unwrap(account)));
    }
}

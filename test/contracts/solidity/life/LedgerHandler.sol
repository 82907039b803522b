// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Behaviour} from "../../../../contracts/testing/HostileStablecoin.sol";
import {VM, within} from "../Vm.sol";
import {Ghost} from "./Ghost.sol";

/// @notice Deposits, withdrawals, claims, limits, and a token that refuses payees at random.
/// @dev An action whose precondition does not hold returns, or shows that the call is refused; one whose precondition holds
///      must not revert.
abstract contract LedgerHandler is Ghost {
    function deposit(uint256 who, uint256 credits) public {
        address wallet = walletAt(who);
        credits = within(credits, 100, 5_000);
        token.mint(wallet, credits * 10_000);
        held[wallet] += credits * 10_000;
        VM.prank(wallet);
        token.approve(address(escrow), credits * 10_000);
        VM.prank(wallet);
        try escrow.deposit(uint40(credits)) {
            require(!paused, "a deposit went through a pause");
            held[wallet] -= credits * 10_000;
            wallets[wallet].free += credits;
            done["deposit"] += 1;
        } catch {
            require(paused, "a legal deposit was refused");
        }
    }

    function withdraw(uint256 who, uint256 credits) external {
        address wallet = walletAt(who);
        uint256 free = wallets[wallet].free;
        if (free == 0) return;
        // Most withdrawals are small: wallets without credits lead to no jobs.
        credits = within(credits, 1, credits % 8 == 0 || free < 20 ? free : free / 20);
        VM.prank(wallet);
        escrow.withdraw(uint40(credits), address(0xdead));
        wallets[wallet].free -= credits;
        done["withdraw"] += 1;
    }

    function setLimits(uint256 who, bool limited, uint256 limit, uint256 frozen) external {
        address wallet = walletAt(who);
        Wallet storage ghost = wallets[wallet];
        if (ghost.free + ghost.escrowed == 0) return;
        (ghost.limited, ghost.frozen) = (limited, frozen % 8 == 0);
        ghost.limit = limited ? within(limit, 0, 2_000) : 0;
        VM.prank(wallet);
        escrow.setLimits(limited, uint32(within(limit, 0, 2_000)), ghost.frozen);
        done["limits"] += 1;
    }

    /// @notice The token starts to refuse one payee, in one of several ways, or stops.
    function misbehave(uint256 who, uint256 how) external {
        address payee = _payeeAt(who);
        // Every other time it turns good.
        behaviours[payee] =
            how % 2 == 0 ? Behaviour.Standard : Behaviour(within(how / 2, 0, uint256(type(Behaviour).max)));
        token.setBehaviour(payee, behaviours[payee]);
        done["misbehave"] += 1;
    }

    /// @notice Pays what waits for a payee if the token lets it, and nothing otherwise.
    function claim(uint256 who) external {
        address payee = who % 2 == 0 ? walletAt(who / 2) : _payeeAt(who / 2);
        if (waiting[payee] == 0) return;
        try escrow.claim(payee) {
            require(_moves(payee), "claimed what the token refuses");
            held[payee] += waiting[payee];
            waiting[payee] = 0;
            done["claim"] += 1;
        } catch {
            require(!_moves(payee), "a claim was refused");
            done["claim refused"] += 1;
        }
    }

    /// @notice Tokens that nobody is credited for.
    function donate(uint256 units) external {
        units = within(units, 1, 1e9);
        token.mint(address(escrow), units);
        donated += units;
    }

    /// @notice Seconds mostly; hours sometimes.
    function wait(uint256 time) public {
        uint256 most = time % 4 == 0 ? 8 hours : 100;
        VM.warp(block.timestamp + within(time / 4, 1, most));
    }

    /// @dev Those that the token treats in a way of their own: payouts, treasuries, and the escrow (for compensations).
    function _payeeAt(uint256 who) internal view returns (address) {
        who %= WORKERS + 3;
        if (who < WORKERS) return payoutAt(who);
        return who == WORKERS ? address(escrow) : address(treasuries[who - WORKERS - 1]);
    }
}

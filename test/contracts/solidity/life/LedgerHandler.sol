// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Behaviour} from "../../tokens/HostileStablecoin.sol";
import {VM, within} from "../Vm.sol";
import {Ghost} from "./Ghost.sol";

/// @notice Deposits, withdrawals, claims, limits, reserves, and a token that refuses payees at random.
/// @dev An action whose precondition does not hold returns, or shows that the call is refused; one whose precondition holds
///      must not revert.
abstract contract LedgerHandler is Ghost {
    /// @param operator 0 leaves the choice as it is, as most deposits do; one that does not exist is refused.
    function deposit(uint256 who, uint256 credits, uint256 operator) public {
        address wallet = walletAt(who);
        credits = within(credits, 100, 5_000);
        if (operator > OPERATORS + 1) operator = operator % 16 > OPERATORS + 1 ? 0 : operator % 16;
        token.mint(wallet, credits * 10_000);
        held[wallet] += credits * 10_000;
        VM.prank(wallet);
        try escrow.deposit(uint40(credits), uint8(operator)) {
            require(!_paused() && operator <= OPERATORS, "a deposit went through a pause, or chose nobody");
            held[wallet] -= credits * 10_000;
            wallets[wallet].free += credits;
            if (operator != 0) wallets[wallet].operator = operator;
            done["deposit"] += 1;
        } catch {
            require(_paused() || operator > OPERATORS, "a legal deposit was refused");
        }
    }

    function withdraw(uint256 who, uint256 credits) public {
        address wallet = walletAt(who);
        uint256 free = wallets[wallet].free;
        if (free == 0) return;
        // Most withdrawals are small, and some take everything.
        credits = credits % 8 == 0 ? free : within(credits, 1, free < 20 ? free : free / 20);
        VM.prank(wallet);
        escrow.withdraw(uint40(credits), address(0xdead));
        wallets[wallet].free -= credits;
        done["withdraw"] += 1;
    }

    /// @notice Any operator, or none.
    function chooseOperator(uint256 who, uint256 operator) public {
        address wallet = walletAt(who);
        operator %= OPERATORS + 1;
        VM.prank(wallet);
        escrow.chooseOperator(uint8(operator));
        wallets[wallet].operator = operator;
        done["operator"] += 1;
    }

    function setLimits(uint256 who, bool limited, uint256 limit, uint256 frozen) public {
        address wallet = walletAt(who);
        Wallet storage ghost = wallets[wallet];
        (ghost.limited, ghost.frozen) = (limited, frozen % 8 == 0);
        ghost.limit = limited ? within(limit, 0, 2_000) : 0;
        VM.prank(wallet);
        escrow.setLimits(limited, uint32(within(limit, 0, 2_000)), ghost.frozen);
        done["limits"] += 1;
    }

    function setAuthorizationKey(uint256 who, bool on) external {
        address wallet = walletAt(who);
        address key = on ? VM.addr(AUTHORIZATION_KEY) : address(0);
        VM.prank(wallet);
        escrow.setAuthorizationKey(key);
        wallets[wallet].authorized = on;
        done["authorization key"] += 1;
    }

    /// @notice Tokens of a wallet's own, of which it can buy a bond.
    function earn(uint256 who, uint256 units) public {
        units = within(units, 1, 1_500_000);
        token.mint(walletAt(who), units);
        held[walletAt(who)] += units;
    }

    /// @notice By anyone, pause or not.
    function fundReserve(uint256 operator, uint256 credits) public {
        operator = 1 + (operator % OPERATORS);
        credits = within(credits, 1, 500);
        token.mint(address(this), credits * 10_000);
        escrow.fundReserve(uint8(operator), uint40(credits));
        operators[operator].reserve += credits;
        done["reserve funded"] += 1;
    }

    function announceReserveWithdrawal(uint256 operator, uint256 credits) public {
        operator = 1 + (operator % OPERATORS);
        OperatorGhost storage ghost = operators[operator];
        ghost.leaving = within(credits, 0, 1_000);
        ghost.leavesAt = ghost.leaving == 0 ? 0 : block.timestamp + LONGEST_RISK;
        escrow.announceReserveWithdrawal(uint8(operator), uint40(ghost.leaving));
        done["reserve announced"] += 1;
    }

    function withdrawReserve(uint256 operator) public {
        operator = 1 + (operator % OPERATORS);
        OperatorGhost storage ghost = operators[operator];
        bool due = ghost.leavesAt != 0 && block.timestamp >= ghost.leavesAt;
        try escrow.withdrawReserve(uint8(operator), address(0xdead)) {
            require(due, "a reserve left that was not announced, or too early");
        } catch {
            require(!due, "a reserve could not leave");
            return;
        }
        ghost.reserve -= _least(ghost.leaving, ghost.reserve);
        (ghost.leaving, ghost.leavesAt) = (0, 0);
        done["reserve withdrawn"] += 1;
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

    /// @notice Pays what waits for a payee if the token lets it, and nothing otherwise; or to whom the payee names.
    function claim(uint256 who, bool elsewhere) external {
        address payee = who % 2 == 0 ? walletAt(who / 2) : _payeeAt(who / 2);
        if (waiting[payee] == 0) return;
        if (elsewhere) {
            VM.prank(payee);
            escrow.claimTo(address(0xdead));
            waiting[payee] = 0;
            done["claim elsewhere"] += 1;
            return;
        }
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

    function _paused() internal view returns (bool) {
        return paused[0] || paused[1];
    }

    /// @dev Those that the token treats in a way of their own: payouts, treasuries, and the escrow (for compensations).
    function _payeeAt(uint256 who) internal view returns (address) {
        who %= WORKERS + 3;
        if (who < WORKERS) return payoutAt(who);
        return who == WORKERS ? address(escrow) : address(treasuries[who - WORKERS - 1]);
    }
}

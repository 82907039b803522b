// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {VM, within} from "../Vm.sol";
import {DisputeHandler} from "./DisputeHandler.sol";

/// @notice Governance and guardian; and shortcuts to the deeper states, which single random calls seldom reach.
abstract contract LifeHandler is DisputeHandler {
    address internal constant GRANTEE = address(0xbeef);
    /// @dev The catalog lists no model whose whole context window costs more.
    uint256 private constant JOB_LIMIT = 5_000;
    uint256 private constant DEAR_WINDOW = 128_000;

    constructor() {
        deployProtocol(uint40(cap));
        treasuries[0] = treasury;
        treasuries[1] = newTreasury();
        treasuries[1].setEscrow(address(escrow));
        (prices[1].flat, prices[1].per1k) = (40, 20);
        (prices[2].flat, prices[2].per1k) = (2, 1);
        for (uint256 i = 0; i < WORKERS; ++i) {
            addWorker(FIRST_WORKER_KEY + i, payoutAt(i));
            stakes[i] = STAKE;
        }
        for (uint256 i = 0; i < WALLETS; ++i) {
            VM.prank(walletAt(i));
            token.approve(address(escrow), type(uint256).max);
            deposit(i, 4_900, 1 + (i % OPERATORS));
        }
        for (uint256 i = 0; i < OPERATORS; ++i) fundReserve(i, 499);
    }

    /// @notice A job of a random wallet, brought at once as far as `depth` says.
    function serve(uint256 seed, uint256 depth) external {
        uint256 before = jobs.length;
        if (seed % 8 != 0) _open(seed, depth);
        lock(seed, seed >> 8, seed >> 32);
        if (jobs.length == before || depth % 8 == 0) return;
        uint256 who = (seed >> 40) % WORKERS;
        if (!_eligible(who)) restake(who, seed >> 48);
        if (depth % 8 < 4) {
            complete(0, who, seed >> 64, seed >> 96);
            if (seed % 4 == 0) _empty(seed);
            if (depth % 8 == 3) openDispute(0, depth % 16 < 8);
        } else {
            acknowledge(0, who);
            if (depth % 8 == 4) return;
            submitProof(0, seed >> 64);
            if (depth % 8 == 7) openDispute(0, depth % 16 < 8);
        }
        if (depth % 4 == 3 && depth % 3 == 0) joinDispute(0);
    }

    /// @notice A dispute ends: by two votes, by nobody's, or by the worker's two Completions, after which the wallet disputes.
    function settle(uint256 which, uint256 how) external {
        uint256 kind = how % 5;
        if (kind == 0) {
            expire(which);
            proveEquivocation(0, 4);
            return openDispute(which, how % 8 == 0);
        }
        if (kind == 1) {
            proveEquivocation(which, how);
            return openDispute(which, how % 8 == 0);
        }
        bytes16 jobId = _jobIn(which, DISPUTED);
        if (jobId == 0) return;
        if (kind == 2 && block.timestamp < ghosts[jobId].dispute.ruleFrom) VM.warp(ghosts[jobId].dispute.ruleFrom);
        vote(which, 0, how / 5);
        vote(which, 1, how % 7 == 0 ? how / 7 : how / 5);
        vote(which, 1, how / 5);
    }

    /// @dev A wallet without free credits, which has tokens for one bond.
    function _empty(uint256 who) private {
        withdraw(who, 0);
        earn(who, 999_999);
    }

    /// @dev Whatever stands between a wallet and its next job goes.
    function _open(uint256 who, uint256 operator) private {
        Wallet storage wallet = wallets[walletAt(who)];
        if (_paused()) _pause(false, false);
        if (wallet.operator == 0) chooseOperator(who, 1 + (operator % OPERATORS));
        if (operators[wallet.operator].stopped) _stop(wallet.operator, false);
        if (wallet.frozen || (wallet.limited && wallet.limit < 500)) setLimits(who, true, 2_000, 1);
        if (wallet.free < 450) deposit(who, 400, 0);
    }

    function announce(uint256 kind, uint256 a, uint256 b) external {
        kind %= 4;
        if (kind == 0) {
            a = within(a, 0, 2_001);
            uint256 now_ = _feeNow();
            try escrow.scheduleFee(uint16(a)) {
                require(a <= 2_000, "a fee above its cap");
                (fee, nextFee, feeChangesAt) = (now_, a, block.timestamp + NOTICE);
                done["fee"] += 1;
            } catch {
                require(a == 2_001, "a legal fee was refused");
            }
        } else if (kind < 3) {
            uint256 model = kind;
            Price storage price = prices[model];
            (uint256 flat, uint256 per1k) = (within(a, 1, 60), within(b, 1, 45));
            bool allowed = model != 1 || _cost(DEAR_WINDOW, flat, per1k) <= JOB_LIMIT;
            (uint256 flatNow, uint256 per1kNow) = _priceNow(model);
            try catalog.schedulePrices(uint16(model), uint16(flat), uint16(per1k)) {
                require(allowed, "a price for which no job could be locked");
            } catch {
                require(!allowed, "a legal price was refused");
                done["price refused"] += 1;
                return;
            }
            (price.flat, price.per1k) = (flatNow, per1kNow);
            (price.nextFlat, price.nextPer1k, price.changeAt) = (flat, per1k, block.timestamp + NOTICE);
            done["price"] += 1;
        } else if (a % 2 == 0 && (prices[2].retiresAt == 0 || block.timestamp < prices[2].retiresAt)) {
            prices[2].retiresAt = block.timestamp + 14 days;
            catalog.scheduleRetirement(2, uint40(prices[2].retiresAt));
            done["retirement"] += 1;
        }
    }

    function govern(uint256 kind, uint256 a) external {
        kind %= 8;
        if (kind == 0) {
            _pause(a % 4 == 0, (a / 4) % 2 == 0);
        } else if (kind == 1) {
            _stop(1 + ((a / 8) % OPERATORS), a % 4 == 0);
        } else if (kind == 2) {
            (stakeTerms[0], stakeTerms[1]) = _stakeTermsNow();
            nextStakeTerms[0] = within(a, 1, 2 * uint256(STAKE));
            nextStakeTerms[1] = within(a >> 64, 1, nextStakeTerms[0]);
            stakeTermsChangeAt = block.timestamp + UNBONDING;
            registry.scheduleStakeTerms(uint56(nextStakeTerms[0]), uint56(nextStakeTerms[1]));
            done["stake terms"] += 1;
        } else if (kind == 3) {
            arbiterSet += 1;
            panel.setArbiters(arbitersOf(arbiterSet), 2);
            done["arbiters"] += 1;
        } else if (kind == 4) {
            treasury = treasuries[a % 2];
            escrow.setTreasury(address(treasury));
            done["treasury"] += 1;
        } else if (kind == 5) {
            uint256 units = within(a, 0, held[address(treasury)]);
            treasury.pay(address(token), GRANTEE, units);
            held[address(treasury)] -= units;
            done["grant"] += 1;
        } else if (kind == 6) {
            cap = a % 8 == 0 ? 0 : within(a / 8, 1, 1_000);
            escrow.setCompensationCap(uint40(cap));
            done["cap"] += 1;
        } else {
            // What is announced is due in two days; seldom it is taken back before.
            if (operators[1 + (a % OPERATORS)].leavesAt == 0 || a % 8 == 0) announceReserveWithdrawal(a, a / 8);
            else withdrawReserve(a);
            fundReserve(a, a / 8);
        }
    }

    /// @dev By governance, which resumes whoever paused; or by the guardian, which lifts its own pause alone.
    function _pause(bool on, bool byGuardian) private {
        if (byGuardian) {
            VM.prank(GUARDIAN);
            escrow.setPaused(on);
            paused[0] = on;
        } else {
            escrow.setPaused(on);
            (paused[0], paused[1]) = (paused[0] && on, on);
        }
        (bool guardians, bool governances) = escrow.paused();
        require(guardians == paused[0] && governances == paused[1], "each pause is its own");
        done["pause"] += 1;
    }

    /// @dev Governance stops and resumes; the guardian only stops.
    function _stop(uint256 operator, bool stopped) private {
        VM.prank(GUARDIAN);
        try escrow.stopOperator(uint8(operator), stopped) {
            require(stopped, "the guardian gave a lock back");
        } catch {
            require(!stopped, "the guardian could not stop an operator");
            escrow.stopOperator(uint8(operator), false);
        }
        operators[operator].stopped = stopped;
        done["operator stopped"] += 1;
    }
}

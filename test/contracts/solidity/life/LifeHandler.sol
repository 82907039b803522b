// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {within} from "../Vm.sol";
import {DisputeHandler} from "./DisputeHandler.sol";

/// @notice Governance and guardian; and shortcuts to the deeper states, which single random calls seldom reach.
abstract contract LifeHandler is DisputeHandler {
    address internal constant GRANTEE = address(0xbeef);

    constructor() {
        deployProtocol();
        treasuries[0] = treasury;
        treasuries[1] = newTreasury();
        treasuries[1].setEscrow(address(escrow));
        (prices[1].flat, prices[1].per1k) = (40, 20);
        (prices[2].flat, prices[2].per1k) = (2, 1);
        for (uint256 i = 0; i < WORKERS; ++i) {
            addWorker(FIRST_WORKER_KEY + i, payoutAt(i));
            stakes[i] = STAKE;
        }
        for (uint256 i = 0; i < WALLETS; ++i) deposit(i, 4_900);
    }

    /// @notice A job of a random wallet, brought at once as far as `depth` says.
    function serve(uint256 seed, uint256 depth) external {
        uint256 before = jobs.length;
        lock(seed, seed >> 8, seed >> 32);
        if (jobs.length == before || depth % 8 == 0) return;
        uint256 who = (seed >> 40) % WORKERS;
        if (!_eligible(who)) restake(who, seed >> 48);
        if (depth % 8 < 4) {
            complete(0, who, seed >> 64, seed >> 96);
            if (depth % 8 == 3) openDispute(0, depth % 16 < 8);
            return;
        }
        acknowledge(0, who);
        if (depth % 8 == 4) return;
        submitProof(0, seed >> 64);
        if (depth % 8 == 7) openDispute(0, depth % 16 < 8);
    }

    /// @notice A dispute ends: by two votes, by nobody's, or by the worker's two Completions.
    function settle(uint256 which, uint256 how) external {
        uint256 kind = how % 5;
        if (kind == 0) {
            expire(which);
            return proveEquivocation(0, 4);
        }
        if (kind == 1) return proveEquivocation(which, how);
        vote(which, 0, how / 5);
        vote(which, 1, how / 5);
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
            (price.flat, price.per1k) = _priceNow(model);
            (price.nextFlat, price.nextPer1k) = (within(a, 1, 60), within(b, 1, 40));
            price.changeAt = block.timestamp + NOTICE;
            catalog.schedulePrices(uint16(model), uint16(price.nextFlat), uint16(price.nextPer1k));
            done["price"] += 1;
        } else if (a % 8 == 0 && (prices[2].retiresAt == 0 || block.timestamp < prices[2].retiresAt)) {
            prices[2].retiresAt = block.timestamp + 14 days;
            catalog.scheduleRetirement(2, uint40(prices[2].retiresAt));
            done["retirement"] += 1;
        }
    }

    function govern(uint256 kind, uint256 a) external {
        kind %= 6;
        if (kind == 0) {
            paused = a % 4 == 0;
            escrow.setPaused(paused);
            done["pause"] += 1;
        } else if (kind == 1) {
            mayLock = a % 4 != 0;
            escrow.setGatewayLocking(gateway, mayLock);
            done["gateway"] += 1;
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
        } else {
            uint256 units = within(a, 0, held[address(treasury)]);
            treasury.pay(address(token), GRANTEE, units);
            held[address(treasury)] -= units;
            done["grant"] += 1;
        }
    }
}

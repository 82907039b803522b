// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, Dispute, Job, JobStatus, Operator} from "../../../../contracts/Types.sol";
import {Behaviour} from "../../tokens/HostileStablecoin.sol";
import {VM, within} from "../Vm.sol";
import {DisputeHandler} from "./Jobs.sol";

/// @notice Governance and guardian; and shortcuts to the deeper states, which single random calls seldom reach.
abstract contract LifeHandler is DisputeHandler {
    address internal constant GRANTEE = address(0xbeef);
    /// @dev The catalog lists no model whose whole context window costs more.
    uint256 private constant JOB_LIMIT = 5_000;
    uint256 private constant DEAR_WINDOW = 128_000;

    constructor() {
        deployProtocol(uint40(cap));
        (nextStakeTerms, stakeTermsChangeAt) = ([uint256(STAKE), STAKE / 2], block.timestamp);
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
        if (depth % 4 == 3 && depth % 3 == 0) joinDispute(0, seed >> 24);
        if (depth % 4 == 3 && depth % 3 == 1) disputeByKey(0, seed >> 24, (seed >> 128) * 3);
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
            (a, b) = (within(a, 0, 2_001), within(b, 0, 11));
            (uint256 feeNow, uint256 shareNow) = (_feeNow(), _shareNow());
            try escrow.scheduleFee(uint16(a), uint8(b)) {
                require(a <= 2_000 && b <= 10, "a fee, or the operators' share of it, above its cap");
                (fee, nextFee, feeChangesAt) = (feeNow, a, block.timestamp + NOTICE);
                (share, nextShare) = (shareNow, b);
                done["fee"] += 1;
            } catch {
                require(a == 2_001 || b == 11, "a legal fee was refused");
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
            // Not within the unbonding period after a change; the deployment was none.
            uint256 next = stakeTermsChangeAt + UNBONDING;
            if (stakeTerms[1] != 0 && block.timestamp >= stakeTermsChangeAt && block.timestamp < next) {
                if (a % 2 == 0) VM.warp(next - 1);
                try registry.scheduleStakeTerms(2, 1) {
                    revert("a second change that reaches back");
                } catch {
                    if (a % 2 != 0) return;
                }
                VM.warp(next);
            }
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

/// @notice What holds after any sequence of calls, each property under its name; the ghost ledger against the contracts.
abstract contract Checks is LifeHandler {
    function checkTokensHeldAreOwed() external view {
        (uint256 credits, uint256 units) = escrow.liabilities();
        uint256 balance = token.balanceOf(address(escrow));
        require(balance >= credits * 10_000 + units, "tokens held cover what is owed");
        require(balance == credits * 10_000 + units + donated, "nothing is held that nobody gave or is owed");
    }

    function checkOwedIsTheSumOfItsParts() external view {
        (uint256 credits, uint256 owedUnits) = escrow.liabilities();
        uint256 sum = 0;
        uint256 units = 0;
        for (uint256 i = 0; i < WALLETS; ++i) {
            Account memory account = escrow.accountOf(walletAt(i));
            sum += uint256(account.free) + account.escrowed;
            units += escrow.claimableOf(walletAt(i));
        }
        for (uint256 i = 0; i < WORKERS + 3; ++i) units += escrow.claimableOf(_payeeAt(i));
        for (uint8 i = 1; i <= OPERATORS; ++i) {
            Operator memory operator = escrow.operatorOf(i);
            sum += uint256(operator.reserve) + operator.held;
        }
        require(sum == credits, "balances, escrowed credits, reserves and held bonds are the credits owed");
        for (uint256 i = 1; i <= OPERATORS; ++i) units += operators[i].earnedInAll;
        require(units + partsHeld == owedUnits, "what payees can claim, operators earned and disputes hold is owed");
    }

    function checkBalancesMoveByTheirOwnersOnly() external view {
        for (uint256 i = 0; i < WALLETS; ++i) {
            address wallet = walletAt(i);
            Account memory account = escrow.accountOf(wallet);
            Wallet storage ghost = wallets[wallet];
            require(account.free == ghost.free, "no balance moves but by its wallet's calls and jobs");
            require(account.escrowed == ghost.escrowed, "escrow is the open jobs and bonds of its wallet");
            require(account.openDisputes == ghost.openDisputes, "open disputes are counted");
            (address key, , uint8 mostOpen, uint8 open) = escrow.disputeKeyOf(wallet);
            require(key == (ghost.disputeKey == 0 ? address(0) : VM.addr(ghost.disputeKey)), "the key is the wallet's");
            require(mostOpen == ghost.mostOpen && open == ghost.openByKey, "so are the disputes of its keys");
            require(account.operator == ghost.operator, "the operator is the wallet's choice");
            uint256 flags = (ghost.frozen ? 1 : 0) | (ghost.limited ? 2 : 0) | (ghost.authorized ? 4 : 0);
            require(account.flags == flags && account.dailyLimit == ghost.limit, "so are its switches");
            if (account.spentDay == ghost.lastLockDay) {
                require(account.spentToday == ghost.spent[ghost.lastLockDay], "the day's spending is counted");
            }
            _checkPayee(wallet);
        }
    }

    function checkReservesAreTheirOperators() external view {
        for (uint8 i = 1; i <= OPERATORS; ++i) {
            Operator memory operator = escrow.operatorOf(i);
            OperatorGhost storage ghost = operators[i];
            require(operator.reserve == ghost.reserve, "no reserve moves but by its rules");
            require(operator.held == ghost.held, "what is held are the bonds of open disputes");
            require(
                operator.leaving == ghost.leaving && operator.leavesAt == ghost.leavesAt,
                "what leaves was announced"
            );
        }
    }

    function checkPayeesHaveWhatTheyEarned() external view {
        for (uint256 i = 0; i < WORKERS; ++i) _checkPayee(payoutAt(i));
        _checkPayee(address(treasuries[0]));
        _checkPayee(address(treasuries[1]));
    }

    function checkStakesAreHeld() external view {
        uint256 sum = stakes[0] + stakes[1] + stakes[2];
        require(svc.balanceOf(address(registry)) == sum * 1e12, "stake held covers bonded and unbonding");
        require(svc.balanceOf(STAKE_RECEIVER) == stakeWithdrawn * 1e12, "a stake leaves once");
        for (uint256 i = 0; i < 2; ++i) {
            uint256 slashed = svc.balanceOf(address(treasuries[i]));
            require(slashed == slashIncome[address(treasuries[i])] * 1e12, "slashes are the treasury's");
        }
    }

    function checkFeeIsCapped() external view {
        require(escrow.feeBps() <= 2_000 && escrow.feeBps() == _feeNow(), "the fee is the announced one, at most 20 %");
        require(escrow.operatorShare() <= 10 && escrow.operatorShare() == _shareNow(), "operators have half at most");
    }

    function checkTouchedJob() external view {
        if (touched == 0) return;
        _checkJob(touched);
        _checkDay(ghosts[touched].lockedAt / 1 days);
    }

    function checkAllJobs() public view {
        for (uint32 i = 0; i < WORKERS; ++i) {
            uint256 stake = registry.workerAt(i + 1).stake;
            require(stake == stakes[i], "a slash takes its amount or what is left, once a job");
        }
        for (uint256 i = 0; i < jobs.length; ++i) _checkJob(jobs[i]);
        for (uint256 i = 0; i < days_.length; ++i) _checkDay(days_[i]);
    }

    function _checkDay(uint256 day) private view {
        for (uint8 i = 1; i <= OPERATORS; ++i) {
            uint256 earned = escrow.earningsOf(i, uint16(day));
            require(earned == operators[i].earned[day], "an operator earns by jobs whose charge stands");
        }
    }

    function _checkPayee(address payee) private view {
        require(token.balanceOf(payee) == held[payee], "a payee was paid what it earned");
        require(escrow.claimableOf(payee) == waiting[payee], "and can claim what the token refused");
    }

    function _checkJob(bytes16 jobId) private view {
        JobGhost storage ghost = ghosts[jobId];
        Job memory job = escrow.jobOf(jobId);
        require(job.status == ghost.status, "a job is where its calls brought it");
        require(
            job.creditsPerRequest == ghost.flat && job.creditsPer1kTokens == ghost.per1k && job.feeBps == ghost.fee,
            "governance never changes an open job's terms"
        );
        require(job.feeBps <= 2_000, "no job pays more than the highest fee");
        require(job.operatorShare == ghost.share, "nor its operator's share of the fee");
        _checkEscrow(ghost, job);
        _checkDraw(ghost);
        (uint256 granted, uint256 paid, bool toWorker) = escrow.compensationOf(jobId);
        require(granted == ghost.granted && paid == ghost.paid, "what the treasury owes and paid is known");
        require(granted == 0 || toWorker == ghost.toWorker, "and whom");
        (uint32 worker, ) = registry.slashOf(jobId);
        require(worker == (ghost.slashes == 0 ? 0 : ghost.worker), "its worker is slashed for a job");
        require(ghost.slashes <= 1, "once");
        Dispute memory dispute = escrow.disputeOf(jobId);
        require((dispute.openedAt != 0) == (ghost.dispute.count != 0), "a dispute is one that was opened");
        require(
            ghost.dispute.count < 2 || (ghost.dispute.count == 2 && ghost.dispute.afterEquivocation),
            "a job is disputed once, and once more after an equivocation"
        );
    }

    /// @dev The escrow of a job leaves it once: for its payees, or back.
    function _checkEscrow(JobGhost storage ghost, Job memory job) private view {
        bool open =
            ghost.status == JobStatus.Locked ||
                ghost.status == JobStatus.Acknowledged ||
                ghost.status == JobStatus.Proven ||
                (ghost.status == JobStatus.Disputed && ghost.dispute.fromProven);
        if (open) {
            require(ghost.ends == 0 && job.credits == ghost.locked, "an open job has its whole escrow");
            return;
        }
        require(ghost.ends == 1, "a job is paid or returned exactly once");
        require(ghost.charged + ghost.returned == ghost.locked, "and adds up to its lock");
        bool returned = ghost.status == JobStatus.Failed || (ghost.status == JobStatus.Refunded && ghost.charged == 0);
        require(job.credits == (returned ? ghost.locked : ghost.charged), "never refunded and proven both");
    }

    /// @dev Client and worker may collude: the treasury pays back no more than the job's own fee. It pays more, but never more than the
    ///      charge, if a quorum blamed the gateway, or blamed the worker and a full slash was taken.
    function _checkDraw(JobGhost storage ghost) private view {
        require(ghost.paid <= ghost.granted, "paid is what was granted");
        if (ghost.granted == 0) return;
        DisputeGhost storage dispute = ghost.dispute;
        uint256 credits = ghost.toWorker ? ghost.proof : ghost.charged;
        require(ghost.granted <= credits * 10_000, "a job costs the treasury its charge at most");
        bool covered =
            uint8(dispute.ruling) == 2 || (uint8(dispute.ruling) == 1 && ghost.slashes == 1 && ghost.fullSlash);
        require(covered || ghost.granted <= credits * ghost.fee, "collusion takes no more than the job's fee");
    }
}

/// @notice Everything that can happen, and how it ends when nobody does anything any more.
contract Life is Checks {
    address private immutable TEST = msg.sender;

    /// @notice Everyone falls silent, under a pause: a stranger ends every job and every dispute; every wallet, every payee and every
    ///         operator leaves with all it has.
    /// @dev Once, by the test and not by the runner.
    function silence() external {
        if (msg.sender != TEST) return;
        escrow.setPaused(true);
        for (uint256 i = 0; i < jobs.length; ++i) _endBySilence(jobs[i]);
        checkAllJobs();
        for (uint256 i = 0; i < WALLETS; ++i) _leave(walletAt(i));
        for (uint256 i = 0; i < WORKERS + 3; ++i) _claimAll(_payeeAt(i));
        for (uint8 i = 1; i <= OPERATORS; ++i) _close(i);
        VM.warp(block.timestamp + 1 days + LONGEST_RISK);
        for (uint256 i = 0; i < days_.length; ++i) _payDay(days_[i]);
        (uint256 credits, uint256 units) = escrow.liabilities();
        require(credits == 0 && units == 0, "everyone left with everything");
        require(token.balanceOf(address(escrow)) == donated, "and no more");
    }

    function _endBySilence(bytes16 jobId) private {
        JobGhost storage job = ghosts[jobId];
        uint256 last =
            job.status == JobStatus.Locked || job.status == JobStatus.Acknowledged
                ? job.lockedAt + COMPLETION + INCLUSION
                : job.due;
        if (block.timestamp < last) VM.warp(last);
        if (job.status == JobStatus.Locked || job.status == JobStatus.Acknowledged) _refund(jobId, STRANGER);
        else if (job.status == JobStatus.Proven) _finalize(jobId);
        else if (job.status == JobStatus.Disputed) _expire(jobId);
    }

    function _leave(address wallet) private {
        Account memory account = escrow.accountOf(wallet);
        require(account.escrowed == 0, "silence leaves nothing in escrow");
        if (account.free != 0) {
            VM.prank(wallet);
            escrow.withdraw(account.free, address(0xdead));
        }
        _claimAll(wallet);
    }

    function _close(uint8 operator) private {
        Operator memory open = escrow.operatorOf(operator);
        require(open.held == 0, "silence leaves no bond held");
        if (open.reserve == 0) return;
        escrow.announceReserveWithdrawal(operator, open.reserve);
        VM.warp(block.timestamp + LONGEST_RISK);
        escrow.withdrawReserve(operator, address(0xdead));
    }

    function _payDay(uint256 day) private {
        for (uint8 i = 1; i <= OPERATORS; ++i) {
            if (operators[i].earned[day] == 0) continue;
            escrow.withdrawEarnings(i, uint16(day), uint16(day), address(0xdead));
        }
    }

    function _claimAll(address payee) private {
        if (escrow.claimableOf(payee) == 0) return;
        token.setBehaviour(payee, Behaviour.Standard);
        escrow.claim(payee);
    }
}

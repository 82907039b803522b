// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Completion, JobStatus, Ruling} from "../../../../contracts/Types.sol";
import {IProtocolTreasury} from "../../../../contracts/interfaces/IProtocolTreasury.sol";
import {Behaviour} from "../../tokens/HostileStablecoin.sol";
import {Protocol} from "../Protocol.sol";
import {VM, within} from "../Vm.sol";

/// @notice A second bookkeeping ("ghost"), kept from the calls alone and never read from the contracts.
abstract contract Ghost is Protocol {
    /// @dev What a wallet must have, by its own calls, its limits and its jobs.
    struct Wallet {
        uint256 free;
        uint256 escrowed;
        uint256 openDisputes;
        uint256 openByKey;
        uint256 disputeKey; // 0 for none
        uint256 mostOpen;
        uint256 keySequence;
        uint256 operator; // chosen; 0 for none
        bool authorized; // its locks need a signature of AUTHORIZATION_KEY
        bool limited;
        bool frozen;
        uint256 limit;
        uint256 lastLockDay;
        mapping(uint256 day => uint256 credits) spent;
    }

    struct OperatorGhost {
        bool stopped;
        uint256 reserve;
        uint256 held;
        uint256 leaving;
        uint256 leavesAt; // 0: nothing announced
        mapping(uint256 day => uint256 units) earned; // by jobs locked on that day, and not withdrawn
        uint256 earnedInAll;
    }

    /// @dev Where the operator's part of a job's fee is.
    enum Part {
        Nowhere, // not settled, or gone to the treasury
        Earned,
        Held // by a dispute
    }

    /// @dev Terms, as announced.
    struct Price {
        uint256 flat;
        uint256 per1k;
        uint256 nextFlat;
        uint256 nextPer1k;
        uint256 changeAt; // 0: never
        uint256 retiresAt; // 0: never
    }

    /// @dev The life of a job.
    struct JobGhost {
        JobStatus status;
        address wallet;
        uint256 operator;
        uint256 model;
        uint256 flat; // terms of the lock
        uint256 per1k;
        uint256 fee;
        uint256 share; // of the fee, twentieths
        Part part;
        uint256 locked;
        uint256 lockedAt;
        uint256 due; // end of the window the state has, absolute
        uint256 charged; // left escrow for payees
        uint256 returned; // left escrow for the wallet
        uint256 ends; // how often the escrow was given out
        uint256 worker; // index + 1 of who is assigned
        uint256 attempt;
        Completion completion;
        bool proven; // ever: `completion` stands on record
        uint256 proof; // what finalization charges
        DisputeGhost dispute;
        uint256 slashes;
        bool fullSlash;
        uint256 granted; // units the treasury was charged for the job
        uint256 paid;
        bool toWorker;
    }

    /// @dev The last one of a job.
    struct DisputeGhost {
        uint256 count; // how many the job had
        bool byOperator;
        bool byKey;
        bool joined;
        bool conceded; // with the hash that the worker signed
        bool afterEquivocation;
        bool fromProven;
        uint256 bond;
        uint256 ruleFrom;
        uint256 arbiterSet;
        Ruling ruling;
    }

    uint256 internal constant WALLETS = 3;
    uint256 internal constant WORKERS = 3;
    uint256 internal constant FIRST_WORKER_KEY = 0xB0B0;
    uint256 internal constant AUTHORIZATION_KEY = 0xA07;
    /// @dev The first of three that wallets name, several of them the same one at times.
    uint256 internal constant FIRST_DISPUTE_KEY = 0xD15;
    address internal constant STRANGER = address(0x57);

    mapping(address wallet => Wallet) internal wallets;
    mapping(uint256 operator => OperatorGhost) internal operators;
    mapping(bytes16 jobId => JobGhost) internal ghosts;
    mapping(uint256 model => Price) internal prices;
    /// @dev Stablecoin units a payee must hold, and what waits for it in the escrow.
    mapping(address payee => uint256 units) internal held;
    mapping(address payee => uint256 units) internal waiting;
    mapping(address payee => Behaviour) internal behaviours;
    uint256[WORKERS] internal stakes;
    uint256[WORKERS] internal unbondsAt;
    mapping(address treasury => uint256 units) internal slashIncome;
    /// @dev Minimum stake and slash amount, now and as announced.
    uint256[2] internal stakeTerms;
    uint256[2] internal nextStakeTerms;
    uint256 internal stakeTermsChangeAt;
    uint256 internal fee = 1_000;
    uint256 internal nextFee;
    /// @dev The operators' share of the fee, twentieths.
    uint256 internal share;
    uint256 internal nextShare;
    uint256 internal feeChangesAt;
    uint256 internal arbiterSet = 1;
    /// @dev By the guardian, and by governance.
    bool[2] internal paused;
    /// @dev Of compensations: credits a UTC day, and the units of each day, in all (operator 0) and of each operator's jobs.
    uint256 internal cap = 400;
    mapping(uint256 day => mapping(uint256 operator => uint256 units)) internal compensated;
    uint256 internal donated;
    /// @dev Operators' parts of fees that open disputes hold.
    uint256 internal partsHeld;
    /// @dev UTC days on which jobs were locked.
    uint256[] internal days_;
    bytes16[] internal jobs;
    /// @dev The job the last action was about; zero if none.
    bytes16 internal touched;
    IProtocolTreasury[2] internal treasuries;

    /// @notice How often each kind of action really happened.
    mapping(string action => uint256 times) public done;

    /// @dev Whether the token moves units to this payee, today.
    function _moves(address payee) internal view returns (bool) {
        Behaviour behaviour = behaviours[payee];
        return behaviour == Behaviour.Standard || behaviour == Behaviour.ReturnNothing;
    }

    function _paid(address payee, uint256 units) internal {
        if (_moves(payee)) held[payee] += units;
        else waiting[payee] += units;
    }

    function _feeNow() internal view returns (uint256) {
        return feeChangesAt != 0 && block.timestamp >= feeChangesAt ? nextFee : fee;
    }

    function _shareNow() internal view returns (uint256) {
        return feeChangesAt != 0 && block.timestamp >= feeChangesAt ? nextShare : share;
    }

    /// @dev Rounded down.
    function _partOf(JobGhost storage job) internal view returns (uint256) {
        return (job.charged * job.fee * job.share) / 20;
    }

    /// @dev The part of a job goes from where it is to there; to the treasury if it is nowhere any more.
    function _movePart(JobGhost storage job, Part to) internal {
        uint256 part = _partOf(job);
        OperatorGhost storage operator = operators[job.operator];
        if (job.part == Part.Earned) {
            operator.earned[job.lockedAt / 1 days] -= part;
            operator.earnedInAll -= part;
        } else if (job.part == Part.Held) {
            partsHeld -= part;
        }
        if (to == Part.Earned) {
            operator.earned[job.lockedAt / 1 days] += part;
            operator.earnedInAll += part;
        } else if (to == Part.Held) {
            partsHeld += part;
        } else {
            _paid(address(treasury), part);
        }
        if (part != 0)
            done[
                to == Part.Earned
                    ? "part earned"
                    : to == Part.Held
                        ? "part held"
                        : "part forfeited"
            ] += 1;
        job.part = to;
    }

    function _priceNow(uint256 model) internal view returns (uint256 flat, uint256 per1k) {
        Price storage price = prices[model];
        if (price.changeAt != 0 && block.timestamp >= price.changeAt) return (price.nextFlat, price.nextPer1k);
        return (price.flat, price.per1k);
    }

    function _stakeTermsNow() internal view returns (uint256 minimum, uint256 slash) {
        uint256[2] storage terms = block.timestamp >= stakeTermsChangeAt ? nextStakeTerms : stakeTerms;
        return (terms[0], terms[1]);
    }

    /// @dev Flat up to 500 tokens, then each begun credit of the rate, never below flat.
    function _cost(uint256 tokens, uint256 flat, uint256 per1k) internal pure returns (uint256) {
        uint256 whole = (tokens * per1k) / 1_000;
        if (whole * 1_000 < tokens * per1k) ++whole;
        return tokens <= 500 || whole < flat ? flat : whole;
    }

    /// @dev All of the job's escrow goes back to its wallet.
    function _returnAll(JobGhost storage job) internal {
        Wallet storage wallet = wallets[job.wallet];
        wallet.escrowed -= job.locked;
        wallet.free += job.locked;
        wallet.spent[job.lockedAt / 1 days] -= job.locked;
        job.returned += job.locked;
        job.ends += 1;
    }

    /// @dev The job's escrow pays worker and treasury; the difference goes back.
    function _charge(JobGhost storage job, uint256 credits) internal {
        Wallet storage wallet = wallets[job.wallet];
        wallet.escrowed -= job.locked;
        wallet.free += job.locked - credits;
        wallet.spent[job.lockedAt / 1 days] -= job.locked - credits;
        job.charged += credits;
        job.returned += job.locked - credits;
        job.ends += 1;
        _paid(payoutAt(job.worker - 1), credits * (10_000 - job.fee));
        _paid(address(treasury), credits * job.fee - _partOf(job));
        _movePart(job, Part.Earned);
        job.status = JobStatus.Settled;
    }

    /// @dev What the treasury can still be charged today for jobs of an operator.
    function _allowance(uint256 operator) internal view returns (uint256) {
        uint256 day = block.timestamp / 1 days;
        uint256 all = _above(cap * 10_000, compensated[day][0]);
        uint256 its = _above(cap * 2_500, compensated[day][operator]);
        return all < its ? all : its;
    }

    /// @dev The treasury's charge for the job rises to `total`, and it pays what it owes, as far as cap, balance and token allow.
    function _grant(JobGhost storage job, uint256 total, bool toWorker) internal {
        if (total <= job.granted) return;
        (job.granted, job.toWorker) = (total, toWorker);
        _payOwed(job);
    }

    function _payOwed(JobGhost storage job) internal {
        address from = address(treasury);
        uint256 owed = job.granted - job.paid;
        bool capped = _isCapped(job);
        uint256 units = capped ? _least(owed, _allowance(job.operator)) : owed;
        if (units < owed) done["compensation capped"] += 1;
        units = _moves(address(escrow)) ? _least(units, held[from]) : 0;
        held[from] -= units;
        job.paid += units;
        if (capped) {
            compensated[block.timestamp / 1 days][0] += units;
            compensated[block.timestamp / 1 days][job.operator] += units;
        } else {
            done["fee given back"] += 1;
        }
        if (job.toWorker) {
            _paid(payoutAt(job.worker - 1), units);
            return;
        }
        wallets[job.wallet].free += units / 10_000;
        waiting[job.wallet] += units % 10_000;
    }

    /// @dev Whether the day's cap is for the job's debt: not for the fee that the job brought.
    function _isCapped(JobGhost storage job) internal view returns (bool) {
        return job.toWorker || job.granted > job.charged * job.fee;
    }

    /// @dev A job is slashed for once; whether that one took the full amount.
    function _slash(JobGhost storage job) internal returns (bool) {
        if (job.slashes != 0) return job.fullSlash;
        uint256 left = stakes[job.worker - 1];
        // The amount in force when the job was locked.
        bool before = job.lockedAt < stakeTermsChangeAt;
        uint256 slash = before ? stakeTerms[1] : nextStakeTerms[1];
        job.fullSlash = left >= slash;
        uint256 amount = job.fullSlash ? slash : left;
        stakes[job.worker - 1] -= amount;
        slashIncome[address(treasury)] += amount;
        job.slashes += 1;
        return job.fullSlash;
    }

    function walletAt(uint256 i) internal pure returns (address) {
        return address(uint160(0x1000 + (i % WALLETS)));
    }

    function payoutAt(uint256 i) internal pure returns (address) {
        return address(uint160(0x2000 + (i % WORKERS)));
    }

    function _signerAt(uint256 i) internal pure returns (address) {
        return VM.addr(FIRST_WORKER_KEY + i);
    }

    /// @dev One of the last jobs in one of the wanted states (bits), from a random one of them backwards; zero if there is none.
    function _jobIn(uint256 which, uint256 wanted) internal view returns (bytes16) {
        uint256 count = jobs.length;
        for (uint256 back = which % 4; back < 12 && back < count; ++back) {
            bytes16 jobId = jobs[count - 1 - back];
            if ((wanted >> uint8(ghosts[jobId].status)) & 1 == 1) return jobId;
        }
        return 0;
    }

    function _least(uint256 a, uint256 b) internal pure returns (uint256) {
        return a < b ? a : b;
    }

    /// @dev How much `a` is above `b`; zero if it is not.
    function _above(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a - b : 0;
    }
}

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

    /// @notice One of three keys, another one or none; the wallet's number of events says which naming counts.
    function setDisputeKey(uint256 who, uint256 which, uint256 mostOpen) public {
        address wallet = walletAt(who);
        Wallet storage ghost = wallets[wallet];
        ghost.disputeKey = which % 4 == 3 ? 0 : FIRST_DISPUTE_KEY + (which % 4);
        ghost.mostOpen = ghost.disputeKey == 0 ? 0 : mostOpen % 4;
        VM.prank(wallet);
        escrow.setDisputeKey(ghost.disputeKey == 0 ? address(0) : VM.addr(ghost.disputeKey), uint8(mostOpen % 4));
        ghost.keySequence = escrow.accountOf(wallet).sequence;
        done["dispute key"] += 1;
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

    /// @notice Of some days up to one on which jobs were locked, vested or not; a stranger never can.
    function withdrawEarnings(uint256 operator, uint256 which, uint256 before) external {
        if (days_.length == 0) return;
        operator = 1 + (operator % OPERATORS);
        OperatorGhost storage ghost = operators[operator];
        uint256 last = days_[which % 4 == 0 ? days_.length - 1 : which % days_.length];
        uint256 first = last - (before % 8);
        uint256 units = 0;
        for (uint256 day = first; day <= last; ++day) units += ghost.earned[day];
        bool vested = block.timestamp >= (last + 1) * 1 days + LONGEST_RISK;
        bytes memory call = abi.encodeCall(
            escrow.withdrawEarnings,
            (uint8(operator), uint16(first), uint16(last), address(0xdead))
        );
        VM.prank(STRANGER);
        (bool ok, ) = address(escrow).call(call);
        require(!ok, "earnings that a stranger withdrew");
        uint256 had = token.balanceOf(address(0xdead));
        (ok, ) = address(escrow).call(call);
        require(ok == (vested && units != 0), "earnings left too early or from nothing, or could not leave");
        if (!ok) {
            done["earnings refused"] += 1;
            return;
        }
        require(token.balanceOf(address(0xdead)) - had == units, "other earnings than those of the days");
        for (uint256 day = first; day <= last; ++day) ghost.earned[day] = 0;
        ghost.earnedInAll -= units;
        done["earnings withdrawn"] += 1;
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

/// @notice Stakes of workers: added, unbonding, withdrawn.
abstract contract StakeHandler is LedgerHandler {
    address internal constant STAKE_RECEIVER = address(0x57A4E);
    uint256 internal stakeWithdrawn;

    /// @notice Back to work: cancels an unbonding, and fills the stake up.
    function restake(uint256 who, uint256 more) public {
        who %= WORKERS;
        address signer = _signerAt(who);
        if (unbondsAt[who] != 0) {
            registry.cancelUnbonding(signer);
            unbondsAt[who] = 0;
            done["cancelUnbonding"] += 1;
        }
        uint256 stake = within(more, 1, STAKE);
        (uint256 minimum, ) = _stakeTermsNow();
        if (stakes[who] + stake < minimum) stake = minimum - stakes[who];
        registry.addStake(signer, uint56(stake));
        stakes[who] += stake;
        done["addStake"] += 1;
    }

    function startUnbonding(uint256 who) external {
        who %= WORKERS;
        if (unbondsAt[who] != 0 || stakes[who] == 0) return;
        registry.startUnbonding(_signerAt(who));
        unbondsAt[who] = block.timestamp + UNBONDING;
        done["startUnbonding"] += 1;
    }

    /// @notice In the first second in which it can, and not one before.
    function withdrawStake(uint256 who) external {
        who %= WORKERS;
        if (unbondsAt[who] == 0) return;
        if (block.timestamp < unbondsAt[who]) {
            VM.warp(unbondsAt[who] - 1);
            try registry.withdrawStake(_signerAt(who), STAKE_RECEIVER) {
                revert("a stake left a second too early");
            } catch {
                VM.warp(unbondsAt[who]);
            }
        }
        registry.withdrawStake(_signerAt(who), STAKE_RECEIVER);
        _nothingIsPunishable(who + 1);
        stakeWithdrawn += stakes[who];
        (stakes[who], unbondsAt[who]) = (0, 0);
        done["withdrawStake"] += 1;
    }

    function _eligible(uint256 who) internal view returns (bool) {
        (uint256 minimum, ) = _stakeTermsNow();
        return unbondsAt[who] == 0 && stakes[who] >= minimum;
    }

    /// @dev No job of the worker is disputed, disputable, or within the reach of an equivocation proof.
    function _nothingIsPunishable(uint256 worker) private view {
        for (uint256 i = 0; i < jobs.length; ++i) {
            JobGhost storage job = ghosts[jobs[i]];
            if (job.worker != worker || job.slashes != 0) continue;
            bool disputable =
                (job.status == JobStatus.Settled || job.status == JobStatus.Proven) && job.dispute.count == 0;
            // A dispute that nobody ruled in time can only expire, which slashes nobody.
            require(
                !(disputable || job.status == JobStatus.Disputed) || block.timestamp >= job.due,
                "a stake left while a job of its worker was disputable"
            );
            require(
                block.timestamp >= job.lockedAt + EQUIVOCATION,
                "a stake left while an equivocation was punishable"
            );
        }
    }
}

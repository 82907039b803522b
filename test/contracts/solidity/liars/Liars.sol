// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, Job, JobStatus, Operator} from "../../../../contracts/Types.sol";
import {Log, VM, within} from "../Vm.sol";
import {Gang} from "./Gang.sol";

/// @notice The gang acts; what the others lose, what the treasury pays and where the jobs go is looked at after each act.
contract Liars is Gang {
    /// @dev A job as it was last seen.
    struct Seen {
        JobStatus status;
        uint32 account;
        uint32 credits;
        uint8 operator;
        uint40 lockedAt;
    }

    bytes32 private constant PAID = keccak256("CompensationPaid(bytes16,uint32,uint256)");

    uint256 private immutable START;
    mapping(bytes16 jobId => Seen) private _seen;
    /// @dev Units that the treasury paid on a day: in all (operator 0), and for the jobs of each operator.
    mapping(uint256 day => mapping(uint256 operator => uint256 units)) private _compensated;
    /// @dev Of jobs that CAREFUL signed for and that were locked.
    uint256 private _signed;

    /// @notice How often each function succeeded in a call of its own.
    mapping(bytes4 selector => uint256 times) public done;
    /// @notice How often a job was seen to go from one state to another one.
    mapping(JobStatus from => mapping(JobStatus to => uint256 times)) public moved;
    /// @notice Jobs that were locked of a wallet.
    mapping(address wallet => uint256 times) public jobsOf;

    constructor() {
        START = block.timestamp;
    }

    function act(uint256 seed) external {
        (address sender, bytes memory call) = _plot(seed);
        VM.recordLogs();
        if (_send(sender, call, seed % 16 == 0)) done[bytes4(call)] += 1;
        _look(false);
    }

    function scheme(uint256 seed) external {
        (address sender, bytes memory call) = _scheme(seed);
        VM.recordLogs();
        if (_send(sender, call, false)) done[bytes4(call)] += 1;
        _look(true);
    }

    function vote(uint256 seed) external {
        VM.recordLogs();
        if (_vote(seed, (seed >> 24) % 3)) done[panel.vote.selector] += 1;
        _look(false);
    }

    /// @notice Two arbiters of one mind.
    function rule(uint256 seed) external {
        VM.recordLogs();
        _vote(seed, 0);
        _vote(seed, 1);
        _look(false);
    }

    function sign(uint256 seed) external {
        _sign(seed);
    }

    function restake(uint256 worker) external {
        _restake(worker);
    }

    /// @notice Seconds mostly; hours sometimes.
    function wait(uint256 time) external {
        uint256 most = time % 8 == 0 ? 8 hours : 60;
        VM.warp(block.timestamp + within(time / 8, 1, most));
    }

    // What holds, whoever lies.

    function checkWhoDidNotChooseTheOperatorLosesNothing() external view {
        _hasLost(ELSEWHERE, 0);
        _hasLost(UNDECIDED, 0);
        require(jobsOf[ELSEWHERE] == 0 && jobsOf[UNDECIDED] == 0, "nor did anybody lock for them");
    }

    /// @dev The stolen dispute key can lose it a bond for each of these jobs: as much again.
    function checkWhoSignsLosesAtMostWhatItSigned() external view {
        _hasLost(CAREFUL, 2 * _signed);
    }

    function checkAStolenDisputeKeyHasAtMostItsBoundOpen() external view {
        for (uint160 i = 0; i < 4; ++i) {
            address wallet = address(0x1000 + i);
            (, , , uint8 open) = escrow.disputeKeyOf(wallet);
            require(open <= MOST_OPEN && (open == 0 || jobsOf[wallet] != 0), "more disputes than its wallet allowed");
        }
    }

    /// @dev And its bonds, as above.
    function checkWhoSetADailyLimitLosesAtMostThatADay() external view {
        _hasLost(LIMITED, 2 * DAILY_LIMIT * (block.timestamp / 1 days - START / 1 days + 1));
    }

    function checkTheTreasuryPaysAtMostItsCapADay() external view {
        mapping(uint256 operator => uint256 units) storage today = _compensated[block.timestamp / 1 days];
        require(today[0] <= CAP * 10_000, "above the day's cap");
        for (uint256 operator = 1; operator <= 3; ++operator) {
            require(today[operator] <= CAP * 2_500, "above the share of one operator");
        }
        require(escrow.treasury() == address(treasury) && escrow.compensationCap() == CAP, "nobody changed it");
    }

    function checkTokensHeldAreOwed() external view {
        (uint256 credits, uint256 units) = escrow.liabilities();
        require(token.balanceOf(address(escrow)) == credits * 10_000 + units, "tokens are what is owed");
        uint256 sum = 0;
        for (uint160 i = 0; i < 6; ++i) {
            Account memory account = escrow.accountOf(address(0x1000 + i));
            sum += uint256(account.free) + account.escrowed;
        }
        for (uint8 i = 1; i <= 3; ++i) {
            Operator memory operator = escrow.operatorOf(i);
            sum += uint256(operator.reserve) + operator.held;
        }
        require(sum == credits, "credits owed are those of accounts and operators");
    }

    /// @notice What operators withdrew and still have is their part of the fees that stand: of jobs that are settled, whose fee was not
    ///         given back. In a batch the gang may have done both.
    function checkOperatorsEarnWhatStands() external view {
        uint256[3] memory parts;
        for (uint256 i = 0; i < jobs.length; ++i) {
            Job memory job = escrow.jobOf(jobs[i]);
            (uint64 granted, , ) = escrow.compensationOf(jobs[i]);
            if (job.status != JobStatus.Settled || granted != 0 || job.operator > 2) continue;
            parts[job.operator] += (uint256(job.credits) * job.feeBps * job.operatorShare) / 20;
        }
        for (uint8 operator = 1; operator <= 2; ++operator) {
            uint256 earned = token.balanceOf(earner(operator));
            for (uint256 day = START / 1 days; day <= block.timestamp / 1 days; ++day) {
                earned += escrow.earningsOf(operator, uint16(day));
            }
            require(earned == parts[operator], "an operator earned by a fee that does not stand");
        }
    }

    /// @dev Credits; and no tokens at all, although the wallet approved all it has.
    function _hasLost(address wallet, uint256 atMost) private view {
        require(escrow.accountOf(wallet).free + atMost >= CREDITS, "a wallet lost more than it risked");
        require(token.balanceOf(wallet) >= 1_000 * 10_000, "a wallet paid tokens");
    }

    /// @dev What the last call did to the latest jobs, and had the treasury pay.
    function _look(bool batch) private {
        for (uint256 i = 0; i < RECENT && i < jobs.length; ++i) _lookAt(_back(jobs, i), batch);
        // The jobs that there may be now, by a plain lock or by one that was signed for before.
        for (; made.length != 0; made.pop()) _lookAt(made[made.length - 1], batch);
        for (uint256 i = 0; i < USABLE && i < signedIds.length; ++i) _lookAt(_back(signedIds, i), batch);
        Log[] memory logs = VM.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].topics[0] != PAID) continue;
            (, uint256 units) = abi.decode(logs[i].data, (uint32, uint256));
            bytes16 id = bytes16(logs[i].topics[1]);
            Job memory job = escrow.jobOf(id);
            (uint64 granted, , bool toWorker) = escrow.compensationOf(id);
            // What gives back no more than the fee of its own job takes nothing from the treasury.
            if (!toWorker && granted <= uint256(job.credits) * job.feeBps) continue;
            uint8 operator = job.operator;
            _compensated[block.timestamp / 1 days][0] += units;
            _compensated[block.timestamp / 1 days][operator] += units;
        }
    }

    function _lookAt(bytes16 id, bool batch) private {
        Job memory job = escrow.jobOf(id);
        Seen storage seen = _seen[id];
        JobStatus from = seen.status;
        if (from == job.status && (from == JobStatus.None || seen.credits == job.credits)) return;
        require(_reaches(from, job.status, batch), "a way that no job goes");
        moved[from][job.status] += 1;
        if (from == JobStatus.None) {
            address wallet = escrow.walletOf(job.account);
            jobs.push(id);
            jobsOf[wallet] += 1;
            if (wallet == CAREFUL) {
                require(signedFor[id] != 0 && job.credits <= signedFor[id], "locked more than it signed for");
                _signed += signedFor[id];
            }
            _seen[id] = Seen(job.status, job.account, job.credits, job.operator, job.lockedAt);
            return;
        }
        require(
            job.account == seen.account && job.operator == seen.operator,
            "a job is its wallet's and its operator's"
        );
        require(job.lockedAt == seen.lockedAt && job.credits <= seen.credits, "and never costs more than its lock");
        bool charged = from != JobStatus.Settled && (job.status == JobStatus.Settled || batch);
        require(charged || job.credits == seen.credits, "its credits change when it is charged, once");
        (seen.status, seen.credits) = (job.status, job.credits);
    }

    /// @dev The table of the escrow: in one step, or in the steps of one batch.
    function _reaches(JobStatus from, JobStatus to, bool batch) private pure returns (bool) {
        uint256 reached = _next(1 << uint8(from));
        for (uint256 i = 0; batch && i < 8; ++i) reached = _next(reached);
        return (reached >> uint8(to)) & 1 == 1;
    }

    /// @dev The states that those of a set lead to, and the set itself.
    function _next(uint256 set) private pure returns (uint256 next) {
        next = set;
        if (_has(set, JobStatus.None)) next |= _set(JobStatus.Locked);
        if (_has(set, JobStatus.Locked)) next |= _set(JobStatus.Acknowledged) | _ends();
        if (_has(set, JobStatus.Acknowledged)) next |= _set(JobStatus.Proven) | _ends();
        if (_has(set, JobStatus.Proven)) {
            next |= _set(JobStatus.Settled) | _set(JobStatus.Disputed) | _set(JobStatus.Refunded);
        }
        if (_has(set, JobStatus.Settled)) next |= _set(JobStatus.Disputed);
        if (_has(set, JobStatus.Disputed)) {
            next |= _set(JobStatus.Settled) | _set(JobStatus.Proven) | _set(JobStatus.Refunded);
        }
    }

    function _ends() private pure returns (uint256) {
        return _set(JobStatus.Settled) | _set(JobStatus.Failed) | _set(JobStatus.Refunded);
    }

    function _set(JobStatus status) private pure returns (uint256) {
        return 1 << uint8(status);
    }

    function _has(uint256 set, JobStatus status) private pure returns (bool) {
        return (set >> uint8(status)) & 1 == 1;
    }
}

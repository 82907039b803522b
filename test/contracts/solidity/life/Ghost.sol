// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IProtocolTreasury} from "../../../../contracts/interfaces/IProtocolTreasury.sol";
import {Completion, JobStatus, Ruling} from "../../../../contracts/libraries/JobTypes.sol";
import {Behaviour} from "../../../../contracts/testing/HostileStablecoin.sol";
import {Protocol} from "../Protocol.sol";
import {VM} from "../Vm.sol";

/// @notice A second bookkeeping ("ghost"), kept from the calls alone and never read from the contracts.
abstract contract Ghost is Protocol {
    /// @dev What a wallet must have, by its own calls, its limits and its jobs.
    struct Wallet {
        uint256 free;
        uint256 escrowed;
        uint256 openDisputes;
        bool limited;
        bool frozen;
        uint256 limit;
        uint256 lastLockDay;
        mapping(uint256 day => uint256 credits) spent;
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
        uint256 model;
        uint256 flat; // terms of the lock
        uint256 per1k;
        uint256 fee;
        uint256 locked;
        uint256 lockedAt;
        uint256 due; // end of the window the state has, absolute
        uint256 charged; // left escrow for payees
        uint256 returned; // left escrow for the wallet
        uint256 ends; // how often the escrow was given out
        uint256 worker; // index + 1 of who is assigned
        uint256 attempt;
        Completion completion;
        bool disputed; // ever
        bool byGateway;
        uint256 bond;
        bool fromProven;
        Ruling ruling;
        bool expired;
        uint256 arbiterSet;
        uint256 proof; // what finalization charges
        uint256 slashes;
        bool fullSlash;
        uint256 drawn; // units the treasury paid for the job
        uint256 debt;
        bool debtToWorker;
    }

    uint256 internal constant WALLETS = 3;
    uint256 internal constant WORKERS = 3;
    uint256 internal constant FIRST_WORKER_KEY = 0xB0B0;
    address internal constant STRANGER = address(0x57);

    mapping(address wallet => Wallet) internal wallets;
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
    uint256[2] internal stakeTerms = [uint256(STAKE), STAKE / 2];
    uint256[2] internal nextStakeTerms;
    uint256 internal stakeTermsChangeAt;
    uint256 internal fee = 1_000;
    uint256 internal nextFee;
    uint256 internal feeChangesAt;
    uint256 internal arbiterSet = 1;
    bool internal paused;
    bool internal mayLock = true;
    uint256 internal donated;
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

    function _priceNow(uint256 model) internal view returns (uint256 flat, uint256 per1k) {
        Price storage price = prices[model];
        if (price.changeAt != 0 && block.timestamp >= price.changeAt) return (price.nextFlat, price.nextPer1k);
        return (price.flat, price.per1k);
    }

    function _stakeTermsNow() internal view returns (uint256 minimum, uint256 slash) {
        bool changed = stakeTermsChangeAt != 0 && block.timestamp >= stakeTermsChangeAt;
        uint256[2] storage terms = changed ? nextStakeTerms : stakeTerms;
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
        _paid(address(treasury), credits * job.fee);
        job.status = JobStatus.Settled;
    }

    /// @dev What the treasury has of `units` moves, if the token lets it; the rest is a debt.
    function _compensate(JobGhost storage job, uint256 units, bool toWorker) internal {
        if (units == 0) return;
        address from = address(treasury);
        uint256 paid = _moves(address(escrow)) ? (units < held[from] ? units : held[from]) : 0;
        held[from] -= paid;
        job.drawn += paid;
        (job.debt, job.debtToWorker) = (units - paid, toWorker);
        if (toWorker) {
            if (paid != 0) _paid(payoutAt(job.worker - 1), paid);
            return;
        }
        wallets[job.wallet].free += paid / 10_000;
        waiting[job.wallet] += paid % 10_000;
    }

    /// @dev A job is slashed for once; whether that one took the full amount.
    function _slash(JobGhost storage job) internal returns (bool) {
        if (job.slashes != 0) return job.fullSlash;
        uint256 left = stakes[job.worker - 1];
        (, uint256 slash) = _stakeTermsNow();
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
}

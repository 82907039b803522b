// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {BoundedCall} from "./BoundedCall.sol";
import {IArbitrationPanel} from "./interfaces/IArbitrationPanel.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {IWorkerRegistry} from "./interfaces/IWorkerRegistry.sol";
import {Dispute, DisputeKey, Operator, Signer, Windows} from "./Types.sol";
import {AccountSlot, AccountSlots, FeeTerms, JobSlot} from "./Words.sol";

/// @notice What each lock reads besides its wallet, in one slot.
struct Config {
    FeeTerms fee;
    FeeTerms nextFee; // in force from nextFeeAt when that is not 0
    uint40 nextFeeAt;
    bool pausedByGuardian;
    bool pausedByGovernance;
    uint160 stopped; // bit n - 1: operator n may lock no new job
}

/// @notice Payouts that the token refused, of one payee.
struct Claimable {
    uint128 units;
    uint32 sequence; // number of claims paid so far
}

/// @notice A job on the slow path; one slot.
struct Proof {
    bytes28 digest; // of the Completion's struct hash
    uint32 credits; // what finalization charges
}

/// @notice What the treasury pays for a job, token units. `granted - paid` waits as a debt.
struct Compensation {
    uint64 granted;
    uint64 paid;
    bool toWorker; // to the job's worker (as tokens) instead of its wallet (as credits)
}

/// @notice Token units the treasury paid on one UTC day.
struct DayTotal {
    uint32 day; // days since 1970-01-01
    uint64 units;
}

/// @notice What a deployment fixed for ever, as far as libraries need it: they have no immutables of their own. Written once.
struct Deployment {
    IERC20 token;
    IWorkerRegistry registry;
    IArbitrationPanel panel;
}

/// @notice Everything the escrow remembers. One struct, so that the libraries, which run on the escrow's storage by delegatecall,
///         see the same layout as the escrow by the compiler's word and not by convention.
struct EscrowState {
    Config config;
    address treasury;
    uint96 creditsOwed; // free and escrowed credits of all accounts, reserves and held bonds of all operators
    uint256 unitsOwed; // deferred payouts, earnings of operators, and their parts that disputes hold; token units
    mapping(address key => Signer) signers;
    mapping(uint8 id => Operator) operators;
    mapping(address wallet => AccountSlot) accounts;
    mapping(uint32 id => address wallet) wallets;
    mapping(address wallet => address key) authorizationKeys;
    mapping(address wallet => DisputeKey) disputeKeys;
    mapping(address payee => Claimable) claimables;
    mapping(bytes16 jobId => JobSlot) jobs;
    mapping(bytes16 jobId => Proof) proofs;
    mapping(bytes16 jobId => Dispute) disputes;
    mapping(bytes16 jobId => Compensation) compensations;
    mapping(uint8 operator => DayTotal) compensatedFor;
    mapping(uint8 operator => mapping(uint16 day => uint256 units)) earnings; // by the UTC day of the lock
    DayTotal compensated;
    address guardian;
    uint8 operatorCount;
    uint32 adminSequence;
    uint32 accountCount;
    uint40 compensationCap; // credits a UTC day
    uint40 longestRisk; // LONGEST_RISK of the escrow; written once
    Deployment deployment;
    Windows windows; // written once
}

/// @title Balances and payouts
/// @notice What the escrow and its libraries do to accounts and tokens.
library Ledger {
    using SafeCast for uint256;
    using SafeERC20 for IERC20;

    /// @notice Token units of one credit: 0.01 of a 6-decimal stablecoin.
    uint256 internal constant UNITS_PER_CREDIT = 10_000;

    /// @notice The account of a wallet that must have one.
    function accountOf(EscrowState storage state, address wallet) internal view returns (AccountSlot account) {
        account = state.accounts[wallet];
        if (account.id() == 0) revert IInferenceEscrow.Ledger_UnknownAccount(wallet);
    }

    /// @notice Whether `caller` signs for the operator today.
    function isSigner(EscrowState storage state, address caller, uint8 operator) internal view returns (bool) {
        Signer memory signer = state.signers[caller];
        return operator != 0 && signer.operator == operator && signer.removedAt == 0;
    }

    /// @notice Buys `credits` for `wallet` with its own tokens; opens its account if it has none.
    /// @dev Free and escrowed credits together stay within 40 bits, so a refund always fits.
    function purchase(
        EscrowState storage state,
        IERC20 token,
        address wallet,
        uint40 credits,
        uint8 operator
    ) internal {
        AccountSlot account = state.accounts[wallet];
        if (account.id() == 0) {
            uint32 id = ++state.accountCount;
            account = AccountSlots.opened(id);
            state.wallets[id] = wallet;
        }
        uint40 escrowed = account.escrowed();
        uint40 free = (uint256(account.free()) + escrowed + credits).toUint40() - escrowed;
        account = account.withBalance(free, escrowed).counted();
        if (operator != 0) account = account.withOperator(operator);
        state.accounts[wallet] = account;
        state.creditsOwed += credits;
        emit IInferenceEscrow.Deposited(
            account.id(),
            wallet,
            account.sequence(),
            credits,
            account.operator(),
            free,
            escrowed
        );

        pull(token, wallet, credits);
    }

    /// @notice Takes the tokens of `credits` from a payer; exactly they must arrive.
    function pull(IERC20 token, address payer, uint40 credits) internal {
        uint256 units = uint256(credits) * UNITS_PER_CREDIT;
        uint256 before = token.balanceOf(address(this));
        token.safeTransferFrom(payer, address(this), units);
        uint256 received = token.balanceOf(address(this)) - before;
        if (received != units) revert IInferenceEscrow.Ledger_InexactTransfer(received, units);
    }

    /// @notice The account after a job's `locked` credits left escrow and `back` of them became free. What comes back gives the
    ///         daily limit back on the day of the lock only.
    function returned(
        AccountSlot account,
        uint32 locked,
        uint32 back,
        uint40 lockedAt
    ) internal pure returns (AccountSlot) {
        uint16 day = account.spentDay();
        if (day == dayOf(lockedAt)) {
            uint32 before = account.spentToday();
            account = account.withSpent(day, back < before ? before - back : 0);
        }
        return account.released(locked, back);
    }

    /// @notice Stores a job that has just ended and still holds its escrow, and gives all of it back.
    function returnAll(
        EscrowState storage state,
        bytes16 jobId,
        JobSlot job
    ) internal returns (address wallet, AccountSlot account) {
        state.jobs[jobId] = job;
        wallet = state.wallets[job.account()];
        account = returned(state.accounts[wallet], job.credits(), job.credits(), job.lockedAt());
        state.accounts[wallet] = account;
    }

    /// @notice Pays at once, or defers what the token refuses. Effects on the ledger must be complete before it is called.
    function pay(EscrowState storage state, IERC20 token, bytes16 jobId, address payee, uint256 units) internal {
        if (units == 0) return;
        if (BoundedCall.tryTransfer(token, payee, units)) return;
        defer(state, jobId, payee, units);
    }

    /// @notice Lets `units` wait for `payee`, who can have them by `claim`.
    function defer(EscrowState storage state, bytes16 jobId, address payee, uint256 units) internal {
        if (units == 0) return;
        state.claimables[payee].units += units.toUint128();
        state.unitsOwed += units;
        emit IInferenceEscrow.PayoutDeferred(jobId, payee, units);
    }

    /// @notice Credits an operator with its part of the fee of a job that has just settled.
    function earn(EscrowState storage state, JobSlot job) internal returns (uint256 units) {
        units = job.operatorUnits();
        state.earnings[job.operator()][dayOf(job.lockedAt())] += units;
        state.unitsOwed += units;
    }

    /// @notice Changes an operator's reserve and says so.
    function setReserve(
        EscrowState storage state,
        uint8 operator,
        bytes16 jobId,
        uint40 reserve,
        uint40 held
    ) internal {
        Operator storage o = state.operators[operator];
        (o.reserve, o.held) = (reserve, held);
        emit IInferenceEscrow.ReserveChanged(operator, jobId, ++o.sequence, reserve, held);
    }

    /// @notice Refuses a call in the state the job is in.
    function wrongState(bytes16 jobId, JobSlot job) internal pure {
        revert IInferenceEscrow.Job_WrongState(jobId, uint8(job.status()));
    }

    /// @notice Fee of a job locked now.
    function feeNow(Config storage config) internal view returns (FeeTerms) {
        return config.nextFeeAt != 0 && block.timestamp >= config.nextFeeAt ? config.nextFee : config.fee;
    }

    /// @notice UTC day of a time.
    function dayOf(uint256 time) internal pure returns (uint16) {
        return uint16(time / 1 days);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, Completion, Job, JobStatus} from "./Types.sol";

// The two words that every lock and settlement reads and writes whole, one of its event, the two that answer the escrow's
// questions to registry and catalog, and the terms of the fee.
//
//   AccountSlot   bit 255                                                                                       bit 0
//   ┌────────┬──────────┬──────────────┬───────┬──────────┬────────────┬────────────┬──────────┬──────────┬──────┬────┐
//   │ unused │ operator │ openDisputes │ flags │ spentDay │ spentToday │ dailyLimit │ sequence │ escrowed │ free │ id │
//   │   8    │    8     │      8       │   8   │    16    │     32     │     32     │    32    │    40    │  40  │ 32 │
//   └────────┴──────────┴──────────────┴───────┴──────────┴────────────┴────────────┴──────────┴──────────┴──────┴────┘
//
//   JobSlot       bit 255                                                                                       bit 0
//   ┌────────┬─────────┬──────────┬──────────┬──────────┬────────┬───────┬───────┬─────────┬─────────┬────────┬─────────┐
//   │ status │ attempt │ operator │ deadline │ lockedAt │  fee*  │ model │ per1k │ perReq. │ credits │ worker │ account │
//   │   8    │    8    │    8     │    32    │    40    │   16   │  16   │  16   │   16    │   32    │   32   │   32    │
//   └────────┴─────────┴──────────┴──────────┴──────────┴────────┴───────┴───────┴─────────┴─────────┴────────┴─────────┘
//
//   FeeTerms      operatorShare 4 │ feeBps 12      * what a job keeps of the fee
//   Usage         completedAt 40 │ billedTokens 32 │ textBytes 32 │ reasoningTokens 32 │ completionTokens 32 │ promptTokens 32
//   Payee         id 32 │ payout address 160         zero: no such worker, or it may not take the job
//   LockTerms     tier 8 │ per1k 16 │ perRequest 16  zero: the model is not active

/// @notice An `Account` as it is stored, and as `JobLocked` and `JobSettled` tell it.
type AccountSlot is uint256;
/// @notice A `Job` as it is stored, and as `JobLocked` tells it.
type JobSlot is uint256;
/// @notice The protocol's fee of a job, and the operator's share of that fee.
type FeeTerms is uint16;
/// @notice What an answer used, as `JobProven` and `JobSettled` tell it.
type Usage is uint256;
/// @notice A worker as the escrow pays it.
type Payee is uint256;
/// @notice Terms of a job locked now.
type LockTerms is uint256;

using AccountSlots for AccountSlot global;
using JobSlots for JobSlot global;
using FeeTermsFields for FeeTerms global;
using Payees for Payee global;
using LockTermsFields for LockTerms global;

/// @title Fields of a stored account
library AccountSlots {
    uint256 private constant FREE = 32;
    uint256 private constant ESCROWED = 72;
    uint256 private constant SEQUENCE = 112;
    uint256 private constant DAILY_LIMIT = 144;
    uint256 private constant SPENT_TODAY = 176;
    uint256 private constant SPENT_DAY = 208;
    uint256 private constant FLAGS = 224;
    uint256 private constant OPEN_DISPUTES = 232;
    uint256 private constant OPERATOR = 240;

    /// @notice Bits of `flags`.
    uint8 internal constant FROZEN = 1;
    uint8 internal constant LIMITED = 2;
    uint8 internal constant AUTHORIZED = 4;

    function id(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account));
    }

    function free(AccountSlot account) internal pure returns (uint40) {
        return uint40(AccountSlot.unwrap(account) >> FREE);
    }

    function escrowed(AccountSlot account) internal pure returns (uint40) {
        return uint40(AccountSlot.unwrap(account) >> ESCROWED);
    }

    function sequence(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account) >> SEQUENCE);
    }

    function dailyLimit(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account) >> DAILY_LIMIT);
    }

    function spentToday(AccountSlot account) internal pure returns (uint32) {
        return uint32(AccountSlot.unwrap(account) >> SPENT_TODAY);
    }

    function spentDay(AccountSlot account) internal pure returns (uint16) {
        return uint16(AccountSlot.unwrap(account) >> SPENT_DAY);
    }

    function flags(AccountSlot account) internal pure returns (uint8) {
        return uint8(AccountSlot.unwrap(account) >> FLAGS);
    }

    function openDisputes(AccountSlot account) internal pure returns (uint8) {
        return uint8(AccountSlot.unwrap(account) >> OPEN_DISPUTES);
    }

    function operator(AccountSlot account) internal pure returns (uint8) {
        return uint8(AccountSlot.unwrap(account) >> OPERATOR);
    }

    /// @notice A new account without credits.
    function opened(uint32 id_) internal pure returns (AccountSlot) {
        return AccountSlot.wrap(id_);
    }

    function withBalance(AccountSlot account, uint40 free_, uint40 escrowed_) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint80).max) << FREE);
        return AccountSlot.wrap(others | (uint256(free_) << FREE) | (uint256(escrowed_) << ESCROWED));
    }

    /// @notice The account after `locked` credits left escrow and `back` of them became free.
    function released(AccountSlot account, uint256 locked, uint256 back) internal pure returns (AccountSlot) {
        // An account never gives more than it has in escrow; were that ever wrong, nothing may happen.
        assert(locked <= account.escrowed() && back <= locked);
        // Free and escrowed credits together fit 40 bits (checked at each deposit): neither leaves its field.
        unchecked {
            return AccountSlot.wrap(AccountSlot.unwrap(account) + (back << FREE) - (locked << ESCROWED));
        }
    }

    function withSpent(AccountSlot account, uint16 day, uint32 spent) internal pure returns (AccountSlot) {
        uint256 others = AccountSlot.unwrap(account) & ~(uint256(type(uint48).max) << SPENT_TODAY);
        return AccountSlot.wrap(others | (uint256(spent) << SPENT_TODAY) | (uint256(day) << SPENT_DAY));
    }

    function withDailyLimit(AccountSlot account, uint32 dailyLimit_) internal pure returns (AccountSlot) {
        return _set(account, DAILY_LIMIT, type(uint32).max, dailyLimit_);
    }

    function withFlags(AccountSlot account, uint8 flags_) internal pure returns (AccountSlot) {
        return _set(account, FLAGS, type(uint8).max, flags_);
    }

    function withOpenDisputes(AccountSlot account, uint8 open) internal pure returns (AccountSlot) {
        return _set(account, OPEN_DISPUTES, type(uint8).max, open);
    }

    function withOperator(AccountSlot account, uint8 operator_) internal pure returns (AccountSlot) {
        return _set(account, OPERATOR, type(uint8).max, operator_);
    }

    /// @notice The account with its event counter one higher.
    function counted(AccountSlot account) internal pure returns (AccountSlot) {
        return _set(account, SEQUENCE, type(uint32).max, account.sequence() + 1);
    }

    /// @notice All fields, for readers off chain.
    function unpack(AccountSlot account) internal pure returns (Account memory) {
        return
            Account({
                id: account.id(),
                free: account.free(),
                escrowed: account.escrowed(),
                sequence: account.sequence(),
                dailyLimit: account.dailyLimit(),
                spentToday: account.spentToday(),
                spentDay: account.spentDay(),
                flags: account.flags(),
                openDisputes: account.openDisputes(),
                operator: account.operator()
            });
    }

    function _set(AccountSlot account, uint256 shift, uint256 mask, uint256 value) private pure returns (AccountSlot) {
        return AccountSlot.wrap((AccountSlot.unwrap(account) & ~(mask << shift)) | (value << shift));
    }
}

/// @title Fields of a stored job
library JobSlots {
    uint256 private constant WORKER = 32;
    uint256 private constant CREDITS = 64;
    uint256 private constant CREDITS_PER_REQUEST = 96;
    uint256 private constant CREDITS_PER_1K_TOKENS = 112;
    uint256 private constant MODEL = 128;
    uint256 private constant FEE_BPS = 144;
    uint256 private constant OPERATOR_SHARE = 156;
    uint256 private constant LOCKED_AT = 160;
    uint256 private constant DEADLINE = 200;
    uint256 private constant OPERATOR = 232;
    uint256 private constant ATTEMPT = 240;
    uint256 private constant STATUS = 248;

    /// @notice A job as `lock` makes it; `lockedAt` is now.
    function locked(
        uint32 account_,
        uint32 credits_,
        uint16 creditsPerRequest_,
        uint16 creditsPer1kTokens_,
        uint16 model_,
        FeeTerms fee_,
        uint8 operator_
    ) internal view returns (JobSlot) {
        return
            JobSlot.wrap(
                uint256(account_) |
                    (uint256(credits_) << CREDITS) |
                    (uint256(creditsPerRequest_) << CREDITS_PER_REQUEST) |
                    (uint256(creditsPer1kTokens_) << CREDITS_PER_1K_TOKENS) |
                    (uint256(model_) << MODEL) |
                    (uint256(FeeTerms.unwrap(fee_)) << FEE_BPS) |
                    (uint256(uint40(block.timestamp)) << LOCKED_AT) |
                    (uint256(operator_) << OPERATOR) |
                    (uint256(JobStatus.Locked) << STATUS)
            );
    }

    function account(JobSlot job) internal pure returns (uint32) {
        return uint32(JobSlot.unwrap(job));
    }

    function worker(JobSlot job) internal pure returns (uint32) {
        return uint32(JobSlot.unwrap(job) >> WORKER);
    }

    function credits(JobSlot job) internal pure returns (uint32) {
        return uint32(JobSlot.unwrap(job) >> CREDITS);
    }

    function creditsPerRequest(JobSlot job) internal pure returns (uint16) {
        return uint16(JobSlot.unwrap(job) >> CREDITS_PER_REQUEST);
    }

    function creditsPer1kTokens(JobSlot job) internal pure returns (uint16) {
        return uint16(JobSlot.unwrap(job) >> CREDITS_PER_1K_TOKENS);
    }

    function model(JobSlot job) internal pure returns (uint16) {
        return uint16(JobSlot.unwrap(job) >> MODEL);
    }

    function feeBps(JobSlot job) internal pure returns (uint16) {
        return uint16(JobSlot.unwrap(job) >> FEE_BPS) & 0xfff;
    }

    function operatorShare(JobSlot job) internal pure returns (uint8) {
        return uint8(JobSlot.unwrap(job) >> OPERATOR_SHARE) & 0xf;
    }

    function lockedAt(JobSlot job) internal pure returns (uint40) {
        return uint40(JobSlot.unwrap(job) >> LOCKED_AT);
    }

    function deadline(JobSlot job) internal pure returns (uint32) {
        return uint32(JobSlot.unwrap(job) >> DEADLINE);
    }

    function operator(JobSlot job) internal pure returns (uint8) {
        return uint8(JobSlot.unwrap(job) >> OPERATOR);
    }

    function attempt(JobSlot job) internal pure returns (uint8) {
        return uint8(JobSlot.unwrap(job) >> ATTEMPT);
    }

    function status(JobSlot job) internal pure returns (JobStatus) {
        return JobStatus(JobSlot.unwrap(job) >> STATUS);
    }

    /// @notice Whether the job is in this state; cheaper than to compare `status`, which checks its range.
    function isIn(JobSlot job, JobStatus status_) internal pure returns (bool) {
        return JobSlot.unwrap(job) >> STATUS == uint8(status_);
    }

    /// @notice Whether the job waits for an answer: Locked or Acknowledged.
    function isOpen(JobSlot job) internal pure returns (bool) {
        return job.isIn(JobStatus.Locked) || job.isIn(JobStatus.Acknowledged);
    }

    /// @notice The deadline as a time, Unix seconds.
    function dueAt(JobSlot job) internal pure returns (uint256) {
        // 40 and 32 bits.
        unchecked {
            return uint256(job.lockedAt()) + job.deadline();
        }
    }

    /// @notice Protocol fee of the job's credits, token units: credits × 10,000 × feeBps ÷ 10,000, exact.
    function feeUnits(JobSlot job) internal pure returns (uint256) {
        // 32 and 12 bits.
        unchecked {
            return uint256(job.credits()) * job.feeBps();
        }
    }

    /// @notice The operator's part of that fee, token units, rounded down.
    function operatorUnits(JobSlot job) internal pure returns (uint256) {
        // 44 and 4 bits.
        unchecked {
            return (job.feeUnits() * job.operatorShare()) / FeeTermsFields.WHOLE;
        }
    }

    /// @notice The job in the hands of `worker_`: Acknowledged.
    function assigned(JobSlot job, uint32 worker_, uint8 attempt_) internal pure returns (JobSlot) {
        return
            _set(_set(job, WORKER, type(uint32).max, worker_), ATTEMPT, type(uint8).max, attempt_).to(
                JobStatus.Acknowledged
            );
    }

    /// @notice The job in another state.
    function to(JobSlot job, JobStatus status_) internal pure returns (JobSlot) {
        return _set(job, STATUS, type(uint8).max, uint8(status_));
    }

    function withCredits(JobSlot job, uint32 credits_) internal pure returns (JobSlot) {
        return _set(job, CREDITS, type(uint32).max, credits_);
    }

    /// @notice The job with the deadline at `time`, which is after the lock and, by the bounds of the windows, within 32 bits of it.
    function withDueAt(JobSlot job, uint256 time) internal pure returns (JobSlot) {
        unchecked {
            return _set(job, DEADLINE, type(uint32).max, uint32(time - job.lockedAt()));
        }
    }

    /// @notice All fields, for readers off chain.
    function unpack(JobSlot job) internal pure returns (Job memory) {
        return
            Job({
                account: job.account(),
                worker: job.worker(),
                credits: job.credits(),
                creditsPerRequest: job.creditsPerRequest(),
                creditsPer1kTokens: job.creditsPer1kTokens(),
                model: job.model(),
                feeBps: job.feeBps(),
                lockedAt: job.lockedAt(),
                deadline: job.deadline(),
                operator: job.operator(),
                attempt: job.attempt(),
                status: job.status(),
                operatorShare: job.operatorShare()
            });
    }

    function _set(JobSlot job, uint256 shift, uint256 mask, uint256 value) private pure returns (JobSlot) {
        return JobSlot.wrap((JobSlot.unwrap(job) & ~(mask << shift)) | (value << shift));
    }
}

/// @title Fields of the terms of a fee
library FeeTermsFields {
    uint256 private constant OPERATOR_SHARE = 12;

    /// @notice The whole fee, in units of `operatorShare`: one is 5 % of the fee.
    uint256 internal constant WHOLE = 20;

    function pack(uint16 feeBps_, uint8 operatorShare_) internal pure returns (FeeTerms) {
        return FeeTerms.wrap(feeBps_ | (uint16(operatorShare_) << uint16(OPERATOR_SHARE)));
    }

    function feeBps(FeeTerms terms) internal pure returns (uint16) {
        return FeeTerms.unwrap(terms) & 0xfff;
    }

    function operatorShare(FeeTerms terms) internal pure returns (uint8) {
        return uint8(FeeTerms.unwrap(terms) >> OPERATOR_SHARE);
    }
}

/// @title Fields of a settlement's usage
library Usages {
    /// @notice What a Completion says, and the tokens charged for it.
    function pack(Completion calldata c, uint32 billedTokens) internal pure returns (Usage) {
        return
            Usage.wrap(
                uint256(c.promptTokens) |
                    (uint256(c.completionTokens) << 32) |
                    (uint256(c.reasoningTokens) << 64) |
                    (uint256(c.textBytes) << 96) |
                    (uint256(billedTokens) << 128) |
                    (uint256(c.completedAt) << 160)
            );
    }
}

/// @title Fields of a payee
library Payees {
    function pack(address payout_, uint32 id_) internal pure returns (Payee) {
        return Payee.wrap(uint256(uint160(payout_)) | (uint256(id_) << 160));
    }

    function payout(Payee payee) internal pure returns (address) {
        return address(uint160(Payee.unwrap(payee)));
    }

    function id(Payee payee) internal pure returns (uint32) {
        return uint32(Payee.unwrap(payee) >> 160);
    }
}

/// @title Fields of a lock's terms
library LockTermsFields {
    function pack(uint16 perRequest, uint16 per1k, uint8 tier_) internal pure returns (LockTerms) {
        return LockTerms.wrap(uint256(perRequest) | (uint256(per1k) << 16) | (uint256(tier_) << 32));
    }

    function creditsPerRequest(LockTerms terms) internal pure returns (uint16) {
        return uint16(LockTerms.unwrap(terms));
    }

    function creditsPer1kTokens(LockTerms terms) internal pure returns (uint16) {
        return uint16(LockTerms.unwrap(terms) >> 16);
    }

    function tier(LockTerms terms) internal pure returns (uint8) {
        return uint8(LockTerms.unwrap(terms) >> 32);
    }
}

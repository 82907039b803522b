// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Job, JobStatus} from "./JobTypes.sol";

/// @notice A `Job` as it is stored: one word, read and written whole.
/// @dev From the lowest bit: account 32, worker 32, credits 32, creditsPerRequest 16, creditsPer1kTokens 16, model 16,
///      feeBps 16, lockedAt 40, deadline 32, gateway 8, attempt 8, status 8. The compiler would lay the struct out in the
///      same way, but write it field by field and read it through memory.
type JobSlot is uint256;

using JobSlots for JobSlot global;

/// @title Fields of a stored job
library JobSlots {
    uint256 private constant WORKER = 32;
    uint256 private constant CREDITS = 64;
    uint256 private constant CREDITS_PER_REQUEST = 96;
    uint256 private constant CREDITS_PER_1K_TOKENS = 112;
    uint256 private constant MODEL = 128;
    uint256 private constant FEE_BPS = 144;
    uint256 private constant LOCKED_AT = 160;
    uint256 private constant DEADLINE = 200;
    uint256 private constant GATEWAY = 232;
    uint256 private constant ATTEMPT = 240;
    uint256 private constant STATUS = 248;

    /// @notice A job as `lock` makes it; `lockedAt` is now.
    function locked(
        uint32 account_,
        uint32 credits_,
        uint16 creditsPerRequest_,
        uint16 creditsPer1kTokens_,
        uint16 model_,
        uint16 feeBps_,
        uint8 gateway_
    ) internal view returns (JobSlot) {
        return
            JobSlot.wrap(
                uint256(account_) |
                    (uint256(credits_) << CREDITS) |
                    (uint256(creditsPerRequest_) << CREDITS_PER_REQUEST) |
                    (uint256(creditsPer1kTokens_) << CREDITS_PER_1K_TOKENS) |
                    (uint256(model_) << MODEL) |
                    (uint256(feeBps_) << FEE_BPS) |
                    (uint256(uint40(block.timestamp)) << LOCKED_AT) |
                    (uint256(gateway_) << GATEWAY) |
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
        return uint16(JobSlot.unwrap(job) >> FEE_BPS);
    }

    function lockedAt(JobSlot job) internal pure returns (uint40) {
        return uint40(JobSlot.unwrap(job) >> LOCKED_AT);
    }

    function deadline(JobSlot job) internal pure returns (uint32) {
        return uint32(JobSlot.unwrap(job) >> DEADLINE);
    }

    function gateway(JobSlot job) internal pure returns (uint8) {
        return uint8(JobSlot.unwrap(job) >> GATEWAY);
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

    /// @notice The job in the hands of `worker_`: Acknowledged.
    function assigned(JobSlot job, uint32 worker_, uint8 attempt_) internal pure returns (JobSlot) {
        return
            _set(_set(job, WORKER, type(uint32).max, worker_), ATTEMPT, type(uint8).max, attempt_).to(
                JobStatus.Acknowledged
            );
    }

    function to(JobSlot job, JobStatus status_) internal pure returns (JobSlot) {
        return _set(job, STATUS, type(uint8).max, uint256(status_));
    }

    function withCredits(JobSlot job, uint32 credits_) internal pure returns (JobSlot) {
        return _set(job, CREDITS, type(uint32).max, credits_);
    }

    function withDeadline(JobSlot job, uint32 deadline_) internal pure returns (JobSlot) {
        return _set(job, DEADLINE, type(uint32).max, deadline_);
    }

    /// @notice The job with the deadline at `time`, which is after the lock and, by the bounds of the windows, within 32 bits of it.
    function withDueAt(JobSlot job, uint256 time) internal pure returns (JobSlot) {
        unchecked {
            return job.withDeadline(uint32(time - job.lockedAt()));
        }
    }

    /// @notice The job in nobody's hands; the attempt stays used.
    function withoutWorker(JobSlot job) internal pure returns (JobSlot) {
        return _set(job, WORKER, type(uint32).max, 0).to(JobStatus.Locked);
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
                gateway: job.gateway(),
                attempt: job.attempt(),
                status: job.status()
            });
    }

    function _set(JobSlot job, uint256 shift, uint256 mask, uint256 value) private pure returns (JobSlot) {
        return JobSlot.wrap((JobSlot.unwrap(job) & ~(mask << shift)) | (value << shift));
    }
}

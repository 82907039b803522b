// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fields} from "./Fields.sol";
import {Job, JobStatus} from "./JobTypes.sol";

/// @notice A Job as it lies in its storage slot: the fields of the struct in their order, from the lowest bit. Zero: no job.
type PackedJob is uint256;

using PackedJobs for PackedJob global;

/// @title Fields of a packed job
/// @notice Getters have the name of the field in `Job`; `with…` return the word with a field replaced and write nothing.
library PackedJobs {
    using Fields for uint256;

    uint256 private constant WORKER = 32;
    uint256 private constant CREDITS = 64;
    uint256 private constant PER_REQUEST = 96;
    uint256 private constant PER_1K = 112;
    uint256 private constant MODEL = 128;
    uint256 private constant FEE_BPS = 144;
    uint256 private constant LOCKED_AT = 160;
    uint256 private constant DEADLINE = 200;
    uint256 private constant GATEWAY = 232;
    uint256 private constant ATTEMPT = 240;
    uint256 private constant STATUS = 248;

    /// @notice A job locked now, without a worker.
    function locked(
        uint32 account_,
        uint32 credits_,
        uint16 perRequest,
        uint16 per1k,
        uint16 model_,
        uint16 feeBps_,
        uint8 gateway_
    ) internal view returns (PackedJob) {
        return
            PackedJob.wrap(
                uint256(account_) |
                    (uint256(credits_) << CREDITS) |
                    (uint256(perRequest) << PER_REQUEST) |
                    (uint256(per1k) << PER_1K) |
                    (uint256(model_) << MODEL) |
                    (uint256(feeBps_) << FEE_BPS) |
                    (uint256(uint40(block.timestamp)) << LOCKED_AT) |
                    (uint256(gateway_) << GATEWAY) |
                    (uint256(uint8(JobStatus.Locked)) << STATUS)
            );
    }

    /// @notice The job in the hands of a worker.
    function acknowledged(PackedJob job, uint32 worker_, uint8 attempt_) internal pure returns (PackedJob) {
        return withStatus(withWorker(job, worker_, attempt_), JobStatus.Acknowledged);
    }

    function withWorker(PackedJob job, uint32 worker_, uint8 attempt_) internal pure returns (PackedJob) {
        uint256 word = PackedJob.unwrap(job).set(WORKER, 32, worker_);
        return PackedJob.wrap(word.set(ATTEMPT, 8, attempt_));
    }

    function withCredits(PackedJob job, uint32 credits_) internal pure returns (PackedJob) {
        return PackedJob.wrap(PackedJob.unwrap(job).set(CREDITS, 32, credits_));
    }

    /// @notice `deadline_` is a time, Unix seconds, not before the lock; it is kept as seconds after the lock.
    function withDeadline(PackedJob job, uint256 deadline_) internal pure returns (PackedJob) {
        // Windows are bounded so that every deadline lies within 32 bits of the lock.
        unchecked {
            return PackedJob.wrap(PackedJob.unwrap(job).set(DEADLINE, 32, uint32(deadline_ - lockedAt(job))));
        }
    }

    function withStatus(PackedJob job, JobStatus status_) internal pure returns (PackedJob) {
        return PackedJob.wrap(PackedJob.unwrap(job).set(STATUS, 8, uint8(status_)));
    }

    function account(PackedJob job) internal pure returns (uint32) {
        return uint32(PackedJob.unwrap(job));
    }

    function worker(PackedJob job) internal pure returns (uint32) {
        return uint32(PackedJob.unwrap(job) >> WORKER);
    }

    function credits(PackedJob job) internal pure returns (uint32) {
        return uint32(PackedJob.unwrap(job) >> CREDITS);
    }

    function creditsPerRequest(PackedJob job) internal pure returns (uint16) {
        return uint16(PackedJob.unwrap(job) >> PER_REQUEST);
    }

    function creditsPer1kTokens(PackedJob job) internal pure returns (uint16) {
        return uint16(PackedJob.unwrap(job) >> PER_1K);
    }

    function model(PackedJob job) internal pure returns (uint16) {
        return uint16(PackedJob.unwrap(job) >> MODEL);
    }

    function feeBps(PackedJob job) internal pure returns (uint16) {
        return uint16(PackedJob.unwrap(job) >> FEE_BPS);
    }

    function lockedAt(PackedJob job) internal pure returns (uint40) {
        return uint40(PackedJob.unwrap(job) >> LOCKED_AT);
    }

    /// @notice The job's deadline as a time, Unix seconds.
    function deadline(PackedJob job) internal pure returns (uint256) {
        unchecked {
            return uint256(lockedAt(job)) + uint32(PackedJob.unwrap(job) >> DEADLINE);
        }
    }

    function gateway(PackedJob job) internal pure returns (uint8) {
        return uint8(PackedJob.unwrap(job) >> GATEWAY);
    }

    function attempt(PackedJob job) internal pure returns (uint8) {
        return uint8(PackedJob.unwrap(job) >> ATTEMPT);
    }

    function status(PackedJob job) internal pure returns (JobStatus) {
        return JobStatus(PackedJob.unwrap(job) >> STATUS);
    }

    /// @notice Whether the job is in this state: cheaper than to compare `status`, which checks its range.
    function isIn(PackedJob job, JobStatus status_) internal pure returns (bool) {
        return PackedJob.unwrap(job) >> STATUS == uint8(status_);
    }

    /// @notice The job as a struct, for readers.
    function unpacked(PackedJob job) internal pure returns (Job memory) {
        return
            Job({
                account: account(job),
                worker: worker(job),
                credits: credits(job),
                creditsPerRequest: creditsPerRequest(job),
                creditsPer1kTokens: creditsPer1kTokens(job),
                model: model(job),
                feeBps: feeBps(job),
                lockedAt: lockedAt(job),
                deadline: uint32(PackedJob.unwrap(job) >> DEADLINE),
                gateway: gateway(job),
                attempt: attempt(job),
                status: status(job)
            });
    }
}

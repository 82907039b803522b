// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    Assignment,
    Completion,
    FailureReason,
    Job,
    JobStatus,
    Signature
} from "../../../contracts/libraries/JobTypes.sol";
import {LedgerHandler} from "./LedgerHandler.sol";
import {VM, within} from "./Vm.sol";

/// @notice Every call of a job's life, in any order that is legal.
contract JobHandler is LedgerHandler {
    address private constant STRANGER = address(0x57);
    uint256 private constant LOCKED = 1 << uint8(JobStatus.Locked);
    uint256 private constant ACKNOWLEDGED = 1 << uint8(JobStatus.Acknowledged);
    uint256 private constant PROVEN = 1 << uint8(JobStatus.Proven);

    function lock(uint256 who, uint256 maxTokens, uint256 model) external {
        address wallet = walletAt(who);
        model = within(model, 1, 2);
        maxTokens = within(maxTokens, 0, 10_000);
        uint256 credits = _price(model, maxTokens);
        if (wallets[wallet].free < credits) return;
        bytes16 jobId = bytes16(keccak256(abi.encode(jobs.length)));
        VM.prank(gateway);
        escrow.lock(wallet, uint16(model), jobId, uint32(maxTokens), uint32(credits), type(uint40).max);
        wallets[wallet].free -= credits;
        wallets[wallet].escrowed += credits;
        ghosts[jobId].wallet = wallet;
        ghosts[jobId].locked = credits;
        jobs.push(jobId);
        done["lock"] += 1;
    }

    function acknowledge(uint256 which, uint256 worker) external {
        (bytes16 jobId, Job memory job) = _jobIn(which, LOCKED | ACKNOWLEDGED);
        if (job.status == JobStatus.None) return;
        if (job.attempt == type(uint8).max) return;
        uint256 key = FIRST_WORKER_KEY + (worker % WORKERS);
        uint8 attempt = job.attempt + 1;
        Assignment memory assignment = Assignment(jobId, VM.addr(key), attempt, uint40(block.timestamp + 1));
        escrow.acknowledge(assignment, signAssignment(assignment), signAcknowledgement(key, jobId, attempt));
        ghosts[jobId].workerKey = key;
        done["acknowledge"] += 1;
    }

    /// @notice By the acknowledged worker, or by another one under a higher attempt, or the proven Completion.
    function complete(uint256 which, uint256 worker, uint256 tokens, uint256 counted) external {
        (bytes16 jobId, Job memory job) = _jobIn(which, LOCKED | ACKNOWLEDGED | PROVEN);
        if (job.status == JobStatus.None || block.timestamp >= job.lockedAt + COMPLETION + INCLUSION) return;
        JobGhost storage ghost = ghosts[jobId];
        uint8 attempt = job.attempt;
        if (job.status != JobStatus.Proven) {
            ghost.completion = _completionOf(jobId, job, tokens);
            uint256 key = FIRST_WORKER_KEY + (worker % WORKERS);
            if (job.status == JobStatus.Locked || key != ghost.workerKey) {
                if (attempt == type(uint8).max) return;
                attempt += 1;
                ghost.workerKey = key;
            }
        }
        counted = within(counted, 0, 10_000);
        Signature memory signature = signCompletion(ghost.workerKey, ghost.completion);
        VM.prank(gateway);
        escrow.complete(ghost.completion, uint32(counted), signature, attempt, ghost.wallet);
        uint256 signedTokens = ghost.completion.completionTokens;
        _settled(jobId, job, counted < signedTokens ? counted : signedTokens);
        done["complete"] += 1;
    }

    function submitProof(uint256 which, uint256 tokens) external {
        (bytes16 jobId, Job memory job) = _jobIn(which, ACKNOWLEDGED);
        if (job.status == JobStatus.None || block.timestamp >= job.lockedAt + COMPLETION + INCLUSION) return;
        JobGhost storage ghost = ghosts[jobId];
        ghost.completion = _completionOf(jobId, job, tokens);
        Signature memory signature = signCompletion(ghost.workerKey, ghost.completion);
        VM.prank(STRANGER);
        escrow.submitProof(ghost.completion, signature);
        done["submitProof"] += 1;
    }

    /// @notice Waits for its time if it has to.
    function finalize(uint256 which) external {
        (bytes16 jobId, Job memory job) = _jobIn(which, PROVEN);
        if (job.status == JobStatus.None) return;
        uint256 from = uint256(job.lockedAt) + job.deadline;
        if (block.timestamp < from) VM.warp(from);
        VM.prank(STRANGER);
        escrow.finalize(ghosts[jobId].completion);
        _settled(jobId, job, ghosts[jobId].completion.completionTokens);
        done["finalize"] += 1;
    }

    function fail(uint256 which, uint256 reason) external {
        (bytes16 jobId, Job memory job) = _jobIn(which, LOCKED | ACKNOWLEDGED);
        if (job.status == JobStatus.None) return;
        VM.prank(gateway);
        escrow.fail(jobId, FailureReason(within(reason, 0, uint256(type(FailureReason).max))));
        _returned(jobId);
        done["fail"] += 1;
    }

    /// @notice Waits for its time if it has to.
    function refund(uint256 which, bool byGateway) external {
        (bytes16 jobId, Job memory job) = _jobIn(which, LOCKED | ACKNOWLEDGED);
        if (job.status == JobStatus.None) return;
        uint256 from = uint256(job.lockedAt) + COMPLETION + (byGateway ? 0 : INCLUSION);
        if (block.timestamp < from) VM.warp(from);
        VM.prank(byGateway ? gateway : STRANGER);
        escrow.refund(jobId);
        _returned(jobId);
        done["refund"] += 1;
    }

    /// @dev One of the last ten jobs in one of the wanted states, from a random one of them backwards; None if there is none.
    function _jobIn(uint256 which, uint256 wanted) private view returns (bytes16, Job memory) {
        Job memory none;
        uint256 count = jobs.length;
        for (uint256 back = which % 5; back < 10 && back < count; ++back) {
            bytes16 jobId = jobs[count - 1 - back];
            Job memory job = escrow.jobOf(jobId);
            if ((wanted >> uint8(job.status)) & 1 == 1) return (jobId, job);
        }
        return (0, none);
    }

    function _completionOf(bytes16 jobId, Job memory job, uint256 tokens) private view returns (Completion memory) {
        uint256 latest = job.lockedAt + COMPLETION - 1;
        uint256 completedAt = block.timestamp < latest ? block.timestamp : latest;
        bytes32 proofHash = keccak256(abi.encode(jobId, tokens));
        return Completion(jobId, proofHash, 7, uint32(within(tokens, 0, 12_000)), uint40(completedAt));
    }

    function _settled(bytes16 jobId, Job memory job, uint256 billed) private {
        JobGhost storage ghost = ghosts[jobId];
        uint256 price = _price(job.model, billed);
        uint256 charged = price < ghost.locked ? price : ghost.locked;
        ghost.paid += charged;
        ghost.ends += 1;
        wallets[ghost.wallet].escrowed -= ghost.locked;
        wallets[ghost.wallet].free += ghost.locked - charged;
        uint256 fee = charged * 1_000;
        income[TREASURY] += fee;
        income[payoutAt(ghost.workerKey - FIRST_WORKER_KEY)] += charged * 10_000 - fee;
    }

    function _returned(bytes16 jobId) private {
        JobGhost storage ghost = ghosts[jobId];
        ghost.returned += ghost.locked;
        ghost.ends += 1;
        wallets[ghost.wallet].escrowed -= ghost.locked;
        wallets[ghost.wallet].free += ghost.locked;
    }

    /// @dev The two listed models: 40 and 20, 2 and 1. Their rate is half the flat price, so 2,000 tokens are flat.
    function _price(uint256 model, uint256 tokens) private pure returns (uint256) {
        uint256 flat = model == 1 ? 40 : 2;
        if (tokens <= 2_000) return flat;
        uint256 halves = tokens * flat;
        return halves / 2_000 + (halves % 2_000 == 0 ? 0 : 1);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    Assignment,
    Authorization,
    Completion,
    FailureReason,
    JobStatus,
    Signature
} from "../../../../contracts/Types.sol";
import {VM, within} from "../Vm.sol";
import {StakeHandler} from "./StakeHandler.sol";

/// @notice The life of a job until it is settled or returned.
abstract contract JobHandler is StakeHandler {
    uint256 internal constant LOCKED = 1 << uint8(JobStatus.Locked);
    uint256 internal constant ACKNOWLEDGED = 1 << uint8(JobStatus.Acknowledged);
    uint256 internal constant PROVEN = 1 << uint8(JobStatus.Proven);

    /// @notice By the operator that the wallet chose or, sometimes, by another one; as the wallet's key demands.
    function lock(uint256 who, uint256 maxTokens, uint256 model) public {
        address wallet = walletAt(who);
        uint256 operator = wallets[wallet].operator;
        if (operator == 0 || model % 16 == 0) operator = 1 + ((who / 8) % OPERATORS);
        Authorization memory wanted = Authorization({
            jobId: uuid7(jobs.length),
            wallet: wallet,
            operator: uint8(operator),
            model: uint16(within(model, 1, 2)),
            maxTokens: uint32(within(maxTokens, 0, 10_000)),
            maxCredits: 0,
            requestHash: keccak256("request"),
            expiresAt: uint40(block.timestamp + 600)
        });
        (uint256 flat, uint256 per1k) = _priceNow(wanted.model);
        wanted.maxCredits = uint32(_cost(wanted.maxTokens, flat, per1k));
        bool authorized = wallets[wallet].authorized;
        require(!authorized || !_sendLock(wanted, false), "a lock without the signature that it needs");
        bool allowed = _allowed(wanted);
        require(
            _sendLock(wanted, authorized) == allowed,
            "a lock against pause, choice, stop, limit, freeze or balance, or a legal one refused"
        );
        if (!allowed) {
            done["lock refused"] += 1;
            return;
        }
        _locked(wanted, flat, per1k);
        done[authorized ? "lock authorized" : "lock"] += 1;
    }

    /// @notice By any eligible worker, under the next attempt.
    function acknowledge(uint256 which, uint256 who) public {
        bytes16 jobId = _jobIn(which, LOCKED | ACKNOWLEDGED);
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0 || job.attempt == type(uint8).max) return;
        who %= WORKERS;
        uint8 attempt = uint8(job.attempt + 1);
        Assignment memory assignment = Assignment(jobId, _signerAt(who), attempt, uint40(block.timestamp + 1));
        Signature memory byGateway = signAssignment(FIRST_GATEWAY_KEY + job.operator - 1, assignment);
        Signature memory byWorker = signAcknowledgement(FIRST_WORKER_KEY + who, jobId, attempt);
        try escrow.acknowledge(assignment, byGateway, byWorker) {
            require(_eligible(who), "an unbonding worker, or one without stake, took a job");
        } catch {
            require(!_eligible(who), "a legal acknowledgement was refused");
            return;
        }
        (job.status, job.worker, job.attempt) = (JobStatus.Acknowledged, who + 1, attempt);
        touched = jobId;
        done["acknowledge"] += 1;
    }

    /// @notice From Locked by any eligible worker; else by the recorded one and no other; or the proven Completion.
    function complete(uint256 which, uint256 who, uint256 tokens, uint256 counted) public {
        bytes16 jobId = _jobIn(which, LOCKED | ACKNOWLEDGED | PROVEN);
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0 || block.timestamp >= job.lockedAt + COMPLETION + INCLUSION) return;
        who %= WORKERS;
        bool taken = job.status != JobStatus.Locked;
        if (taken && counted % 4 != 0) who = job.worker - 1;
        if (!taken && !_eligible(who)) return;
        Completion memory completion =
            job.status == JobStatus.Proven ? job.completion : _completionOf(jobId, job, tokens);
        counted = within(counted, 0, 10_000);
        bytes memory call = abi.encodeCall(
            escrow.complete,
            (completion, uint32(counted), signCompletion(FIRST_WORKER_KEY + who, completion), job.wallet)
        );
        address gateway = gatewayOf(job.operator);
        VM.prank(gateway);
        (bool ok, ) = address(escrow).call(call);
        require(ok == (!taken || job.worker == who + 1), "paid another worker, or a legal settlement was refused");
        if (!ok) {
            done["complete refused"] += 1;
            return;
        }
        if (!taken) (job.worker, job.attempt) = (who + 1, 1);
        job.completion = completion;
        uint256 billed = _least(counted, completion.completionTokens);
        _charge(job, _priceOf(job, billed));
        job.due = block.timestamp + DISPUTE + INCLUSION;
        touched = jobId;
        done["complete"] += 1;
    }

    function submitProof(uint256 which, uint256 tokens) public {
        bytes16 jobId = _jobIn(which, ACKNOWLEDGED);
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0 || block.timestamp >= job.lockedAt + COMPLETION + INCLUSION) return;
        job.completion = _completionOf(jobId, job, tokens);
        Signature memory signature = signCompletion(FIRST_WORKER_KEY + job.worker - 1, job.completion);
        VM.prank(STRANGER);
        escrow.submitProof(job.completion, signature);
        (job.status, job.proven, job.due) = (JobStatus.Proven, true, block.timestamp + FINALIZATION);
        job.proof = _priceOf(job, job.completion.completionTokens);
        touched = jobId;
        done["submitProof"] += 1;
    }

    /// @notice By a stranger. Waits for its time if it has to.
    function finalize(uint256 which) external {
        bytes16 jobId = _jobIn(which, PROVEN);
        if (jobId == 0) return;
        if (block.timestamp < ghosts[jobId].due) VM.warp(ghosts[jobId].due);
        _finalize(jobId);
    }

    function fail(uint256 which, uint256 reason) external {
        bytes16 jobId = _jobIn(which, LOCKED | ACKNOWLEDGED);
        // Rarely, or few jobs would be answered.
        if (jobId == 0 || reason % 4 != 0) return;
        address gateway = gatewayOf(ghosts[jobId].operator);
        VM.prank(gateway);
        escrow.fail(jobId, FailureReason(within(reason / 4, 0, uint256(type(FailureReason).max))));
        _returnAll(ghosts[jobId]);
        ghosts[jobId].status = JobStatus.Failed;
        touched = jobId;
        done["fail"] += 1;
    }

    /// @notice Waits for its time if it has to.
    function refund(uint256 which, bool byGateway) external {
        bytes16 jobId = _jobIn(which, LOCKED | ACKNOWLEDGED);
        if (jobId == 0 || which % 3 != 0) return;
        uint256 from = ghosts[jobId].lockedAt + COMPLETION + (byGateway ? 0 : INCLUSION);
        if (block.timestamp < from) VM.warp(from);
        _refund(jobId, byGateway ? gatewayOf(ghosts[jobId].operator) : STRANGER);
    }

    function _refund(bytes16 jobId, address by) internal {
        VM.prank(by);
        escrow.refund(jobId);
        _returnAll(ghosts[jobId]);
        ghosts[jobId].status = JobStatus.Refunded;
        touched = jobId;
        done["refund"] += 1;
    }

    function _finalize(bytes16 jobId) internal {
        VM.prank(STRANGER);
        escrow.finalize(ghosts[jobId].completion);
        _charge(ghosts[jobId], ghosts[jobId].proof);
        touched = jobId;
        done["finalize"] += 1;
    }

    /// @dev By the operator's gateway, with the signature of the wallet's key or without.
    function _sendLock(Authorization memory wanted, bool authorized) private returns (bool ok) {
        bytes memory call =
            authorized
                ? abi.encodeCall(escrow.lockAuthorized, (wanted, signAuthorization(AUTHORIZATION_KEY, wanted)))
                : abi.encodeCall(
                    escrow.lock,
                    (wanted.wallet, wanted.model, wanted.jobId, wanted.maxTokens, wanted.maxCredits, type(uint40).max)
                );
        VM.prank(gatewayOf(wanted.operator));
        (ok, ) = address(escrow).call(call);
    }

    function _locked(Authorization memory wanted, uint256 flat, uint256 per1k) private {
        (uint256 credits, bytes16 jobId) = (wanted.maxCredits, wanted.jobId);
        Wallet storage ghost = wallets[wanted.wallet];
        ghost.free -= credits;
        ghost.escrowed += credits;
        ghost.lastLockDay = block.timestamp / 1 days;
        ghost.spent[ghost.lastLockDay] += credits;
        JobGhost storage job = ghosts[jobId];
        (job.status, job.wallet, job.operator) = (JobStatus.Locked, wanted.wallet, wanted.operator);
        (job.model, job.flat, job.per1k, job.fee) = (wanted.model, flat, per1k, _feeNow());
        (job.locked, job.lockedAt) = (credits, block.timestamp);
        jobs.push(jobId);
        touched = jobId;
    }

    /// @dev Everything that can forbid a lock.
    function _allowed(Authorization memory wanted) private view returns (bool) {
        Wallet storage ghost = wallets[wanted.wallet];
        if (_paused() || ghost.operator != wanted.operator || operators[wanted.operator].stopped) return false;
        if (ghost.frozen || ghost.free < wanted.maxCredits) return false;
        Price storage price = prices[wanted.model];
        if (price.retiresAt != 0 && block.timestamp >= price.retiresAt) return false;
        return !ghost.limited || ghost.spent[block.timestamp / 1 days] + wanted.maxCredits <= ghost.limit;
    }

    function _priceOf(JobGhost storage job, uint256 tokens) private view returns (uint256) {
        return _least(_cost(tokens, job.flat, job.per1k), job.locked);
    }

    function _completionOf(
        bytes16 jobId,
        JobGhost storage job,
        uint256 tokens
    ) private view returns (Completion memory) {
        uint256 completedAt = _least(block.timestamp, job.lockedAt + COMPLETION - 1);
        bytes32 proofHash = keccak256(abi.encode(jobId, tokens));
        return Completion(jobId, proofHash, 7, uint32(within(tokens, 0, 12_000)), uint40(completedAt));
    }
}

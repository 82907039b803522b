// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    Assignment,
    Authorization,
    Completion,
    FailureReason,
    JobStatus,
    Ruling,
    Signature
} from "../../../../contracts/Types.sol";
import {VM, within} from "../Vm.sol";
import {StakeHandler} from "./Ledger.sol";

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
        uint256 written = uint256(completion.completionTokens) + completion.reasoningTokens;
        _charge(job, _priceOf(job, _least(counted, written)));
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
        job.proof = _priceOf(job, _least(job.completion.completionTokens, job.completion.textBytes));
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
        (job.model, job.flat, job.per1k) = (wanted.model, flat, per1k);
        (job.fee, job.share) = (_feeNow(), _shareNow());
        (job.locked, job.lockedAt) = (credits, block.timestamp);
        jobs.push(jobId);
        uint256 today = block.timestamp / 1 days;
        if (days_.length == 0 || days_[days_.length - 1] != today) days_.push(today);
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
        // Each count of its own, the reasoning's now and then the largest that there is.
        uint256 seed = uint256(proofHash);
        uint256 reasoning = seed % 8 == 0 ? type(uint32).max : within(seed >> 8, 0, 12_000);
        uint256 textBytes = within(seed >> 48, 0, 24_000);
        uint256 written = within(tokens, 0, 12_000);
        return
            Completion(jobId, proofHash, 7, uint32(written), uint32(reasoning), uint32(textBytes), uint40(completedAt));
    }
}

/// @notice Disputes, votes, expiry, equivocation and debts.
abstract contract DisputeHandler is JobHandler {
    uint256 internal constant SETTLED = 1 << uint8(JobStatus.Settled);
    uint256 internal constant DISPUTED = 1 << uint8(JobStatus.Disputed);
    uint256 internal constant BOND = 100;

    mapping(bytes32 dispute => mapping(Ruling => uint256)) private _votes;
    mapping(bytes32 dispute => mapping(address arbiter => Ruling)) private _voteOf;

    /// @notice A proven Completion without any signature, another one with the worker's.
    function openDispute(uint256 which, bool byOperator) public {
        bytes16 jobId = _jobIn(which, SETTLED | PROVEN);
        if (jobId == 0) return;
        JobGhost storage job = ghosts[jobId];
        DisputeGhost memory dispute = _newDispute(job, byOperator);
        bool allowed = _mayOpen(job, dispute);
        Completion memory completion = job.completion;
        Signature memory signature;
        if (!job.proven) signature = signCompletion(FIRST_WORKER_KEY + job.worker - 1, completion);
        address by = byOperator ? gatewayOf(job.operator) : job.wallet;
        VM.prank(by);
        (bool ok, ) = address(escrow).call(
            abi.encodeCall(escrow.openDispute, (~completion.proofHash, completion, signature))
        );
        require(ok == allowed, "a dispute out of time, of its limits or a second time, or a legal one refused");
        if (!ok) {
            done["dispute refused"] += 1;
            return;
        }
        _opened(job, dispute);
        touched = jobId;
        done[dispute.fromProven ? "dispute proven" : "dispute settled"] += 1;
        if (dispute.afterEquivocation) done["dispute after equivocation"] += 1;
    }

    /// @notice A request of one of the keys, of a naming that counts or one before or after it, brought by a stranger: opens or joins.
    function disputeByKey(uint256 which, uint256 signer, uint256 how) public {
        bytes16 jobId = _jobIn(which, how % 3 == 0 ? DISPUTED : SETTLED | PROVEN);
        if (jobId == 0) return;
        JobGhost storage job = ghosts[jobId];
        Wallet storage wallet = wallets[job.wallet];
        Completion memory completion = job.completion;
        bytes32 hash = how % 5 == 0 ? completion.proofHash : ~completion.proofHash;
        uint256 key = signer % 4 == 0 || wallet.disputeKey == 0 ? FIRST_DISPUTE_KEY + (signer % 3) : wallet.disputeKey;
        uint256 sequence = wallet.keySequence + (signer % 8 == 1 ? 1 : 0);
        uint256 maxBond = how % 7 == 0 ? how % BOND : BOND;
        uint256 time = how % 11 == 0 ? 601 : signer % 601;
        bool signed_ = key == wallet.disputeKey && sequence == wallet.keySequence && time != 0 && time <= 600;
        DisputeGhost memory dispute = _newDispute(job, false);
        dispute.byKey = true;
        bool joins = job.status == JobStatus.Disputed;
        bool allowed =
            signed_ &&
                (
                    joins
                        ? _mayJoin(job)
                        : hash != completion.proofHash && dispute.bond <= maxBond && _mayOpen(job, dispute)
                );
        require(
            _sendByKey(job, key, hash, [maxBond, sequence, time]) == allowed,
            "by key: an illegal one, or a legal not"
        );
        if (!allowed) {
            done["by key refused"] += 1;
            return;
        }
        touched = jobId;
        if (joins) {
            (job.dispute.joined, job.dispute.ruleFrom) = (true, block.timestamp);
            job.dispute.conceded = hash == completion.proofHash;
            done["joined by key"] += 1;
            return;
        }
        _opened(job, dispute);
        done[dispute.fromProven ? "proven, by key" : "settled, by key"] += 1;
    }

    function _sendByKey(
        JobGhost storage job,
        uint256 key,
        bytes32 hash,
        uint256[3] memory terms
    ) private returns (bool ok) {
        Completion memory completion = job.completion;
        (uint32 maxBond, uint32 sequence, uint40 time) = (uint32(terms[0]), uint32(terms[1]), uint40(terms[2]));
        Signature memory byKey = signDisputeRequest(key, completion, hash, maxBond, sequence, time);
        Signature memory byWorker;
        if (!job.proven) byWorker = signCompletion(FIRST_WORKER_KEY + job.worker - 1, completion);
        uint40 expiresAt = uint40(block.timestamp) + time;
        VM.prank(STRANGER);
        (ok, ) = address(escrow).call(
            abi.encodeCall(escrow.disputeByKey, (hash, completion, byWorker, maxBond, expiresAt, byKey))
        );
    }

    /// @notice The wallet's own hash, in the operator's dispute: once, and before the panel may rule. By the call that opens one,
    ///         too, which the operator's may have overtaken; with the worker's hash the operator's bond is safe.
    function joinDispute(uint256 which, uint256 how) public {
        bytes16 jobId = _jobIn(which, DISPUTED);
        if (jobId == 0) return;
        JobGhost storage job = ghosts[jobId];
        bool allowed = _mayJoin(job);
        bool concedes = how % 3 == 0;
        Completion memory completion = job.completion;
        bytes32 hash = concedes ? completion.proofHash : keccak256("mine");
        Signature memory none;
        bytes memory call = abi.encodeCall(escrow.joinDispute, (jobId, hash));
        if (how % 2 == 0) call = abi.encodeCall(escrow.openDispute, (hash, completion, none));
        VM.prank(job.wallet);
        (bool ok, ) = address(escrow).call(call);
        require(ok == allowed, "joined too late, twice or its own dispute, or a wallet could not join");
        if (!ok) return;
        (job.dispute.joined, job.dispute.conceded, job.dispute.ruleFrom) = (true, concedes, block.timestamp);
        touched = jobId;
        done[concedes ? "dispute conceded" : "dispute joined"] += 1;
    }

    /// @notice One arbiter of the pinned set, who may change its mind; the second equal vote rules.
    function vote(uint256 which, uint256 who, uint256 how) public {
        bytes16 jobId = _jobIn(which, DISPUTED);
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0 || block.timestamp >= job.due) return;
        Ruling ruling = Ruling(within(how, 1, 3));
        address arbiter = arbitersOf(job.dispute.arbiterSet)[who % 3];
        bytes32 key = keccak256(abi.encode(jobId, job.dispute.count));
        Ruling earlier = _voteOf[key][arbiter];
        bool allowed = earlier != ruling && block.timestamp >= job.dispute.ruleFrom;
        VM.prank(arbiter);
        try panel.vote(jobId, ruling) {
            require(allowed, "a vote too early, or the same one twice");
        } catch {
            require(!allowed, "a legal vote was refused");
            done["vote refused"] += 1;
            return;
        }
        if (earlier != Ruling.None) {
            _votes[key][earlier] -= 1;
            done["vote changed"] += 1;
        }
        _voteOf[key][arbiter] = ruling;
        _votes[key][ruling] += 1;
        touched = jobId;
        if (_votes[key][ruling] < 2) return;
        _resolve(job, ruling, ruling == Ruling.WorkerAtFault ? _slash(job) : false);
        done[_name(ruling, job.dispute.fromProven)] += 1;
    }

    /// @notice By a stranger. Waits for its time if it has to.
    function expire(uint256 which) public {
        bytes16 jobId = _jobIn(which, DISPUTED);
        if (jobId == 0) return;
        if (block.timestamp < ghosts[jobId].due) VM.warp(ghosts[jobId].due);
        _expire(jobId);
    }

    /// @notice Two Completions of the job's worker, shown by a stranger; the proven one without its signature.
    function proveEquivocation(uint256 which, uint256 tokens) public {
        // Every fourth time a job whose dispute has ended.
        bytes16 jobId = _jobIn(which, type(uint256).max);
        for (uint256 i = 0; tokens % 4 == 0 && i < jobs.length; ++i)
            if (ghosts[jobs[i]].status == JobStatus.Settled && ghosts[jobs[i]].dispute.count != 0) jobId = jobs[i];
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0 || job.worker == 0 || block.timestamp >= job.lockedAt + EQUIVOCATION) return;
        uint256 key = FIRST_WORKER_KEY + job.worker - 1;
        Completion memory first = Completion(jobId, keccak256("first"), 1, uint32(tokens), 0, 5, 1);
        Completion memory second = Completion(jobId, keccak256("second"), 1, uint32(tokens), 0, 6, 1);
        Signature memory firstByWorker;
        if (job.proven) first = job.completion;
        else firstByWorker = signCompletion(key, first);
        Signature memory secondByWorker = signCompletion(key, second);
        VM.prank(STRANGER);
        try escrow.proveEquivocation(first, firstByWorker, second, secondByWorker) {
            require(job.slashes == 0, "a job was slashed twice");
        } catch {
            require(job.slashes != 0, "an equivocation went unpunished");
            return;
        }
        _slash(job);
        _equivocated(job);
        touched = jobId;
    }

    /// @notice The newest debt, or an older one; paid if the treasury can and the day's cap allows.
    function collectDebt(uint256 which) external {
        bytes16 jobId;
        for (uint256 i = 0; i < jobs.length; ++i) {
            bool owed = ghosts[jobs[i]].granted > ghosts[jobs[i]].paid;
            if (owed && (jobId == 0 || which % 4 != 0)) jobId = jobs[i];
        }
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0) return;
        bool allowed = !_isCapped(job) || _allowance(job.operator) != 0;
        bool can = _moves(address(escrow)) && held[address(treasury)] != 0 && allowed;
        try escrow.collectDebt(jobId) {
            require(can, "a debt was paid from nothing, or above the day's cap");
        } catch {
            require(!can, "a debt was not paid");
            return;
        }
        _payOwed(job);
        touched = jobId;
        done["collectDebt"] += 1;
    }

    function _expire(bytes16 jobId) internal {
        VM.prank(STRANGER);
        escrow.expire(jobId);
        _resolve(ghosts[jobId], Ruling.None, false);
        touched = jobId;
        done[_name(Ruling.None, ghosts[jobId].dispute.fromProven)] += 1;
    }

    function _newDispute(JobGhost storage job, bool byOperator) private view returns (DisputeGhost memory dispute) {
        dispute.count = job.dispute.count + 1;
        dispute.byOperator = byOperator;
        dispute.afterEquivocation = job.slashes != 0;
        dispute.fromProven = job.status == JobStatus.Proven;
        dispute.ruleFrom = block.timestamp;
        if (byOperator) dispute.ruleFrom += INCLUSION + _above(job.due, block.timestamp + INCLUSION);
        dispute.arbiterSet = arbiterSet;
        uint256 charge = dispute.fromProven ? job.proof : job.charged;
        bool free = dispute.afterEquivocation || (byOperator && !dispute.fromProven);
        dispute.bond = free ? 0 : _least(charge, BOND);
    }

    function _mayJoin(JobGhost storage job) private view returns (bool) {
        return job.dispute.byOperator && !job.dispute.joined && block.timestamp < job.dispute.ruleFrom;
    }

    function _mayOpen(JobGhost storage job, DisputeGhost memory dispute) private view returns (bool) {
        Wallet storage wallet = wallets[job.wallet];
        if (block.timestamp >= job.due) return false;
        if (!dispute.byOperator) {
            uint256 missing = _above(dispute.bond, wallet.free);
            // A key never buys a bond.
            if (
                dispute.byKey
                    ? missing != 0 || wallet.openByKey >= wallet.mostOpen
                    : held[job.wallet] < missing * 10_000
            ) return false;
            return job.dispute.count == 0 || (dispute.afterEquivocation && !job.dispute.afterEquivocation);
        }
        if (dispute.afterEquivocation || job.dispute.count != 0) return false;
        return dispute.fromProven ? operators[job.operator].reserve >= dispute.bond : wallet.openDisputes < 8;
    }

    function _opened(JobGhost storage job, DisputeGhost memory dispute) private {
        Wallet storage wallet = wallets[job.wallet];
        job.dispute = dispute;
        if (job.part == Part.Earned) _movePart(job, Part.Held);
        (job.status, job.due) = (JobStatus.Disputed, block.timestamp + ARBITRATION);
        if (!dispute.byOperator) {
            uint256 missing = _above(dispute.bond, wallet.free);
            if (missing != 0) done["bond bought"] += 1;
            held[job.wallet] -= missing * 10_000;
            wallet.free = wallet.free + missing - dispute.bond;
            wallet.escrowed += dispute.bond;
            if (dispute.byKey) wallet.openByKey += 1;
        } else if (dispute.fromProven) {
            operators[job.operator].reserve -= dispute.bond;
            operators[job.operator].held += dispute.bond;
            done["operator's bond"] += 1;
        } else {
            wallet.openDisputes += 1;
        }
    }

    function _equivocated(JobGhost storage job) private {
        JobStatus status = job.status;
        if (status == JobStatus.Acknowledged || status == JobStatus.Proven) {
            _returnAll(job);
            job.status = JobStatus.Refunded;
            done[status == JobStatus.Proven ? "equivocation proven" : "equivocation acknowledged"] += 1;
        } else if (status == JobStatus.Disputed && job.dispute.fromProven) {
            _resolve(job, Ruling.WorkerAtFault, false);
            done["equivocation disputed, proven"] += 1;
        } else if (status == JobStatus.Disputed) {
            if (job.part != Part.Nowhere) _movePart(job, Part.Nowhere);
            _grant(job, job.charged * job.fee, false);
            done["equivocation disputed, settled"] += 1;
        } else if (status == JobStatus.Settled) {
            job.due = block.timestamp + EQUIVOCATION;
            if (job.part != Part.Nowhere) _movePart(job, Part.Nowhere);
            _grant(job, job.charged * job.fee, false);
            done[job.dispute.count == 0 ? "equivocation settled" : "equivocation after a dispute"] += 1;
        } else {
            done["equivocation ended"] += 1;
        }
    }

    /// @dev Who pays what when a dispute ends.
    function _resolve(JobGhost storage job, Ruling ruling, bool full) private {
        DisputeGhost storage dispute = job.dispute;
        Wallet storage wallet = wallets[job.wallet];
        bool rejected = ruling == Ruling.Rejected;
        dispute.ruling = ruling;
        if (dispute.byOperator && !dispute.fromProven) wallet.openDisputes -= 1;
        if (dispute.byKey) wallet.openByKey -= 1;
        if (dispute.byOperator) {
            operators[job.operator].held -= dispute.bond;
            if (rejected && !dispute.conceded) _paid(payoutAt(job.worker - 1), dispute.bond * 10_000);
            else operators[job.operator].reserve += dispute.bond;
        } else {
            wallet.escrowed -= dispute.bond;
            if (rejected) _paid(address(treasury), dispute.bond * 10_000);
            else wallet.free += dispute.bond;
        }
        if (job.part == Part.Held) _movePart(job, rejected ? Part.Earned : Part.Nowhere);
        if (rejected) {
            job.status = dispute.fromProven ? JobStatus.Proven : JobStatus.Settled;
            if (dispute.fromProven) job.due = block.timestamp;
            return;
        }
        job.status = ruling == Ruling.None && !dispute.fromProven ? JobStatus.Settled : JobStatus.Refunded;
        if (dispute.fromProven) {
            _returnAll(job);
            if (ruling == Ruling.GatewayAtFault) _payWorker(job);
            return;
        }
        if (ruling == Ruling.GatewayAtFault) {
            uint256 credits = (job.charged * 10_000 - job.granted) / 10_000;
            credits = _takeReserve(job.operator, credits);
            wallet.free += credits;
            _grant(job, (job.charged - credits) * 10_000, false);
        } else {
            bool whole = ruling == Ruling.WorkerAtFault && full;
            _grant(job, job.charged * (whole ? 10_000 : job.fee), false);
        }
    }

    /// @dev Up to a bond by the operator first, with the protocol's fee on it; by the treasury what is left of its share.
    function _payWorker(JobGhost storage job) private {
        uint256 credits = _takeReserve(job.operator, _least(job.proof, BOND));
        _paid(payoutAt(job.worker - 1), credits * (10_000 - job.fee));
        _paid(address(treasury), credits * job.fee);
        _grant(job, (job.proof - credits) * (10_000 - job.fee), true);
    }

    function _takeReserve(uint256 operator, uint256 credits) private returns (uint256 taken) {
        taken = _least(credits, operators[operator].reserve);
        operators[operator].reserve -= taken;
        if (taken != 0) done["operator charged"] += 1;
    }

    function _name(Ruling ruling, bool fromProven) private pure returns (string memory) {
        if (ruling == Ruling.WorkerAtFault) return fromProven ? "worker at fault, proven" : "worker at fault, settled";
        if (ruling == Ruling.GatewayAtFault)
            return fromProven ? "gateway at fault, proven" : "gateway at fault, settled";
        if (ruling == Ruling.Rejected) return fromProven ? "rejected, proven" : "rejected, settled";
        return fromProven ? "expired, proven" : "expired, settled";
    }
}

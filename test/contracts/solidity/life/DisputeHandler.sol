// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Completion, JobStatus, Ruling} from "../../../../contracts/libraries/JobTypes.sol";
import {VM, within} from "../Vm.sol";
import {JobHandler} from "./JobHandler.sol";

/// @notice Disputes, votes, expiry, equivocation and debts.
abstract contract DisputeHandler is JobHandler {
    uint256 internal constant SETTLED = 1 << uint8(JobStatus.Settled);
    uint256 internal constant DISPUTED = 1 << uint8(JobStatus.Disputed);
    uint256 internal constant BOND = 100;

    mapping(bytes16 jobId => mapping(Ruling => uint256)) private _votes;
    mapping(bytes16 jobId => mapping(address arbiter => bool)) private _hasVoted;

    function openDispute(uint256 which, bool byGateway) public {
        bytes16 jobId = _jobIn(which, SETTLED | PROVEN);
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0) return;
        Wallet storage wallet = wallets[job.wallet];
        bool allowed =
            !job.disputed && block.timestamp < job.due && (byGateway ? wallet.openDisputes < 8 : wallet.free >= BOND);
        // Beforehand, or its calls would be the ones that are pranked.
        Completion memory completion = job.completion;
        address by = byGateway ? gateway : job.wallet;
        bytes32 receivedHash = ~completion.proofHash;
        uint256 worker = FIRST_WORKER_KEY + job.worker - 1;
        (bytes32 r, bytes32 vs) = _signature(worker, completion);
        VM.prank(by);
        (bool ok, ) = address(escrow).call(
            abi.encodeWithSelector(escrow.openDispute.selector, receivedHash, completion, r, vs)
        );
        require(ok == allowed, "a dispute out of time, of its limits or a second time, or a legal one refused");
        if (!ok) return;
        (job.disputed, job.byGateway, job.arbiterSet) = (true, byGateway, arbiterSet);
        job.fromProven = job.status == JobStatus.Proven;
        (job.status, job.due) = (JobStatus.Disputed, block.timestamp + ARBITRATION);
        if (byGateway) {
            wallet.openDisputes += 1;
        } else {
            job.bond = BOND;
            wallet.free -= BOND;
            wallet.escrowed += BOND;
        }
        touched = jobId;
        done[job.fromProven ? "dispute proven" : "dispute settled"] += 1;
    }

    /// @notice One arbiter of the pinned set; the second equal vote rules.
    function vote(uint256 which, uint256 who, uint256 how) public {
        bytes16 jobId = _jobIn(which, DISPUTED);
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0 || block.timestamp >= job.due) return;
        Ruling ruling = Ruling(within(how, 1, 3));
        address arbiter = arbitersOf(job.arbiterSet)[who % 3];
        if (_hasVoted[jobId][arbiter]) return;
        VM.prank(arbiter);
        panel.vote(jobId, ruling);
        _hasVoted[jobId][arbiter] = true;
        _votes[jobId][ruling] += 1;
        touched = jobId;
        if (_votes[jobId][ruling] < 2) return;
        _resolve(job, ruling, ruling == Ruling.WorkerAtFault ? _slash(job) : false);
        done[_name(ruling, job.fromProven)] += 1;
    }

    /// @notice By a stranger. Waits for its time if it has to.
    function expire(uint256 which) public {
        bytes16 jobId = _jobIn(which, DISPUTED);
        if (jobId == 0) return;
        if (block.timestamp < ghosts[jobId].due) VM.warp(ghosts[jobId].due);
        _expire(jobId);
    }

    /// @notice Two Completions of the job's worker, shown by a stranger.
    function proveEquivocation(uint256 which, uint256 tokens) public {
        // Every fourth time a job whose dispute expired.
        bytes16 jobId = _jobIn(which, type(uint256).max);
        for (uint256 i = 0; tokens % 4 == 0 && i < jobs.length; ++i) if (ghosts[jobs[i]].expired) jobId = jobs[i];
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0 || job.worker == 0 || block.timestamp >= job.lockedAt + EQUIVOCATION) return;
        uint256 key = FIRST_WORKER_KEY + job.worker - 1;
        Completion memory first = Completion(jobId, keccak256("first"), 1, uint32(tokens), 1);
        Completion memory second = Completion(jobId, keccak256("second"), 1, uint32(tokens), 1);
        VM.prank(STRANGER);
        try escrow.proveEquivocation(first, signCompletion(key, first), second, signCompletion(key, second)) {} catch {
            require(job.slashes != 0, "an equivocation went unpunished");
            return;
        }
        require(job.slashes == 0, "a job was slashed twice");
        _equivocated(job, _slash(job));
        touched = jobId;
    }

    /// @notice The newest debt; paid if the treasury can.
    function collectDebt() external {
        bytes16 jobId;
        for (uint256 i = 0; i < jobs.length; ++i) if (ghosts[jobs[i]].debt != 0) jobId = jobs[i];
        JobGhost storage job = ghosts[jobId];
        if (jobId == 0) return;
        bool can = _moves(address(escrow)) && held[address(treasury)] != 0;
        try escrow.collectDebt(jobId) {
            require(can, "a debt was paid from nothing");
        } catch {
            require(!can, "a debt was not paid");
            return;
        }
        _compensate(job, job.debt, job.debtToWorker);
        touched = jobId;
        done["collectDebt"] += 1;
    }

    function _expire(bytes16 jobId) internal {
        VM.prank(STRANGER);
        escrow.expire(jobId);
        ghosts[jobId].expired = true;
        _resolve(ghosts[jobId], Ruling.None, false);
        touched = jobId;
        done[_name(Ruling.None, ghosts[jobId].fromProven)] += 1;
    }

    function _equivocated(JobGhost storage job, bool full) private {
        JobStatus status = job.status;
        if (status == JobStatus.Acknowledged) {
            (job.status, job.worker) = (JobStatus.Locked, 0);
            done["equivocation acknowledged"] += 1;
        } else if (status == JobStatus.Proven) {
            _returnAll(job);
            job.status = JobStatus.Refunded;
            done["equivocation proven"] += 1;
        } else if (status == JobStatus.Disputed) {
            _resolve(job, Ruling.WorkerAtFault, full);
            done["equivocation disputed"] += 1;
        } else if (status == JobStatus.Settled) {
            job.status = JobStatus.Refunded;
            uint256 fee_ = job.charged * job.fee;
            uint256 units = full ? job.charged * 10_000 : fee_;
            if (job.expired) units = units - fee_ + job.debt;
            _compensate(job, units, false);
            done[job.expired ? "equivocation expired" : "equivocation settled"] += 1;
        } else {
            done["equivocation ended"] += 1;
        }
    }

    /// @dev Who pays what when a dispute ends.
    function _resolve(JobGhost storage job, Ruling ruling, bool full) private {
        Wallet storage wallet = wallets[job.wallet];
        job.ruling = ruling;
        if (job.byGateway) wallet.openDisputes -= 1;
        wallet.escrowed -= job.bond;
        if (ruling == Ruling.Rejected) {
            if (job.bond != 0) _paid(address(treasury), job.bond * 10_000);
            job.status = job.fromProven ? JobStatus.Proven : JobStatus.Settled;
            if (job.fromProven) job.due = block.timestamp;
            return;
        }
        wallet.free += job.bond;
        job.status = ruling == Ruling.None && !job.fromProven ? JobStatus.Settled : JobStatus.Refunded;
        if (job.fromProven) {
            _returnAll(job);
            if (ruling == Ruling.GatewayAtFault) _compensate(job, job.proof * (10_000 - job.fee), true);
            return;
        }
        bool whole = ruling == Ruling.GatewayAtFault || (ruling == Ruling.WorkerAtFault && full);
        _compensate(job, job.charged * (whole ? 10_000 : job.fee), false);
    }

    function _signature(uint256 key, Completion memory completion) private view returns (bytes32, bytes32) {
        return (signCompletion(key, completion).r, signCompletion(key, completion).vs);
    }

    function _name(Ruling ruling, bool fromProven) private pure returns (string memory) {
        if (ruling == Ruling.WorkerAtFault) return fromProven ? "worker at fault, proven" : "worker at fault, settled";
        if (ruling == Ruling.GatewayAtFault)
            return fromProven ? "gateway at fault, proven" : "gateway at fault, settled";
        if (ruling == Ruling.Rejected) return fromProven ? "rejected, proven" : "rejected, settled";
        return fromProven ? "expired, proven" : "expired, settled";
    }
}

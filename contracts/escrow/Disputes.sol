// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IArbitrationPanel} from "../interfaces/IArbitrationPanel.sol";
import {IDisputes} from "../interfaces/IDisputes.sol";
import {JobMessages} from "../libraries/JobMessages.sol";
import {Account, Completion, Dispute, Job, JobStatus, Ruling, Signature} from "../libraries/JobTypes.sol";
import {Compensation} from "./Compensation.sol";

/// @title open → rule | expire, and equivocation
/// @notice Who pays when: a worker at fault is slashed, a gateway at fault costs the treasury, silence of the arbiters costs
///         the protocol its fee.
abstract contract Disputes is Compensation {
    using JobMessages for *;

    /// @notice Credits a wallet puts up for a dispute of its own; the gateway puts up none.
    uint32 public constant DISPUTE_BOND = 100;
    /// @notice Gateway-opened disputes an account can have at a time.
    uint8 public constant DISPUTE_LIMIT = 8;

    IArbitrationPanel public immutable PANEL;

    mapping(bytes16 jobId => Dispute) private _disputes;

    constructor(IArbitrationPanel panel) {
        PANEL = panel;
    }

    /// @inheritdoc IDisputes
    function openDispute(
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker
    ) external nonReentrant {
        bytes16 jobId = completion.jobId;
        Job memory job = _load(jobId);
        if (job.status != JobStatus.Settled && job.status != JobStatus.Proven) {
            revert Job_WrongState(jobId, uint8(job.status));
        }
        uint256 deadline = uint256(job.lockedAt) + job.deadline;
        if (block.timestamp >= deadline) revert Job_TooLate(jobId, deadline, block.timestamp);
        if (_disputes[jobId].openedAt != 0) revert Dispute_AlreadyOpened(jobId);
        if (receivedHash == completion.proofHash) revert Dispute_SameHash(jobId);
        bytes32 structHash = completion.hash();
        address signer = _workerOf(job, structHash, byWorker);
        bool proven = job.status == JobStatus.Proven;
        if (proven && _proofs[jobId].digest != bytes28(structHash)) revert Settlement_OtherCompletion(jobId);

        address wallet = walletOf(job.account);
        Account memory account = _accountOf(wallet);
        bool byGateway = msg.sender != wallet;
        uint32 bond = 0;
        if (byGateway) {
            if (_gatewayId(msg.sender) != job.gateway) revert Dispute_NotAParty(jobId, msg.sender);
            if (account.openDisputes == DISPUTE_LIMIT) revert Dispute_TooMany(wallet);
            account.openDisputes += 1;
        } else {
            bond = DISPUTE_BOND;
            if (account.free < bond) revert Ledger_InsufficientCredits(wallet, account.free, bond);
            account.free -= bond;
            account.escrowed += bond;
        }
        _store(wallet, account);
        uint32 arbiterSet = PANEL.currentSet();
        _disputes[jobId] = Dispute({
            openedAt: uint40(block.timestamp),
            arbiterSet: arbiterSet,
            bond: bond,
            byGateway: byGateway,
            fromProven: proven,
            resolved: false,
            ruling: Ruling.None
        });
        job.status = JobStatus.Disputed;
        job.deadline = uint32(block.timestamp - job.lockedAt) + ARBITRATION_WINDOW;
        _save(jobId, job);
        emit JobDisputed(
            jobId,
            wallet,
            signer,
            receivedHash,
            completion.proofHash,
            byGateway,
            proven ? _proofs[jobId].credits : job.credits,
            bond,
            arbiterSet,
            job.lockedAt + job.deadline,
            account.free,
            account.escrowed
        );
    }

    /// @inheritdoc IDisputes
    function rule(bytes16 jobId, Ruling ruling) external nonReentrant {
        if (msg.sender != address(PANEL)) revert Dispute_NotThePanel(msg.sender);
        if (ruling == Ruling.None) revert Dispute_InvalidRuling();
        Job memory job = _disputed(jobId);
        uint256 deadline = uint256(job.lockedAt) + job.deadline;
        if (block.timestamp >= deadline) revert Job_TooLate(jobId, deadline, block.timestamp);
        bool punished = ruling == Ruling.WorkerAtFault && REGISTRY.slash(jobId, false);
        _resolve(jobId, job, ruling, punished);
    }

    /// @inheritdoc IDisputes
    function expire(bytes16 jobId) external nonReentrant {
        Job memory job = _disputed(jobId);
        uint256 deadline = uint256(job.lockedAt) + job.deadline;
        if (block.timestamp < deadline) revert Job_TooEarly(jobId, deadline, block.timestamp);
        _resolve(jobId, job, Ruling.None, false);
    }

    /// @inheritdoc IDisputes
    function proveEquivocation(
        Completion calldata first,
        Signature calldata firstByWorker,
        Completion calldata second,
        Signature calldata secondByWorker
    ) external nonReentrant {
        bytes16 jobId = first.jobId;
        Job memory job = _load(jobId);
        if (job.worker == 0) revert Job_WrongState(jobId, uint8(job.status));
        uint256 deadline = uint256(job.lockedAt) + EQUIVOCATION_WINDOW;
        if (block.timestamp >= deadline) revert Job_TooLate(jobId, deadline, block.timestamp);
        bytes32 firstHash = first.hash();
        bytes32 secondHash = second.hash();
        if (second.jobId != jobId || firstHash == secondHash) revert Dispute_NoEquivocation(jobId);
        address signer = _workerOf(job, firstHash, firstByWorker);
        _workerOf(job, secondHash, secondByWorker);

        bool punished = REGISTRY.slash(jobId, true);
        emit WorkerEquivocated(jobId, signer, first.proofHash, second.proofHash);
        if (job.status == JobStatus.Disputed) {
            _resolve(jobId, job, Ruling.WorkerAtFault, punished);
        } else if (job.status == JobStatus.Proven) {
            (address wallet, Account memory account) = _return(jobId, job, JobStatus.Refunded);
            emit JobRefunded(jobId, wallet, job.credits, account.free, account.escrowed);
        } else if (job.status == JobStatus.Settled) {
            job.status = JobStatus.Refunded;
            _save(jobId, job);
            Dispute memory dispute = _disputes[jobId];
            uint256 fee = _fee(job);
            uint256 units = punished ? uint256(job.credits) * UNITS_PER_CREDIT : fee;
            // An expired dispute gave the fee back already, or made it a debt that still stands.
            bool feeReturned = dispute.resolved && dispute.ruling == Ruling.None;
            _compensate(jobId, job, feeReturned ? units - fee + _debtUnits(jobId) : units, false);
        }
    }

    /// @inheritdoc IDisputes
    function disputeOf(bytes16 jobId) external view returns (Dispute memory) {
        return _disputes[jobId];
    }

    /// @dev Ends a dispute. `punished`: the slash took its full amount.
    function _resolve(bytes16 jobId, Job memory job, Ruling ruling, bool punished) private {
        Dispute memory dispute = _disputes[jobId];
        dispute.resolved = true;
        dispute.ruling = ruling;
        _disputes[jobId] = dispute;
        address wallet = walletOf(job.account);
        Account memory account = _accountOf(wallet);
        if (dispute.byGateway) account.openDisputes -= 1;

        bool rejected = ruling == Ruling.Rejected;
        uint32 returned = rejected ? 0 : dispute.bond;
        account.escrowed -= dispute.bond;
        account.free += returned;
        uint256 units = 0;
        bool toWorker = false;
        if (dispute.fromProven) {
            if (rejected) {
                // The proof stands: anyone can finalize it from now on.
                job.status = JobStatus.Proven;
                job.deadline = uint32(block.timestamp - job.lockedAt);
            } else {
                job.status = JobStatus.Refunded;
                returned += job.credits;
                _unescrow(account, job.credits, job.credits, job.lockedAt);
                // The worker did its work and the gateway hid it: the protocol pays, not the worker.
                if (ruling == Ruling.GatewayAtFault) {
                    uint256 credits = _proofs[jobId].credits;
                    units = credits * (UNITS_PER_CREDIT - job.feeBps);
                    toWorker = true;
                }
            }
        } else if (ruling == Ruling.WorkerAtFault || ruling == Ruling.GatewayAtFault) {
            job.status = JobStatus.Refunded;
            bool full = punished || ruling == Ruling.GatewayAtFault;
            units = full ? uint256(job.credits) * UNITS_PER_CREDIT : _fee(job);
        } else {
            job.status = JobStatus.Settled;
            if (ruling == Ruling.None) units = _fee(job);
        }
        _store(wallet, account);
        _save(jobId, job);
        emit DisputeResolved(jobId, wallet, ruling, job.status, returned, account.free, account.escrowed);
        if (rejected && dispute.bond != 0) {
            _release(dispute.bond);
            _pay(jobId, treasury(), uint256(dispute.bond) * UNITS_PER_CREDIT);
        }
        _compensate(jobId, job, units, toWorker);
    }

    function _disputed(bytes16 jobId) private view returns (Job memory job) {
        job = _load(jobId);
        if (job.status != JobStatus.Disputed) revert Job_WrongState(jobId, uint8(job.status));
    }

    /// @dev Signer of a Completion, when it is the job's worker.
    function _workerOf(
        Job memory job,
        bytes32 structHash,
        Signature calldata byWorker
    ) private view returns (address signer) {
        signer = structHash.recover(_domainSeparatorV4(), byWorker);
        (uint32 worker, ) = REGISTRY.payeeOf(signer);
        if (worker == 0 || worker != job.worker) revert Job_NotTheWorker(0, signer);
    }

    /// @dev Protocol fee of a charged job, token units.
    function _fee(Job memory job) private pure returns (uint256) {
        return uint256(job.credits) * job.feeBps;
    }
}

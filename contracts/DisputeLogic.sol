// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {BoundedCall} from "./BoundedCall.sol";
import {Compensation, DayTotal, Deployment, EscrowState, Ledger} from "./EscrowState.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {IProtocolTreasury} from "./interfaces/IProtocolTreasury.sol";
import {JobMessages} from "./JobMessages.sol";
import {Completion, Dispute, DisputeKey, JobStatus, Operator, Ruling, Signature} from "./Types.sol";
import {AccountSlot, JobSlot} from "./Words.sol";

/// @title Disputes, as the escrow's linked library
/// @notice The rare paths of the state machine. The escrow calls these functions by delegatecall: they run on its storage, under
///         its address and behind its reentrancy guard; deployed apart only because one contract cannot hold all the code.
///         The link is fixed in the escrow's bytecode. Called directly, the library reverts.
/// @dev Who pays when a dispute ends (C: the job's charge; fee: the protocol's share of C):
///
///   disputed from  ruling             client                  worker           operator         treasury
///   -------------  -----------------  ----------------------  ---------------  ---------------  --------------------
///   Settled        worker at fault    C, or fee if the slash  loses the slash  -                pays that, has the slash
///                                     was short
///   Settled        gateway at fault   C                       -                pays first       pays the rest
///   Settled        rejected           loses its bond          -                -                has the bond
///   Settled        none (expired)     fee                     -                -                pays it
///   Proven         worker at fault    escrow                  loses the slash  -                has the slash
///   Proven         gateway at fault   escrow                  C - fee          pays up to BOND  pays the rest
///   Proven         rejected           job can be finalized    + the operator's loses its bond,  has the wallet's bond
///                                                             bond             if it opened
///   Proven         none (expired)     escrow                  unpaid           -                -
///
/// The operator's part of the fee leaves its earnings when the settled job is disputed, and returns if that is rejected. With every
/// other end, and with two signed answers, it goes to the treasury before that pays: then the treasury has had the whole fee. To
/// take it only at the end would be too late, because a dispute without a ruling can be ended when the part has vested long since.
///
/// A bond is the smaller of C and BOND. For a proven job, which its operator never vouched for, the operator owes no more than
/// that either way; and it keeps its bond if the wallet joined with the hash that the worker signed.
library DisputeLogic {
    using JobMessages for *;
    using Ledger for AccountSlot;
    using Ledger for EscrowState;

    /// @notice Most credits that a wallet puts up for a dispute of its own, and that an operator can lose for a proven job.
    uint32 internal constant BOND = 100;
    /// @notice Disputes of settled jobs that the operator can have open for one account.
    uint8 internal constant LIMIT = 8;
    /// @notice Longest time a DisputeRequest can be signed ahead, seconds.
    uint256 internal constant REQUEST_SPAN = 600;

    /// @dev Where the operator's part of a settled job's fee is.
    enum Part {
        Earned, // in the operator's earnings
        Held, // in the escrow, while the job is in dispute
        Forfeited // with the treasury
    }

    /// @dev Who opens a dispute: a caller for itself, or the wallet by its dispute key.
    struct Opener {
        address party; // the wallet, or a signer of the operator
        bool byKey;
        uint32 maxBond; // of a request; not looked at for a caller
    }

    // ------------------------------------------------------------------------------------------------- dispute keys

    /// @notice See IInferenceEscrow.setDisputeKey.
    function setKey(EscrowState storage state, address key, uint8 mostOpen) external {
        if (key == address(0)) mostOpen = 0;
        AccountSlot account = state.accountOf(msg.sender).counted();
        state.accounts[msg.sender] = account;
        DisputeKey storage k = state.disputeKeys[msg.sender];
        // What earlier keys have open stays counted.
        (k.key, k.sequence, k.mostOpen) = (key, account.sequence(), mostOpen);
        emit IInferenceEscrow.DisputeKeySet(account.id(), msg.sender, key, account.sequence(), mostOpen);
    }

    /// @notice See IInferenceEscrow.disputeByKey.
    function openByKey(
        EscrowState storage state,
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker,
        uint32 maxBond,
        uint40 expiresAt,
        Signature calldata byKey
    ) external {
        bytes16 jobId = completion.jobId;
        if (block.timestamp >= expiresAt) revert IInferenceEscrow.Job_TooLate(jobId, expiresAt, block.timestamp);
        uint256 latest = block.timestamp + REQUEST_SPAN;
        if (expiresAt > latest) revert IInferenceEscrow.Dispute_RequestTooLong(expiresAt, latest);
        JobSlot job = state.jobs[jobId];
        address wallet = state.wallets[job.account()];
        DisputeKey memory k = state.disputeKeys[wallet];
        // What the chain knows is not sent: which naming of the key counts, and of the Completion only what was signed for.
        bytes32 structHash = JobMessages.hashDisputeRequest(
            jobId,
            receivedHash,
            completion.proofHash,
            maxBond,
            k.sequence,
            expiresAt
        );
        address signer = structHash.recover(IInferenceEscrow(address(this)).domainSeparator(), byKey);
        if (k.key == address(0) || signer != k.key) revert IInferenceEscrow.Dispute_NotSigned(jobId, k.key, signer);
        if (job.isIn(JobStatus.Disputed)) {
            _join(state, jobId, wallet, receivedHash);
        } else {
            Opener memory opener = Opener({party: wallet, byKey: true, maxBond: maxBond});
            _open(state, opener, receivedHash, completion, byWorker);
        }
        emit IInferenceEscrow.DisputeSigned(jobId, k.key);
    }

    // ------------------------------------------------------------------------------------------------------ opening

    /// @notice See IInferenceEscrow.openDispute.
    function open(
        EscrowState storage state,
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker
    ) external {
        bytes16 jobId = completion.jobId;
        // Its operator may have come first, in the last block of the window, with a hash of its own choice.
        if (state.jobs[jobId].isIn(JobStatus.Disputed) && msg.sender == state.wallets[state.jobs[jobId].account()]) {
            return _join(state, jobId, msg.sender, receivedHash);
        }
        _open(state, Opener({party: msg.sender, byKey: false, maxBond: 0}), receivedHash, completion, byWorker);
    }

    function _open(
        EscrowState storage state,
        Opener memory opener,
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker
    ) private {
        Deployment memory d = state.deployment;
        bytes16 jobId = completion.jobId;
        JobSlot job = state.jobs[jobId];
        address wallet = state.wallets[job.account()];
        bool proven = job.isIn(JobStatus.Proven);
        if (!proven && !job.isIn(JobStatus.Settled)) Ledger.wrongState(jobId, job);
        uint256 deadline = job.dueAt();
        if (block.timestamp >= deadline) revert IInferenceEscrow.Job_TooLate(jobId, deadline, block.timestamp);
        if (receivedHash == completion.proofHash) revert IInferenceEscrow.Dispute_SameHash(jobId);
        bytes32 structHash = completion.hash();
        if (proven && state.proofs[jobId].digest != bytes28(structHash)) {
            revert IInferenceEscrow.Settlement_OtherCompletion(jobId);
        }
        address worker = _workerOf(state, d, jobId, job, structHash, byWorker);

        uint32 credits = proven ? state.proofs[jobId].credits : job.credits();
        Dispute memory dispute = _entitled(state, d, jobId, job, opener, wallet, credits);
        dispute.workerHash = bytes7(completion.proofHash);
        AccountSlot account = state.accounts[wallet];
        uint32 bond = dispute.bond;
        if (!dispute.byOperator) {
            if (opener.byKey) _useKey(state, jobId, wallet, account, bond, opener.maxBond);
            else if (account.free() < bond) {
                state.purchase(d.token, wallet, bond - account.free(), 0);
                account = state.accounts[wallet];
            }
            account = account.withBalance(account.free() - bond, account.escrowed() + bond);
        } else if (proven) {
            _operatorBond(state, jobId, job.operator(), bond);
        } else {
            if (account.openDisputes() == LIMIT) revert IInferenceEscrow.Dispute_TooMany(wallet);
            account = account.withOpenDisputes(account.openDisputes() + 1);
        }
        state.accounts[wallet] = account;
        state.disputes[jobId] = dispute;
        if (!proven) _movePart(state, d, jobId, job, Part.Earned, Part.Held);
        job = job.to(JobStatus.Disputed).withDueAt(block.timestamp + state.windows.arbitration);
        state.jobs[jobId] = job;
        emit IInferenceEscrow.JobDisputed(
            jobId,
            wallet,
            worker,
            receivedHash,
            completion.proofHash,
            dispute.byOperator,
            credits,
            dispute.bond,
            dispute.arbiterSet,
            dispute.ruleFrom,
            uint40(job.dueAt()),
            account.free(),
            account.escrowed()
        );
    }

    /// @notice See IInferenceEscrow.joinDispute.
    function join(EscrowState storage state, bytes16 jobId, bytes32 receivedHash) external {
        _join(state, jobId, msg.sender, receivedHash);
    }

    function _join(EscrowState storage state, bytes16 jobId, address party, bytes32 receivedHash) private {
        JobSlot job = _disputed(state, jobId);
        address wallet = state.wallets[job.account()];
        if (party != wallet) revert IInferenceEscrow.Dispute_NotAParty(jobId, party);
        Dispute storage dispute = state.disputes[jobId];
        if (!dispute.byOperator || dispute.joined) revert IInferenceEscrow.Dispute_AlreadyJoined(jobId);
        if (block.timestamp >= dispute.ruleFrom) {
            revert IInferenceEscrow.Job_TooLate(jobId, dispute.ruleFrom, block.timestamp);
        }
        dispute.joined = true;
        dispute.conceded = bytes7(receivedHash) == dispute.workerHash;
        dispute.ruleFrom = uint40(block.timestamp);
        emit IInferenceEscrow.DisputeJoined(jobId, wallet, receivedHash);
    }

    /// @dev Counts a dispute by key, when the wallet pays its bond from free credits. A key never reaches its stablecoin.
    function _useKey(
        EscrowState storage state,
        bytes16 jobId,
        address wallet,
        AccountSlot account,
        uint32 bond,
        uint32 maxBond
    ) private {
        DisputeKey storage k = state.disputeKeys[wallet];
        if (bond > maxBond) revert IInferenceEscrow.Dispute_BondAboveLimit(jobId, bond, maxBond);
        if (account.free() < bond) {
            revert IInferenceEscrow.Ledger_InsufficientCredits(wallet, account.free(), bond);
        }
        if (k.open >= k.mostOpen) revert IInferenceEscrow.Dispute_TooMany(wallet);
        ++k.open;
    }

    /// @dev The new dispute, when the opener may open it. A dispute by the operator waits for the end of the job's own window, and
    ///      leaves the wallet time to join it.
    function _entitled(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        JobSlot job,
        Opener memory opener,
        address wallet,
        uint32 credits
    ) private view returns (Dispute memory dispute) {
        Dispute memory earlier = state.disputes[jobId];
        (uint32 slashed, ) = d.registry.slashOf(jobId);
        // Only an equivocation leaves a job standing for which its worker was slashed.
        bool convicted = slashed != 0;
        bool byOperator = opener.party != wallet;
        if (byOperator && (convicted || !state.isSigner(opener.party, job.operator()))) {
            revert IInferenceEscrow.Dispute_NotAParty(jobId, opener.party);
        }
        bool again = earlier.openedAt != 0;
        if (again && (!convicted || earlier.afterEquivocation)) revert IInferenceEscrow.Dispute_AlreadyOpened(jobId);
        dispute.openedAt = uint40(block.timestamp);
        dispute.ruleFrom = uint40(block.timestamp);
        if (byOperator) {
            uint256 joinable = block.timestamp + state.windows.inclusion;
            dispute.ruleFrom = uint40(job.dueAt() > joinable ? job.dueAt() : joinable);
        }
        dispute.arbiterSet = d.panel.currentSet();
        dispute.byOperator = byOperator;
        dispute.byKey = opener.byKey;
        dispute.fromProven = job.isIn(JobStatus.Proven);
        // The operator vouched for a settled job: it says now that it was wrong, and puts up nothing.
        bool free = convicted || (byOperator && !dispute.fromProven);
        dispute.bond = free ? 0 : uint8(_least(credits, BOND));
        dispute.afterEquivocation = convicted;
    }

    function _operatorBond(EscrowState storage state, bytes16 jobId, uint8 operator, uint32 bond) private {
        Operator storage o = state.operators[operator];
        if (o.reserve < bond) revert IInferenceEscrow.Operator_ReserveTooSmall(operator, o.reserve, bond);
        state.setReserve(operator, jobId, o.reserve - bond, o.held + bond);
    }

    /// @dev The job's worker, when it stands behind this Completion: by its proof on record, or by its signature.
    function _workerOf(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        JobSlot job,
        bytes32 structHash,
        Signature calldata byWorker
    ) private view returns (address worker) {
        if (state.proofs[jobId].digest == bytes28(structHash)) return d.registry.signerOf(job.worker());
        worker = structHash.recover(IInferenceEscrow(address(this)).domainSeparator(), byWorker);
        if (d.registry.payeeOf(worker, 0).id() != job.worker()) {
            revert IInferenceEscrow.Job_NotTheWorker(jobId, worker);
        }
    }

    // ------------------------------------------------------------------------------------------------------- ending

    /// @notice See IInferenceEscrow.rule.
    function rule(EscrowState storage state, bytes16 jobId, Ruling ruling) external {
        Deployment memory d = state.deployment;
        if (msg.sender != address(d.panel)) revert IInferenceEscrow.Dispute_NotThePanel(msg.sender);
        if (ruling == Ruling.None) revert IInferenceEscrow.Dispute_InvalidRuling();
        JobSlot job = _disputed(state, jobId);
        uint256 from = state.disputes[jobId].ruleFrom;
        if (block.timestamp < from) revert IInferenceEscrow.Job_TooEarly(jobId, from, block.timestamp);
        uint256 deadline = job.dueAt();
        if (block.timestamp >= deadline) revert IInferenceEscrow.Job_TooLate(jobId, deadline, block.timestamp);
        bool punished = false;
        if (ruling == Ruling.WorkerAtFault) {
            // A job is slashed for at most once: after an equivocation that slash is the one that counts.
            uint32 slashed;
            (slashed, punished) = d.registry.slashOf(jobId);
            if (slashed == 0) punished = d.registry.slash(jobId, false);
        }
        _resolve(state, d, jobId, job, ruling, punished);
    }

    /// @notice See IInferenceEscrow.expire.
    function expire(EscrowState storage state, bytes16 jobId) external {
        JobSlot job = _disputed(state, jobId);
        uint256 deadline = job.dueAt();
        if (block.timestamp < deadline) revert IInferenceEscrow.Job_TooEarly(jobId, deadline, block.timestamp);
        _resolve(state, state.deployment, jobId, job, Ruling.None, false);
    }

    /// @notice See IInferenceEscrow.proveEquivocation.
    function proveEquivocation(
        EscrowState storage state,
        Completion calldata first,
        Signature calldata firstByWorker,
        Completion calldata second,
        Signature calldata secondByWorker
    ) external {
        Deployment memory d = state.deployment;
        bytes16 jobId = first.jobId;
        JobSlot job = state.jobs[jobId];
        if (job.worker() == 0) Ledger.wrongState(jobId, job);
        uint32 window = state.windows.equivocation;
        uint256 deadline = uint256(job.lockedAt()) + window;
        if (block.timestamp >= deadline) revert IInferenceEscrow.Job_TooLate(jobId, deadline, block.timestamp);
        bytes32 firstHash = first.hash();
        bytes32 secondHash = second.hash();
        if (second.jobId != jobId || firstHash == secondHash) revert IInferenceEscrow.Dispute_NoEquivocation(jobId);
        address worker = _workerOf(state, d, jobId, job, firstHash, firstByWorker);
        _workerOf(state, d, jobId, job, secondHash, secondByWorker);

        d.registry.slash(jobId, true);
        JobStatus status = job.status();
        bool disputed = status == JobStatus.Disputed;
        bool charged = status == JobStatus.Settled || (disputed && !state.disputes[jobId].fromProven);
        uint40 disputeBefore = 0;
        bool held = status == JobStatus.Acknowledged || status == JobStatus.Proven;
        if (held || (disputed && !charged)) {
            job = job.to(JobStatus.Refunded);
        } else if (status == JobStatus.Settled) {
            disputeBefore = uint40(block.timestamp) + window;
            job = job.withDueAt(disputeBefore);
        }
        emit IInferenceEscrow.WorkerEquivocated(
            jobId,
            worker,
            first.proofHash,
            second.proofHash,
            job.status(),
            disputeBefore
        );

        if (disputed && !charged) {
            _resolve(state, d, jobId, state.jobs[jobId], Ruling.WorkerAtFault, false);
        } else if (held) {
            (address wallet, AccountSlot account) = state.returnAll(jobId, job);
            emit IInferenceEscrow.JobRefunded(jobId, wallet, job.credits(), account.free(), account.escrowed());
        } else {
            state.jobs[jobId] = job;
            if (!charged) return;
            _movePart(state, d, jobId, job, disputed ? Part.Held : Part.Earned, Part.Forfeited);
            // No vote, so no more than what the protocol had of this job.
            _grant(state, d, jobId, job, job.feeUnits(), false);
        }
    }

    /// @dev Ends the dispute of a Disputed job.
    /// @param ruling None when it expired.
    /// @param punished The slash took its full amount.
    function _resolve(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        JobSlot job,
        Ruling ruling,
        bool punished
    ) private {
        Dispute memory dispute = state.disputes[jobId];
        dispute.resolved = true;
        dispute.ruling = ruling;
        state.disputes[jobId] = dispute;

        bool rejected = ruling == Ruling.Rejected;
        JobStatus end = JobStatus.Refunded;
        // A charge that nobody ruled on stands; an escrow that nobody ruled on returns.
        if (rejected) end = dispute.fromProven ? JobStatus.Proven : JobStatus.Settled;
        else if (ruling == Ruling.None && !dispute.fromProven) end = JobStatus.Settled;
        job = job.to(end);
        // The proof stands: anyone can finalize it from now on.
        if (end == JobStatus.Proven) job = job.withDueAt(block.timestamp);
        state.jobs[jobId] = job;

        address wallet = state.wallets[job.account()];
        AccountSlot account = state.accounts[wallet];
        uint32 escrowBack = dispute.fromProven && !rejected ? job.credits() : 0;
        account = account.returned(escrowBack, escrowBack, job.lockedAt());
        uint32 walletBond = dispute.byOperator ? 0 : dispute.bond;
        uint32 bondBack = rejected ? 0 : walletBond;
        account = account.released(walletBond, bondBack);
        if (dispute.byOperator && !dispute.fromProven) account = account.withOpenDisputes(account.openDisputes() - 1);
        if (dispute.byKey) --state.disputeKeys[wallet].open;
        state.accounts[wallet] = account;
        emit IInferenceEscrow.DisputeResolved(
            jobId,
            wallet,
            ruling,
            end,
            escrowBack + bondBack,
            account.free(),
            account.escrowed()
        );

        if (dispute.bond != 0) _settleBond(state, d, jobId, job, dispute, rejected);
        if (dispute.fromProven) {
            // The gateway hid the answer: the worker did its work.
            if (ruling == Ruling.GatewayAtFault) _payWorker(state, d, jobId, job);
            return;
        }
        _movePart(state, d, jobId, job, Part.Held, rejected ? Part.Earned : Part.Forfeited);
        if (ruling == Ruling.GatewayAtFault) {
            uint256 left = _chargeOperator(state, jobId, job, wallet);
            _grant(state, d, jobId, job, left, false);
        } else if (ruling == Ruling.WorkerAtFault && punished) {
            _grant(state, d, jobId, job, job.credits() * Ledger.UNITS_PER_CREDIT, false);
        } else if (!rejected) {
            _grant(state, d, jobId, job, job.feeUnits(), false);
        }
    }

    /// @dev A wallet's rejected bond goes to the treasury, an operator's to the worker whose proof it doubted. Others return, and so
    ///      does the operator's when the wallet has said that it has the proven text: with its client a worker could win it.
    function _settleBond(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        JobSlot job,
        Dispute memory dispute,
        bool rejected
    ) private {
        uint32 bond = dispute.bond;
        rejected = rejected && !dispute.conceded;
        if (dispute.byOperator) {
            Operator storage o = state.operators[job.operator()];
            state.setReserve(job.operator(), jobId, rejected ? o.reserve : o.reserve + bond, o.held - bond);
        }
        if (!rejected) return;
        state.creditsOwed -= bond;
        address payee = dispute.byOperator ? _payoutOf(d, job) : state.treasury;
        state.pay(d.token, jobId, payee, bond * Ledger.UNITS_PER_CREDIT);
    }

    // ----------------------------------------------------------------------------------------------------- earnings

    /// @dev Moves the operator's part of a settled job's fee. It cannot have vested when it leaves the earnings: disputes and
    ///      equivocations come sooner. Where the fee was given back before, the part went to the treasury, and nothing moves.
    function _movePart(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        JobSlot job,
        Part from,
        Part to
    ) private {
        uint256 part = job.operatorUnits();
        if (part == 0 || state.compensations[jobId].granted != 0) return;
        uint8 operator = job.operator();
        uint16 day = Ledger.dayOf(job.lockedAt());
        uint256 units = state.earnings[operator][day];
        if (from == Part.Earned) units -= part;
        if (to == Part.Earned) units += part;
        state.earnings[operator][day] = units;
        emit IInferenceEscrow.EarningsChanged(
            operator,
            jobId,
            ++state.operators[operator].sequence,
            day,
            units,
            to == Part.Held ? part : 0
        );
        if (to != Part.Forfeited) return;
        state.unitsOwed -= part;
        state.pay(d.token, jobId, state.treasury, part);
    }

    // ------------------------------------------------------------------------------------------------- compensation

    /// @notice See IInferenceEscrow.collectDebt.
    function collectDebt(EscrowState storage state, bytes16 jobId) external {
        Compensation storage c = state.compensations[jobId];
        uint256 owed = c.granted - c.paid;
        if (owed == 0) revert IInferenceEscrow.Dispute_NoDebt(jobId);
        JobSlot job = state.jobs[jobId];
        uint256 left = _allowance(state, job.operator());
        if (_payOwed(state, state.deployment, jobId, job) == 0)
            revert IInferenceEscrow.Dispute_NothingPaid(jobId, owed, left);
    }

    /// @dev The operator's reserve makes the client whole as far as it goes. Returns what the treasury's grant must come to:
    ///      what it granted before counts as paid to the client.
    function _chargeOperator(
        EscrowState storage state,
        bytes16 jobId,
        JobSlot job,
        address wallet
    ) private returns (uint256 left) {
        uint256 total = job.credits() * Ledger.UNITS_PER_CREDIT;
        uint256 missing = (total - state.compensations[jobId].granted) / Ledger.UNITS_PER_CREDIT;
        AccountSlot account = state.accounts[wallet];
        uint32 credits = uint32(_least(missing, _room(account)));
        credits = _takeReserve(state, jobId, job.operator(), credits);
        if (credits == 0) return total;
        account = account.withBalance(account.free() + credits, account.escrowed());
        state.accounts[wallet] = account;
        emit IInferenceEscrow.OperatorCharged(jobId, wallet, wallet, credits, account.free(), account.escrowed());
        return total - credits * Ledger.UNITS_PER_CREDIT;
    }

    /// @dev The worker of a proven job gets what finalization would have paid: up to BOND credits from the operator's reserve, the
    ///      rest from the treasury. On what the operator pays the protocol has its whole fee.
    function _payWorker(EscrowState storage state, Deployment memory d, bytes16 jobId, JobSlot job) private {
        uint32 due = state.proofs[jobId].credits;
        uint256 workerShare = Ledger.UNITS_PER_CREDIT - job.feeBps();
        uint32 credits = _takeReserve(state, jobId, job.operator(), uint32(_least(due, BOND)));
        if (credits != 0) {
            address wallet = state.wallets[job.account()];
            AccountSlot account = state.accounts[wallet];
            address payout = _payoutOf(d, job);
            state.creditsOwed -= credits;
            emit IInferenceEscrow.OperatorCharged(jobId, wallet, payout, credits, account.free(), account.escrowed());
            state.pay(d.token, jobId, payout, credits * workerShare);
            state.pay(d.token, jobId, state.treasury, uint256(credits) * job.feeBps());
        }
        _grant(state, d, jobId, job, (due - credits) * workerShare, true);
    }

    /// @dev Takes up to `credits` out of the operator's reserve.
    function _takeReserve(
        EscrowState storage state,
        bytes16 jobId,
        uint8 operator,
        uint32 credits
    ) private returns (uint32 taken) {
        Operator storage o = state.operators[operator];
        taken = uint32(_least(credits, o.reserve));
        if (taken != 0) state.setReserve(operator, jobId, o.reserve - taken, o.held);
    }

    /// @dev Raises what the treasury pays for a job to `total` units, and has it pay. What was granted before counts.
    function _grant(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        JobSlot job,
        uint256 total,
        bool toWorker
    ) private {
        Compensation storage c = state.compensations[jobId];
        if (total <= c.granted) return;
        c.granted = SafeCast.toUint64(total);
        c.toWorker = toWorker;
        _payOwed(state, d, jobId, job);
    }

    /// @dev Draws what the treasury owes for a job, within the day's cap. Counts only tokens that arrived; the rest waits. A debt of
    ///      no more than the job's own fee gives back what the job brought: the cap neither bounds nor counts it.
    function _payOwed(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        JobSlot job
    ) private returns (uint256 paid) {
        Compensation memory c = state.compensations[jobId];
        uint256 owed = c.granted - c.paid;
        bool capped = c.toWorker || c.granted > job.feeUnits();
        paid = _draw(state, d, jobId, job.operator(), owed, capped);
        state.compensations[jobId].paid = c.paid + uint64(paid);

        address wallet = state.wallets[job.account()];
        AccountSlot account = state.accounts[wallet];
        uint256 fraction = 0;
        address payee = wallet;
        if (c.toWorker) {
            payee = _payoutOf(d, job);
        } else {
            uint256 credits = _least(paid / Ledger.UNITS_PER_CREDIT, _room(account));
            account = account.withBalance(account.free() + uint40(credits), account.escrowed());
            state.accounts[wallet] = account;
            state.creditsOwed += uint40(credits);
            // The ledger counts whole credits: a fraction (the fee of a small job) waits as tokens.
            fraction = paid - credits * Ledger.UNITS_PER_CREDIT;
        }
        emit IInferenceEscrow.Compensated(
            jobId,
            wallet,
            payee,
            paid,
            owed - paid,
            capped,
            account.free(),
            account.escrowed()
        );
        if (c.toWorker) state.pay(d.token, jobId, payee, paid);
        else state.defer(jobId, wallet, fraction);
    }

    /// @dev Has the treasury send up to `units`. It is called within bounds: whatever governance puts in its place can delay a
    ///      compensation, never a ruling. The outcome is what arrived, whatever the call says.
    function _draw(
        EscrowState storage state,
        Deployment memory d,
        bytes16 jobId,
        uint8 operator,
        uint256 units,
        bool capped
    ) private returns (uint256 arrived) {
        if (capped) units = _least(units, _allowance(state, operator));
        if (units == 0) return 0;
        uint256 before = d.token.balanceOf(address(this));
        BoundedCall.tryCall(state.treasury, abi.encodeCall(IProtocolTreasury.compensate, (jobId, units)));
        uint256 afterwards = d.token.balanceOf(address(this));
        arrived = _least(afterwards > before ? afterwards - before : 0, units);
        if (!capped) return arrived;
        _count(state.compensated, arrived);
        _count(state.compensatedFor[operator], arrived);
    }

    /// @dev What the treasury can still be charged today for jobs of this operator, token units.
    function _allowance(EscrowState storage state, uint8 operator) private view returns (uint256) {
        uint256 cap = uint256(state.compensationCap) * Ledger.UNITS_PER_CREDIT;
        uint256 all = _left(state.compensated, cap);
        return _least(all, _left(state.compensatedFor[operator], cap / 4));
    }

    function _left(DayTotal storage total, uint256 cap) private view returns (uint256) {
        uint256 used = total.day == Ledger.dayOf(block.timestamp) ? total.units : 0;
        return used < cap ? cap - used : 0;
    }

    function _count(DayTotal storage total, uint256 units) private {
        uint32 today = Ledger.dayOf(block.timestamp);
        uint256 used = total.day == today ? total.units : 0;
        (total.day, total.units) = (today, uint64(used + units));
    }

    /// @dev Credits that the account's 40 bits still take, those in escrow counted: a refund must always fit.
    function _room(AccountSlot account) private pure returns (uint256) {
        return type(uint40).max - account.free() - account.escrowed();
    }

    function _payoutOf(Deployment memory d, JobSlot job) private view returns (address) {
        return d.registry.payeeOf(d.registry.signerOf(job.worker()), 0).payout();
    }

    function _disputed(EscrowState storage state, bytes16 jobId) private view returns (JobSlot job) {
        job = state.jobs[jobId];
        if (!job.isIn(JobStatus.Disputed)) Ledger.wrongState(jobId, job);
    }

    function _least(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}

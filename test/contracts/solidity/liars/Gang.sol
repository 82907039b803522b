// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IInferenceEscrow} from "../../../../contracts/interfaces/IInferenceEscrow.sol";
import {
    Assignment,
    Authorization,
    Completion,
    FailureReason,
    Job,
    JobStatus,
    Ruling,
    Signature
} from "../../../../contracts/Types.sol";
import {JobMessages} from "../../../../contracts/JobMessages.sol";
import {Protocol} from "../Protocol.sol";
import {create, VM, within} from "../Vm.sol";
import {Inverter} from "../../tokens/Inverter.sol";

/// @notice Two operators, two workers, two clients and the arbiters work together, and what each of their calls could be: any
///         function, any job, any wallet, in any order, alone, in batches and through a contract that hides what it forwards.
abstract contract Gang is Protocol {
    /// @dev Chose an operator that is not of the gang.
    address internal constant ELSEWHERE = address(0x1000);
    /// @dev Chose nobody.
    address internal constant UNDECIDED = address(0x1001);
    /// @dev Chose the gang's first operator, and signs for each job.
    address internal constant CAREFUL = address(0x1002);
    /// @dev Chose the gang's first operator, with a daily limit.
    address internal constant LIMITED = address(0x1003);
    /// @dev The gang's own, of its two operators.
    address internal constant CLIENT = address(0x1004);
    address internal constant OTHER_CLIENT = address(0x1005);
    address private constant ADMIN = address(0xADA);
    address private constant STRANGER = address(0x57);
    uint256 internal constant CREDITS = 20_000;
    uint256 internal constant DAILY_LIMIT = 300;
    /// @dev Of compensations, credits a UTC day: less than one dear job for each operator.
    uint256 internal constant CAP = 400;
    uint256 private constant AUTHORIZATION_KEY = 0xA07;
    uint256 private constant FIRST_WORKER_KEY = 0xB0B0;
    /// @dev The dispute key of all who are not of the gang, which has stolen it.
    uint256 private constant STOLEN_KEY = 0xD15;
    uint8 internal constant MOST_OPEN = 2;
    /// @dev Comes and goes as a signer of operator 1.
    uint256 private constant SPARE_KEY = 0xA11D0;
    /// @dev The gang's calls are about this many of the latest jobs, and use this many of the latest authorizations.
    uint256 internal constant RECENT = 16;
    uint256 internal constant USABLE = 4;

    uint256 private constant LOCKED = 1 << uint8(JobStatus.Locked);
    uint256 private constant ACKNOWLEDGED = 1 << uint8(JobStatus.Acknowledged);
    uint256 private constant PROVEN = 1 << uint8(JobStatus.Proven);
    uint256 private constant SETTLED = 1 << uint8(JobStatus.Settled);
    uint256 private constant REFUNDED = 1 << uint8(JobStatus.Refunded);
    uint256 internal constant DISPUTED = 1 << uint8(JobStatus.Disputed);

    Inverter private _inverter;
    /// @dev Jobs there are, those that the latest call may have made, and those that CAREFUL signed for.
    bytes16[] internal jobs;
    bytes16[] internal made;
    bytes16[] internal signedIds;
    uint256 private _ids;
    mapping(bytes16 jobId => Authorization) private _authorizations;
    mapping(bytes16 jobId => uint256 credits) internal signedFor;

    constructor() {
        deployProtocol(uint40(CAP));
        // Of each fee, the gang's operators have half.
        escrow.scheduleFee(1_000, 10);
        VM.warp(block.timestamp + NOTICE);
        _inverter = Inverter(create("Inverter", abi.encode(escrow)));
        escrow.admitOperator(address(this));
        for (uint256 i = 0; i < 2; ++i) {
            addWorker(FIRST_WORKER_KEY + i, address(uint160(0x2000 + i)));
            escrow.setOperatorAdmin(uint8(i + 1), ADMIN);
        }
        token.mint(address(treasury), 1e12);
        for (uint160 i = 0; i < 6; ++i) {
            address wallet = address(0x1000 + i);
            token.mint(wallet, (CREDITS + 1_000) * 10_000);
            VM.prank(wallet);
            token.approve(address(escrow), type(uint256).max);
            VM.prank(wallet);
            escrow.deposit(uint40(CREDITS), [3, 0, 1, 1, 1, 2][i]);
        }
        for (uint160 i = 0; i < 4; ++i) {
            VM.prank(address(0x1000 + i));
            escrow.setDisputeKey(VM.addr(STOLEN_KEY), MOST_OPEN);
        }
        VM.prank(CAREFUL);
        escrow.setAuthorizationKey(VM.addr(AUTHORIZATION_KEY));
        VM.prank(LIMITED);
        escrow.setLimits(true, uint32(DAILY_LIMIT), false);
        token.mint(CLIENT, 1e10);
        token.mint(OTHER_CLIENT, 1e10);
        token.mint(ADMIN, 1e10);
        VM.prank(ADMIN);
        token.approve(address(escrow), type(uint256).max);
    }

    /// @dev CAREFUL signs for a job, as it does for each request. Whether the gang ever uses it is the gang's affair.
    function _sign(uint256 seed) internal {
        uint32 tokens = uint32(within(seed >> 8, 0, 10_000));
        Authorization memory a = Authorization({
            jobId: uuid7(++_ids),
            wallet: CAREFUL,
            operator: uint8(1 + (seed % 8) / 7),
            model: uint16(1 + ((seed >> 40) % 2)),
            maxTokens: tokens,
            maxCredits: uint32(within(seed >> 48, 30, 220)),
            requestHash: keccak256("request"),
            expiresAt: uint40(block.timestamp + within(seed >> 56, 1, 601))
        });
        signedIds.push(a.jobId);
        _authorizations[a.jobId] = a;
        signedFor[a.jobId] = a.maxCredits;
    }

    /// @dev A call of one of the gang's, and whose.
    function _plot(uint256 seed) internal returns (address sender, bytes memory call) {
        uint256 kind = (seed >> 8) % 45;
        uint256 r = uint256(keccak256(abi.encode(seed)));
        if (kind < 4) return _plainLock(r);
        if (kind < 7) return (_gateway(r), _lockAuthorized(r));
        if (kind < 12) return _client(r, kind);
        if (kind == 12) return (ADMIN, _rotate(r));
        if (kind == 13) return (ADMIN, (r >> 72) % 4 == 0 ? _earnings(r) : _reserve(r));
        if (kind == 14) return (_member(r), _administration(r));
        return _aboutAJob(kind, r);
    }

    /// @dev Mostly of a job in a state in which the call is possible, by its gateway, and at its time.
    // solhint-disable-next-line code-complexity, function-max-lines
    function _aboutAJob(uint256 kind, uint256 r) private returns (address sender, bytes memory) {
        bytes16 id = _jobIn(r, _from(kind, r >> 64));
        uint8 operator = escrow.jobOf(id).operator;
        sender = operator != 0 && (r >> 8) % 4 != 0 ? gatewayOf(operator) : _member(r >> 16);
        r >>= 24;
        if (kind < 19) return (sender, _acknowledge(id, r));
        if (kind < 23) return (sender, _complete(id, r));
        if (kind < 26) return (sender, _submitProof(id, r));
        if (kind < 28) return (_later(sender, id, r), abi.encodeCall(escrow.finalize, (_completion(id, r))));
        if (kind == 28) return (sender, abi.encodeCall(escrow.fail, (id, FailureReason(r % 5))));
        if (kind == 29) return (_later(sender, id, r), abi.encodeCall(escrow.refund, (id)));
        if (kind < 34) return (kind < 32 ? sender : _clientOf(id), _openDispute(id, r));
        if (kind == 34 || kind == 43) return (_clientOf(id), abi.encodeCall(escrow.joinDispute, (id, bytes32(r))));
        if (kind == 35) return (_later(sender, id, r), abi.encodeCall(escrow.expire, (id)));
        if (kind < 38) return (sender, _proveEquivocation(id, r));
        if (kind == 38 || kind == 44) return (sender, abi.encodeCall(escrow.collectDebt, (_indebted(id))));
        if (kind == 39) return (sender, abi.encodeCall(escrow.rule, (id, Ruling(r % 4))));
        return (sender, _disputeByKey(id, r));
    }

    /// @dev States (bits) from which the call is possible, or some of them.
    function _from(uint256 kind, uint256 r) private pure returns (uint256) {
        if (kind < 19 || kind == 28 || kind == 29) return LOCKED | ACKNOWLEDGED;
        if (kind < 23) return LOCKED | ACKNOWLEDGED | PROVEN;
        if (kind < 26) return ACKNOWLEDGED;
        if (kind < 28) return PROVEN;
        if (kind < 34) return r % 2 == 0 ? PROVEN : SETTLED;
        if (kind > 39 && kind < 43) return r % 4 == 0 ? DISPUTED : SETTLED | PROVEN;
        if (kind == 36 || kind == 37) return r % 2 == 0 ? ACKNOWLEDGED | PROVEN : SETTLED | DISPUTED;
        return DISPUTED;
    }

    /// @dev A batch of one of them: what the audit found, or anything.
    function _scheme(uint256 seed) internal returns (address sender, bytes memory call) {
        uint256 r = uint256(keccak256(abi.encode(seed, "scheme")));
        uint256 kind = seed % 5;
        bytes[] memory items = new bytes[](4);
        (sender, items[0]) = _plainLock(r);
        bytes16 id = made[made.length - 1];
        if (kind < 2) {
            // Lock and answer; the client's only dispute is burnt at once.
            items[1] = _complete(id, r >> 16);
            items[2] = _openDispute(id, r >> 24);
            items[3] =
                kind == 0 ? _proveEquivocation(id, r >> 40) : abi.encodeCall(escrow.joinDispute, (id, bytes32(r)));
        } else if (kind == 2) {
            // Lock and answer, twice.
            items[1] = _complete(id, r >> 16);
            (, items[2]) = _plainLock(r >> 8);
            items[3] = _complete(made[made.length - 1], r >> 40);
        } else if (kind == 3) {
            // A bare proof, of the worker that acknowledged.
            items[1] = _acknowledge(id, r >> 88);
            items[2] = _submitProof(id, r >> 24);
            items[3] = (r >> 32) % 2 == 0 ? _openDispute(id, r >> 40) : _proveEquivocation(id, r >> 48);
        } else {
            for (uint256 i = 1; i < 4; ++i) (, items[i]) = _plot(uint256(keccak256(abi.encode(seed, i))));
        }
        return (sender, abi.encodeCall(escrow.execute, (items)));
    }

    /// @dev Any of them may send through the contract that inverts.
    function _send(address sender, bytes memory call, bool hidden) internal returns (bool ok) {
        bytes memory data = hidden ? _inverter.inverse(call) : call;
        address target = hidden ? address(_inverter) : address(escrow);
        VM.prank(sender);
        (ok, ) = target.call(data);
    }

    /// @dev Makes the workers work again, whatever they lost.
    function _restake(uint256 worker) internal {
        registry.addStake(VM.addr(FIRST_WORKER_KEY + (worker % 2)), STAKE);
    }

    /// @dev Two arbiters of one mind at times, and of two at others.
    function _vote(uint256 seed, uint256 arbiter) internal returns (bool ok) {
        bytes16 id = _jobIn(seed, DISPUTED);
        uint256 from = escrow.disputeOf(id).ruleFrom;
        if ((seed >> 16) % 2 == 0 && block.timestamp < from) VM.warp(from);
        VM.prank(arbitersOf(1)[arbiter]);
        (ok, ) = address(panel).call(abi.encodeCall(panel.vote, (id, Ruling((seed >> 8) % 4))));
    }

    /// @dev One of the latest jobs in one of the states, mostly; else one of the latest, or none.
    function _jobIn(uint256 which, uint256 wanted) internal view returns (bytes16) {
        if (jobs.length == 0) return bytes16(uint128(1));
        for (uint256 i = 0; i < RECENT && which % 8 != 0; ++i) {
            bytes16 id = _back(jobs, (((which / 8) % 4) + i) % RECENT);
            if ((wanted >> uint8(escrow.jobOf(id).status)) & 1 == 1) return id;
        }
        return _back(jobs, which % RECENT);
    }

    /// @dev Counted from the end; the first one if there are not so many.
    function _back(bytes16[] storage list, uint256 which) internal view returns (bytes16) {
        return which < list.length ? list[list.length - 1 - which] : list[0];
    }

    /// @dev The latest job for which the treasury owes something, of many; else this one.
    function _indebted(bytes16 id) private view returns (bytes16) {
        for (uint256 i = 0; i < 4 * RECENT && i < jobs.length; ++i) {
            (uint64 granted, uint64 paid, ) = escrow.compensationOf(_back(jobs, i));
            if (granted > paid) return _back(jobs, i);
        }
        return id;
    }

    /// @dev The same caller, at times at the time for which a job's state waits.
    function _later(address sender, bytes16 id, uint256 r) private returns (address) {
        Job memory job = escrow.jobOf(id);
        uint256 due = uint256(job.lockedAt) + (job.deadline == 0 ? COMPLETION + INCLUSION : job.deadline);
        if ((r >> 72) % 2 == 0 && block.timestamp < due) VM.warp(due);
        return sender;
    }

    function _member(uint256 r) private view returns (address) {
        address[7] memory members = [
            gatewayOf(1),
            gatewayOf(2),
            VM.addr(SPARE_KEY),
            CLIENT,
            OTHER_CLIENT,
            STRANGER,
            VM.addr(FIRST_WORKER_KEY)
        ];
        return members[r % 7];
    }

    function _gateway(uint256 r) private pure returns (address) {
        return r % 16 == 0 ? VM.addr(SPARE_KEY) : gatewayOf(r % 4 == 0 ? 2 : 1);
    }

    /// @dev Any of the six; half of the time one of the gang's.
    function _wallet(uint256 r) private pure returns (address) {
        return address(uint160(0x1000 + (r % 8 < 6 ? r % 8 : (r % 8) - 2)));
    }

    /// @dev The job's wallet, when it is one of the gang's.
    function _clientOf(bytes16 id) private view returns (address) {
        return escrow.walletOf(escrow.jobOf(id).account) == OTHER_CLIENT ? OTHER_CLIENT : CLIENT;
    }

    /// @dev Of a new job mostly, as dear as it gets at times.
    function _plainLock(uint256 r) private returns (address sender, bytes memory) {
        bytes16 id = r % 16 == 0 && jobs.length != 0 ? _back(jobs, 0) : uuid7(++_ids);
        made.push(id);
        address wallet = _wallet(r >> 8);
        sender = wallet == OTHER_CLIENT ? gatewayOf(2) : _gateway(r >> 16);
        uint32 tokens = uint32(within(r >> 24, 0, r % 64 == 1 ? 251_000 : 10_000));
        uint16 model = uint16(1 + ((r >> 60) % 2));
        return (sender, abi.encodeCall(escrow.lock, (wallet, model, id, tokens, type(uint32).max, type(uint40).max)));
    }

    /// @dev One that CAREFUL signed, used or not, at times with something changed.
    function _lockAuthorized(uint256 r) private view returns (bytes memory) {
        Authorization memory a;
        if (signedIds.length != 0) a = _authorizations[_back(signedIds, r % USABLE)];
        Signature memory byKey = signAuthorization(AUTHORIZATION_KEY, a);
        uint256 change = (r >> 8) % 32;
        if (change == 0) a.maxCredits += 1;
        if (change == 1) a.maxTokens += 1;
        if (change == 2) a.jobId = uuid7(r);
        if (change == 3) a.operator = 3 - (a.operator % 3);
        if (change == 4) a.expiresAt += 1;
        if (change == 5) a.wallet = LIMITED;
        return abi.encodeCall(escrow.lockAuthorized, (a, byKey));
    }

    function _acknowledge(bytes16 id, uint256 r) private view returns (bytes memory) {
        uint256 worker = FIRST_WORKER_KEY + (r % 2);
        Assignment memory a = Assignment(id, VM.addr(worker), uint8(1 + ((r >> 8) % 3)), type(uint40).max);
        uint256 key = (r >> 16) % 4 == 0 ? SPARE_KEY : FIRST_GATEWAY_KEY + ((r >> 24) % 2);
        return
            abi.encodeCall(escrow.acknowledge, (a, signAssignment(key, a), signAcknowledgement(worker, id, a.attempt)));
    }

    function _complete(bytes16 id, uint256 r) private view returns (bytes memory) {
        Completion memory completion = _completion(id, r);
        address wallet = escrow.walletOf(escrow.jobOf(id).account);
        if (wallet == address(0))
            wallet =
                r % 4 == 0
                    ? LIMITED
                    : r % 4 == 1
                        ? OTHER_CLIENT
                        : CLIENT;
        uint32 counted = (r >> 16) % 4 == 0 ? 0 : type(uint32).max;
        return abi.encodeCall(escrow.complete, (completion, counted, _byWorker(completion, r), wallet));
    }

    function _submitProof(bytes16 id, uint256 r) private view returns (bytes memory) {
        Completion memory completion = _completion(id, r);
        return abi.encodeCall(escrow.submitProof, (completion, _byWorker(completion, r)));
    }

    function _openDispute(bytes16 id, uint256 r) private view returns (bytes memory) {
        Completion memory completion = _completion(id, r);
        return abi.encodeCall(escrow.openDispute, (bytes32(r), completion, _byWorker(completion, r)));
    }

    /// @dev For whoever's job it is, at the highest bond; of the hash that the worker signed, at times.
    function _disputeByKey(bytes16 id, uint256 r) private view returns (bytes memory) {
        Completion memory completion = _completion(id, r);
        bytes32 hash = (r >> 8) % 4 == 0 ? completion.proofHash : bytes32(r);
        (, uint32 sequence, , ) = escrow.disputeKeyOf(escrow.walletOf(escrow.jobOf(id).account));
        Signature memory byKey = signDisputeRequest(STOLEN_KEY, completion, hash, type(uint32).max, sequence, 600);
        uint40 expiresAt = uint40(block.timestamp) + 600;
        Signature memory byWorker = _byWorker(completion, r);
        return abi.encodeCall(escrow.disputeByKey, (hash, completion, byWorker, type(uint32).max, expiresAt, byKey));
    }

    function _proveEquivocation(bytes16 id, uint256 r) private view returns (bytes memory) {
        (Completion memory first, Completion memory second) = (_completion(id, r), _completion(id, r + 16));
        return abi.encodeCall(escrow.proveEquivocation, (first, _byWorker(first, r), second, _byWorker(second, r)));
    }

    /// @dev What the gang's clients do with their own.
    function _client(uint256 r, uint256 kind) private view returns (address sender, bytes memory) {
        sender = r % 2 == 0 ? CLIENT : OTHER_CLIENT;
        r >>= 8;
        if (kind == 7) return (sender, abi.encodeCall(escrow.withdraw, (uint40(r % 2_000), sender)));
        if (kind == 8) return (sender, abi.encodeCall(escrow.deposit, (uint40(r % 1_000), uint8((r >> 16) % 5))));
        if (kind == 9) return (sender, abi.encodeCall(escrow.chooseOperator, (uint8(1 + (r % 2)))));
        address payee = escrow.claimableOf(CLIENT) != 0 ? CLIENT : OTHER_CLIENT;
        if (kind == 10) return (sender, abi.encodeCall(escrow.claim, (payee)));
        return (payee, abi.encodeCall(escrow.claimTo, (STRANGER)));
    }

    /// @dev The spare key goes or comes.
    function _rotate(uint256 r) private view returns (bytes memory) {
        address[] memory none = new address[](0);
        address[] memory spare = new address[](1);
        spare[0] = VM.addr(SPARE_KEY);
        if (r % 2 == 0) return abi.encodeCall(escrow.rotateSigners, (1, none, new Signature[](0), spare));
        Signature[] memory consents = new Signature[](1);
        consents[0] = signed(SPARE_KEY, JobMessages.hashSignerConsent(1, ADMIN));
        return abi.encodeCall(escrow.rotateSigners, (1, spare, consents, none));
    }

    /// @dev Some operators have a reserve, for a time.
    function _reserve(uint256 r) private returns (bytes memory) {
        uint8 operator = uint8(1 + ((r >> 8) % 3));
        uint256 leavesAt = escrow.operatorOf(operator).leavesAt;
        if (r % 8 == 1 && block.timestamp < leavesAt) VM.warp(leavesAt);
        if (r % 4 == 0) return abi.encodeCall(escrow.announceReserveWithdrawal, (operator, uint40((r >> 16) % 500)));
        if (r % 4 == 1) return abi.encodeCall(escrow.withdrawReserve, (operator, STRANGER));
        return abi.encodeCall(escrow.fundReserve, (operator, uint40((r >> 16) % 200)));
    }

    /// @dev Days that have vested, mostly. Each operator's goes to an address of its own.
    function _earnings(uint256 r) private returns (bytes memory) {
        uint8 operator = uint8(1 + ((r >> 8) % 2));
        if (r % 8 == 0) VM.warp(block.timestamp + LONGEST_RISK);
        uint256 last = (block.timestamp - LONGEST_RISK) / 1 days - 1 + (r % 16 == 1 ? 1 : 0);
        uint256 first = last - ((r >> 16) % 32);
        return abi.encodeCall(escrow.withdrawEarnings, (operator, uint16(first), uint16(last), earner(operator)));
    }

    function earner(uint256 operator) internal pure returns (address) {
        return address(uint160(0xE000 + operator));
    }

    /// @dev What is not theirs.
    function _administration(uint256 r) private pure returns (bytes memory) {
        if (r % 6 == 0) return abi.encodeCall(IInferenceEscrow.setPaused, (true));
        if (r % 6 == 1) return abi.encodeCall(IInferenceEscrow.setTreasury, (STRANGER));
        if (r % 6 == 2) return abi.encodeCall(IInferenceEscrow.setCompensationCap, (1_000_000));
        if (r % 6 == 3) return abi.encodeCall(IInferenceEscrow.admitOperator, (STRANGER));
        if (r % 6 == 4) return abi.encodeCall(IInferenceEscrow.setOperatorAdmin, (3, STRANGER));
        return abi.encodeCall(IInferenceEscrow.scheduleFee, (0, 10));
    }

    /// @dev One of three answers that the workers sign for each job; two of them are an equivocation.
    function _completion(bytes16 id, uint256 r) private view returns (Completion memory) {
        uint256 variant = (r >> 4) % 3;
        Job memory job = escrow.jobOf(id);
        uint40 time = job.status == JobStatus.None ? uint40(block.timestamp) : job.lockedAt;
        // Sums and lengths on both sides of what 32 bits hold, and of the counts.
        uint32 tokens = uint32(500 + variant * 5_000);
        uint32 reasoning = variant == 2 ? type(uint32).max : tokens;
        return Completion(id, keccak256(abi.encode(id, variant)), 7, tokens, reasoning, 3_000, time);
    }

    /// @dev Mostly of the job's worker.
    function _byWorker(Completion memory completion, uint256 r) private view returns (Signature memory) {
        uint32 worker = escrow.jobOf(completion.jobId).worker;
        if (worker == 0 || (r >> 60) % 8 == 0) worker = uint32(1 + ((r >> 64) % 2));
        return signCompletion(FIRST_WORKER_KEY + worker - 1, completion);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IInferenceEscrow} from "../../../contracts/interfaces/IInferenceEscrow.sol";
import {Account, Completion, Job, JobStatus, Signature, Windows} from "../../../contracts/Types.sol";
import {AccountSlot, JobSlot, Usages} from "../../../contracts/Words.sol";

/// @title An escrow that cheats in one chosen way
/// @notice Looks like the real one from outside: same calls, same events, real catalog, registry and token. The verifier must say
///         what is wrong with its jobs from the chain alone. One model, one wallet, one gateway; no batches, no checks.
contract DishonestEscrow {
    enum Fault {
        None,
        Overcharge, // charges the whole lock
        UnderpayWorker, // the event is right, the transfer to the worker is a tenth short
        SkimFee, // a tenth of the fee goes to the operator's pocket
        KeepReturn, // the difference is not credited
        OtherWorker, // pays and names a worker that did not sign
        OtherHash, // shows another proof than was signed
        InflatedTokens, // bills more tokens than were counted
        InflatedLock, // locks more than the price
        OtherPrice, // a price snapshot that the catalog never had
        KeepRefund, // a refund gives nothing back
        HiddenSignature, // shows no signature of the worker
        OtherOperator // locks for an operator that the wallet did not choose
    }

    address public immutable CATALOG;
    address public immutable REGISTRY;
    address public immutable PANEL;
    // solhint-disable-next-line immutable-vars-naming
    address public immutable token;
    uint32 public constant DISPUTE_BOND = 100;
    uint256 private constant UNIT = 10_000;
    uint16 private constant FEE = 1_000;

    Fault public fault;
    address private immutable TREASURY;
    address private immutable OPERATOR;
    address private _wallet;
    address private _worker;
    address private _payout;
    address private _otherWorker;
    address private _otherPayout;
    Account private _account;
    uint256 private _owed;
    mapping(bytes16 jobId => Job) private _jobs;

    constructor(address catalog, address registry, address panel, address token_, address treasury, address gateway) {
        CATALOG = catalog;
        REGISTRY = registry;
        PANEL = panel;
        token = token_;
        TREASURY = treasury;
        OPERATOR = msg.sender;
        emit IInferenceEscrow.TreasurySet(1, treasury);
        emit IInferenceEscrow.FeeScheduled(2, FEE, 0, uint40(block.timestamp));
        emit IInferenceEscrow.OperatorAdmitted(1, msg.sender, 3);
        emit IInferenceEscrow.SignerAdded(1, gateway, 1);
    }

    /// @notice Who does the work, and who is named and paid instead by OtherWorker.
    function employ(address worker, address payout, address otherWorker, address otherPayout) external {
        (_worker, _payout, _otherWorker, _otherPayout) = (worker, payout, otherWorker, otherPayout);
    }

    /// @notice Chooses how to cheat.
    function cheat(Fault fault_) external {
        fault = fault_;
    }

    function deposit(uint40 credits, uint8 operator) external {
        (_account.id, _account.operator) = (1, operator);
        _wallet = msg.sender;
        _account.free += credits;
        _owed += credits;
        (uint40 free, uint40 escrowed) = (_account.free, _account.escrowed);
        emit IInferenceEscrow.Deposited(1, msg.sender, ++_account.sequence, credits, operator, free, escrowed);
        IERC20(token).transferFrom(msg.sender, address(this), credits * UNIT);
    }

    function lock(address wallet, uint16 model, bytes16 jobId, uint32 maxTokens, uint32, uint40) external {
        uint16 perRequest = fault == Fault.OtherPrice ? 9 : 8;
        uint32 credits = maxTokens <= 2_000 ? perRequest : (maxTokens * 4 + 999) / 1000;
        if (fault == Fault.InflatedLock) credits += 5;
        _account.free -= credits;
        _account.escrowed += credits;
        if (_account.spentDay != _today()) (_account.spentDay, _account.spentToday) = (_today(), 0);
        _account.spentToday += credits;
        Job storage job = _jobs[jobId];
        (job.account, job.credits, job.model, job.feeBps) = (1, credits, model, FEE);
        (job.creditsPerRequest, job.creditsPer1kTokens) = (perRequest, 4);
        (job.lockedAt, job.status) = (uint40(block.timestamp), JobStatus.Locked);
        job.operator = fault == Fault.OtherOperator ? 2 : 1;
        emit IInferenceEscrow.JobLocked(jobId, wallet, 1, credits, _jobWord(job), _accountWord());
    }

    function refund(bytes16 jobId) external {
        Job storage job = _jobs[jobId];
        job.status = JobStatus.Refunded;
        _account.escrowed -= job.credits;
        _giveLimitBack(job.credits);
        if (fault != Fault.KeepRefund) _account.free += job.credits;
        emit IInferenceEscrow.JobRefunded(jobId, _wallet, job.credits, _account.free, _account.escrowed);
    }

    function complete(Completion calldata c, uint32 counted, Signature calldata byWorker, address wallet) external {
        Job storage job = _jobs[c.jobId];
        uint256 written = uint256(c.completionTokens) + c.reasoningTokens;
        uint32 billed = counted < written ? counted : uint32(written);
        if (fault == Fault.InflatedTokens) billed += 1_000;
        uint32 price = billed <= 2_000 ? 8 : (billed * 4 + 999) / 1000;
        if (fault == Fault.Overcharge || price > job.credits) price = job.credits;
        address worker = fault == Fault.OtherWorker ? _otherWorker : _worker;
        job.worker = fault == Fault.OtherWorker ? 2 : 1;
        _settle(c, byWorker, wallet, worker, billed, price);
    }

    function _settle(
        Completion calldata c,
        Signature calldata byWorker,
        address wallet,
        address worker,
        uint32 billed,
        uint32 price
    ) private {
        Job storage job = _jobs[c.jobId];
        uint32 returned = job.credits - price;
        _account.escrowed -= job.credits;
        _giveLimitBack(returned);
        if (fault != Fault.KeepReturn) _account.free += returned;
        _owed -= price;
        (job.credits, job.status) = (price, JobStatus.Settled);
        uint256 fee = uint256(price) * FEE;
        bool hidden = fault == Fault.HiddenSignature;
        emit IInferenceEscrow.JobSettled(
            c.jobId,
            wallet,
            worker,
            fault == Fault.OtherHash ? keccak256("forged") : c.proofHash,
            price,
            Usages.pack(c, billed),
            hidden ? bytes32(0) : byWorker.r,
            hidden ? bytes32(0) : byWorker.vs,
            _accountWord()
        );
        uint256 pay = price * UNIT - fee;
        if (fault == Fault.UnderpayWorker) pay -= pay / 10;
        IERC20(token).transfer(fault == Fault.OtherWorker ? _otherPayout : _payout, pay);
        if (fault == Fault.SkimFee) {
            IERC20(token).transfer(OPERATOR, fee / 10);
            fee -= fee / 10;
        }
        IERC20(token).transfer(TREASURY, fee);
    }

    function jobOf(bytes16 jobId) external view returns (Job memory) {
        return _jobs[jobId];
    }

    function accountOf(address) external view returns (Account memory) {
        return _account;
    }

    function liabilities() external view returns (uint256, uint256) {
        return (_owed, 0);
    }

    function _jobWord(Job storage job) private view returns (JobSlot) {
        uint256 prices = uint256(job.creditsPerRequest) | (uint256(job.creditsPer1kTokens) << 16);
        uint256 rest = uint256(job.model) | (uint256(job.feeBps) << 16) | (uint256(job.lockedAt) << 32);
        uint256 word = uint256(job.account) | (uint256(job.credits) << 64) | (prices << 96) | (rest << 128);
        return JobSlot.wrap(word | (uint256(job.operator) << 232) | (uint256(job.status) << 248));
    }

    function _accountWord() private view returns (AccountSlot) {
        uint256 balance = uint256(_account.free) | (uint256(_account.escrowed) << 40);
        uint256 spent = uint256(_account.spentToday) | (uint256(_account.spentDay) << 32);
        uint256 word = uint256(_account.id) | (balance << 32) | (uint256(_account.sequence) << 112) | (spent << 176);
        return AccountSlot.wrap(word | (uint256(_account.operator) << 240));
    }

    function _today() private view returns (uint16) {
        return uint16(block.timestamp / 1 days);
    }

    /// @dev Jobs of the tests end on the day of their lock.
    function _giveLimitBack(uint32 credits) private {
        _account.spentToday -= credits;
    }

    function windows() external pure returns (Windows memory) {
        return Windows(120, 30, 3_600, 60, 86_400, 86_400, 86_400);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {BoundedCall} from "./BoundedCall.sol";
import {DisputeLogic} from "./DisputeLogic.sol";
import {Claimable, Compensation, Config, Deployment, EscrowState, Ledger, Proof} from "./EscrowState.sol";
import {IArbitrationPanel} from "./interfaces/IArbitrationPanel.sol";
import {IInferenceEscrow} from "./interfaces/IInferenceEscrow.sol";
import {IModelCatalog} from "./interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "./interfaces/IWorkerRegistry.sol";
import {JobMessages} from "./JobMessages.sol";
import {OperatorLogic} from "./OperatorLogic.sol";
import {Pricing} from "./Pricing.sol";
import {
    Account,
    Assignment,
    Authorization,
    Completion,
    Dispute,
    DisputeKey,
    FailureReason,
    Job,
    JobStatus,
    Operator,
    Ruling,
    Signature,
    Signer,
    Windows
} from "./Types.sol";
import {
    AccountSlot,
    AccountSlots,
    FeeTermsFields,
    JobSlot,
    JobSlots,
    LockTerms,
    Payee,
    Usage,
    Usages
} from "./Words.sol";

/// @title Escrow of a credit-metered inference service
/// @notice Ledger of prepaid credits and state machine of jobs, immutable: no proxy, no upgrade. Disputes stand in the linked
///         DisputeLogic, accounts of operators in the linked OperatorLogic: both run on this contract's state. What each
///         function promises stands in the interface.
///
/// @dev States of a job, and who moves it. "Operator": any signer in office of the operator that locked the job.
///
///   from           call                                    to             by                 when (t from the lock)
///   -------------  --------------------------------------  -------------  -----------------  --------------------------
///   None           lock, lockAuthorized                    Locked         wallet's operator  before validUntil
///   Locked, Ack'd  acknowledge                             Acknowledged   anyone, 2 sigs     before acknowledgeBy
///   Locked, Ack'd  complete                                Settled        operator           t < 150
///   Acknowledged   submitProof                             Proven         anyone             t < 150
///   Proven         complete                                Settled        operator           t < 150
///   Proven         finalize                                Settled        anyone             from provenAt + 3,600
///   Locked, Ack'd  fail                                    Failed         operator           any time
///   Locked, Ack'd  refund                                  Refunded       operator / anyone  from t = 120 / t = 150
///   Settled        openDispute                             Disputed       wallet, operator   before settledAt + 90
///   Proven         openDispute                             Disputed       wallet, operator   before provenAt + 3,600
///   as above       disputeByKey, for the wallet            Disputed       anyone, key's sig  as above
///   Disputed       rule (worker or gateway at fault)       Refunded       panel              before openedAt + 86,400
///   Disputed       rule (rejected)                         as it was      panel              before openedAt + 86,400
///   Disputed       expire (from Settled / from Proven)     Settled/Ref'd  anyone             from openedAt + 86,400
///   Ack'd, Proven  proveEquivocation (or disputed from it) Refunded       anyone             t < 86,400
///   Settled        proveEquivocation (or disputed from it) as it was      anyone             t < 86,400
///   Failed, Ref'd  proveEquivocation, if it had a worker   as it was      anyone             t < 86,400
///
/// A dispute by the operator is ruled only after the job's own window, and 30 s after its opening, unless the wallet joins it.
/// After an equivocation the wallet may dispute a settled job for 86,400 s more, once, also if an earlier dispute has ended.
///
/// Invariants, after every transaction (test/contracts/solidity, docs/contracts/trust-model.md):
///   1. token.balanceOf(this) ≥ creditsOwed × 10,000 + unitsOwed; equal but for donations.
///   2. creditsOwed = Σ free + escrowed of accounts + Σ reserve + held of operators. unitsOwed = Σ deferred payouts + Σ earnings of
///      operators + Σ parts of them that open disputes hold.
///   3. An account's escrowed credits are those of its open, proven or disputed-from-proven jobs and its bonds.
///   4. Only a wallet's own calls, locks by the operator it chose and bonds that its dispute key signed lower its free credits.
///   5. While a wallet has an authorization key, locks take at most maxCredits of each Authorization that the key signed, once each.
///   6. The treasury pays at most compensationCap a UTC day, a quarter of it for the jobs of one operator, beside the fees of jobs
///      that it gives back.
///   7. A job is charged at most once and at most what it locked.
contract InferenceEscrow is IInferenceEscrow, Ownable, ReentrancyGuardTransient {
    using JobMessages for *;
    using Ledger for EscrowState;
    using Ledger for AccountSlot;
    using Ledger for Config;
    using SafeERC20 for IERC20;

    /// @notice Token units of one credit: 0.01 of a 6-decimal stablecoin.
    uint256 public constant UNITS_PER_CREDIT = Ledger.UNITS_PER_CREDIT;
    /// @notice Smallest deposit: the equivalent of 1 stablecoin.
    uint40 public constant MINIMUM_DEPOSIT = 100;
    /// @notice Most credits a job can lock: 50 stablecoin units. A slash must be worth more.
    uint32 public constant JOB_LIMIT = Pricing.JOB_LIMIT;
    /// @notice Highest protocol fee: 20 %.
    uint16 public constant FEE_CAP_BPS = OperatorLogic.FEE_CAP_BPS;
    /// @notice Highest share of the fee that operators can have, twentieths: half.
    uint8 public constant OPERATOR_SHARE_CAP = OperatorLogic.SHARE_CAP;
    /// @notice Operators that can ever be admitted.
    uint8 public constant MOST_OPERATORS = OperatorLogic.MOST;
    /// @notice Highest compensation cap: 10,000 stablecoin units a day.
    uint40 public constant COMPENSATION_CEILING = 1_000_000;
    /// @notice Most credits that a wallet puts up for a dispute of its own, and that an operator can lose for a proven job.
    uint32 public constant DISPUTE_BOND = DisputeLogic.BOND;
    /// @notice Disputes of settled jobs that the operator can have open for one account.
    uint8 public constant DISPUTE_LIMIT = DisputeLogic.LIMIT;
    /// @notice Longest time an Authorization can be signed ahead, seconds.
    uint40 public constant AUTHORIZATION_SPAN = 600;
    /// @notice How far the time in an authorized job's id may be from the block's, seconds.
    uint40 public constant ID_SPAN = 300;
    /// @notice Gas that must be left before each item of a batch.
    uint256 public constant ITEM_GAS = 700_000;

    uint256 private constant REASON_LIMIT = 256;
    uint256 private constant DEV_CHAIN = 31337;

    /// @notice Models and prices.
    IModelCatalog public immutable CATALOG;
    /// @notice Workers and stakes.
    IWorkerRegistry public immutable REGISTRY;
    /// @notice Rules on disputes.
    IArbitrationPanel public immutable PANEL;
    /// @notice Seconds after a lock until which its worker can be punished, and its operator charged.
    uint40 public immutable LONGEST_RISK;

    IERC20 private immutable TOKEN;
    uint256 private immutable CHAIN;
    bytes32 private immutable DOMAIN;
    uint32 private immutable COMPLETION_WINDOW;
    uint32 private immutable INCLUSION_WINDOW;
    /// @dev completion + inclusion: a proof must be mined before lockedAt + this.
    uint256 private immutable PROOF_WINDOW;
    uint32 private immutable FINALIZATION_WINDOW;
    /// @dev dispute + inclusion: a settled job is disputable before settledAt + this.
    uint256 private immutable SETTLED_WINDOW;

    EscrowState private _state;

    /// @dev 0: no batch runs. Else 1 + the token units that the batch owes the treasury so far; a reverted item takes its part
    ///      back with it.
    uint256 private transient _batch;

    /// @dev What a settlement charges and whom it pays.
    struct Settlement {
        bytes16 jobId;
        bytes32 proofHash;
        Usage usage;
        uint32 charge; // credits
        address signer; // the worker's
        bytes32 r; // first half of its signature; the proof's digest when the job is finalized
        bytes32 vs; // second half, or zero
        address payout; // the worker's
        address wallet;
    }

    /// @param token_ 6-decimal stablecoin; see docs for what is assumed of it.
    /// @param catalog Models and prices.
    /// @param registry Workers and stakes; its unbonding period must outlast all windows.
    /// @param panel Rules on disputes.
    /// @param owner_ Governance.
    /// @param guardian_ May pause deposits and locks and stop operators.
    /// @param treasury_ Receives fees, pays compensations.
    /// @param feeBps_ Initial protocol fee, hundredths of a percent.
    /// @param compensationCap_ Initial cap of compensations a UTC day, credits.
    /// @param w Time windows, seconds.
    constructor(
        IERC20 token_,
        IModelCatalog catalog,
        IWorkerRegistry registry,
        IArbitrationPanel panel,
        address owner_,
        address guardian_,
        address treasury_,
        uint16 feeBps_,
        uint40 compensationCap_,
        Windows memory w
    ) Ownable(owner_) {
        if (IERC20Metadata(address(token_)).decimals() != 6) revert Admin_InvalidAddress(address(token_));
        TOKEN = token_;
        CHAIN = block.chainid;
        DOMAIN = JobMessages.domain("InferenceEscrow");
        CATALOG = catalog;
        REGISTRY = registry;
        PANEL = panel;

        _checkWindows(w);
        COMPLETION_WINDOW = w.completion;
        INCLUSION_WINDOW = w.inclusion;
        PROOF_WINDOW = uint256(w.completion) + w.inclusion;
        FINALIZATION_WINDOW = w.finalization;
        SETTLED_WINDOW = uint256(w.dispute) + w.inclusion;

        (uint256 slashable, uint256 longest) = _risks(w);
        // Deadlines are kept as 32-bit seconds after the lock.
        if (longest > type(uint32).max) revert Admin_InvalidWindow("all", longest, type(uint32).max);
        LONGEST_RISK = uint40(longest);
        _atLeast("unbonding", registry.unbondingPeriod(), slashable + 1);

        _state.deployment = Deployment({token: token_, registry: registry, panel: panel});
        _state.longestRisk = uint40(longest);
        _state.windows = w;
        _setTreasury(treasury_);
        _setGuardian(guardian_);
        _setCompensationCap(compensationCap_);
        OperatorLogic.checkFee(feeBps_, 0);
        // No job can be open: the first fee needs no notice. Operators have no share of it until governance gives them one.
        _state.config.fee = FeeTermsFields.pack(feeBps_, 0);
        emit FeeScheduled(++_state.adminSequence, feeBps_, 0, uint40(block.timestamp));
    }

    // -------------------------------------------------------------------------------------------------------- money

    /// @inheritdoc IInferenceEscrow
    function deposit(uint40 credits, uint8 operator) external nonReentrant {
        _deposit(credits, operator);
    }

    /// @inheritdoc IInferenceEscrow
    function depositWithPermit(
        uint40 credits,
        uint8 operator,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external nonReentrant {
        uint256 units = uint256(credits) * UNITS_PER_CREDIT;
        // A permit is public once in the mempool: whoever submits it first only grants the allowance we are about to use.
        // solhint-disable-next-line no-empty-blocks
        try IERC20Permit(address(TOKEN)).permit(msg.sender, address(this), units, deadline, v, r, s) {} catch {}
        _deposit(credits, operator);
    }

    /// @inheritdoc IInferenceEscrow
    function withdraw(uint40 credits, address receiver) external nonReentrant {
        if (credits == 0) revert Ledger_ZeroCredits();
        _requirePayable(receiver);
        AccountSlot account = _state.accountOf(msg.sender);
        uint40 free = account.free();
        if (free < credits) revert Ledger_InsufficientCredits(msg.sender, free, credits);

        account = account.withBalance(free - credits, account.escrowed()).counted();
        _state.accounts[msg.sender] = account;
        _state.creditsOwed -= credits;
        emit Withdrawn(
            account.id(),
            msg.sender,
            receiver,
            account.sequence(),
            credits,
            account.free(),
            account.escrowed()
        );

        TOKEN.safeTransfer(receiver, uint256(credits) * UNITS_PER_CREDIT);
    }

    /// @inheritdoc IInferenceEscrow
    function claim(address payee) external nonReentrant {
        _claim(payee, payee);
    }

    /// @inheritdoc IInferenceEscrow
    function claimTo(address receiver) external nonReentrant {
        _requirePayable(receiver);
        _claim(msg.sender, receiver);
    }

    /// @inheritdoc IInferenceEscrow
    function chooseOperator(uint8 operator) external {
        _requireOperator(operator);
        AccountSlot account = _state.accountOf(msg.sender).withOperator(operator).counted();
        _state.accounts[msg.sender] = account;
        emit OperatorChosen(account.id(), msg.sender, operator, account.sequence());
    }

    /// @inheritdoc IInferenceEscrow
    function setLimits(bool limited, uint32 dailyLimit, bool frozen) external {
        if (!limited) dailyLimit = 0;
        AccountSlot account = _state.accountOf(msg.sender);
        uint8 flags = account.flags() & AccountSlots.AUTHORIZED;
        if (frozen) flags |= AccountSlots.FROZEN;
        if (limited) flags |= AccountSlots.LIMITED;
        account = account.withFlags(flags).withDailyLimit(dailyLimit).counted();
        _state.accounts[msg.sender] = account;
        emit LimitsSet(account.id(), msg.sender, account.sequence(), limited, dailyLimit, frozen);
    }

    /// @inheritdoc IInferenceEscrow
    function setAuthorizationKey(address key) external {
        AccountSlot account = _state.accountOf(msg.sender);
        uint8 flags = account.flags() & ~AccountSlots.AUTHORIZED;
        if (key != address(0)) flags |= AccountSlots.AUTHORIZED;
        account = account.withFlags(flags).counted();
        _state.accounts[msg.sender] = account;
        _state.authorizationKeys[msg.sender] = key;
        emit AuthorizationKeySet(account.id(), msg.sender, key, account.sequence());
    }

    /// @inheritdoc IInferenceEscrow
    function accountOf(address wallet) external view returns (Account memory) {
        return _state.accounts[wallet].unpack();
    }

    /// @inheritdoc IInferenceEscrow
    function walletOf(uint32 account) external view returns (address) {
        return _state.wallets[account];
    }

    /// @inheritdoc IInferenceEscrow
    function authorizationKeyOf(address wallet) external view returns (address) {
        return _state.authorizationKeys[wallet];
    }

    /// @inheritdoc IInferenceEscrow
    function claimableOf(address payee) external view returns (uint256 units) {
        return _state.claimables[payee].units;
    }

    /// @inheritdoc IInferenceEscrow
    function liabilities() external view returns (uint256 credits, uint256 units) {
        return (_state.creditsOwed, _state.unitsOwed);
    }

    /// @inheritdoc IInferenceEscrow
    function token() external view returns (address) {
        return address(TOKEN);
    }

    function _deposit(uint40 credits, uint8 operator) private {
        if (_isPaused()) revert Ledger_Paused();
        if (credits < MINIMUM_DEPOSIT) revert Ledger_DepositTooSmall(credits, MINIMUM_DEPOSIT);
        _requireOperator(operator);
        _state.purchase(TOKEN, msg.sender, credits, operator);
    }

    function _claim(address payee, address receiver) private {
        Claimable memory claimable = _state.claimables[payee];
        uint128 units = claimable.units;
        if (units == 0) revert Ledger_NothingToClaim(payee);

        claimable.units = 0;
        claimable.sequence += 1;
        _state.claimables[payee] = claimable;
        _state.unitsOwed -= units;
        emit PayoutClaimed(payee, receiver, claimable.sequence, units);

        if (!BoundedCall.tryTransfer(TOKEN, receiver, units)) revert Ledger_PayoutRefused(receiver, units);
    }

    /// @dev Escrow and token can never be payees: tokens sent there would be lost.
    function _isUnpayable(address payee) private view returns (bool) {
        return payee == address(0) || payee == address(this) || payee == address(TOKEN);
    }

    function _requirePayable(address receiver) private view {
        if (_isUnpayable(receiver)) revert Ledger_InvalidReceiver(receiver);
    }

    // ---------------------------------------------------------------------------------------------------- operators

    /// @inheritdoc IInferenceEscrow
    function admitOperator(address admin) external onlyOwner returns (uint8 operator) {
        return OperatorLogic.admit(_state, admin);
    }

    /// @inheritdoc IInferenceEscrow
    function stopOperator(uint8 operator, bool stopped) external {
        (operator);
        // The guardian can only take away: giving back is governance's.
        if (!stopped) _checkOwner();
        else _requireGuardianOrOwner();
        _forward(address(OperatorLogic), OperatorLogic.stop.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function setOperatorAdmin(uint8 operator, address admin) external {
        (operator, admin);
        _forward(address(OperatorLogic), OperatorLogic.setAdmin.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function rotateSigners(
        uint8 operator,
        address[] calldata added,
        Signature[] calldata consents,
        address[] calldata removed
    ) external {
        OperatorLogic.rotateSigners(_state, operator, added, consents, removed);
    }

    /// @inheritdoc IInferenceEscrow
    function fundReserve(uint8 operator, uint40 credits) external nonReentrant {
        (operator, credits);
        _forward(address(OperatorLogic), OperatorLogic.fundReserve.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function announceReserveWithdrawal(uint8 operator, uint40 credits) external {
        (operator, credits);
        _forward(address(OperatorLogic), OperatorLogic.announceReserveWithdrawal.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function withdrawReserve(uint8 operator, address receiver) external nonReentrant {
        (operator);
        _requirePayable(receiver);
        _forward(address(OperatorLogic), OperatorLogic.withdrawReserve.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function withdrawEarnings(uint8 operator, uint16 firstDay, uint16 lastDay, address receiver) external nonReentrant {
        (operator, firstDay, lastDay);
        _requirePayable(receiver);
        _forward(address(OperatorLogic), OperatorLogic.withdrawEarnings.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function earningsOf(uint8 operator, uint16 day) external view returns (uint256 units) {
        return _state.earnings[operator][day];
    }

    /// @inheritdoc IInferenceEscrow
    function operatorOf(uint8 operator) external view returns (Operator memory) {
        return _state.operators[operator];
    }

    /// @inheritdoc IInferenceEscrow
    function stoppedOperators() external view returns (uint160) {
        return _state.config.stopped;
    }

    /// @inheritdoc IInferenceEscrow
    function operatorCount() external view returns (uint8) {
        return _state.operatorCount;
    }

    /// @inheritdoc IInferenceEscrow
    function signerOf(address key) external view returns (uint8 operator, uint40 removedAt) {
        Signer storage signer = _state.signers[key];
        return (signer.operator, signer.removedAt);
    }

    /// @dev An operator that a wallet can choose; 0 is none.
    function _requireOperator(uint8 operator) private view {
        if (operator > _state.operatorCount) revert Operator_Unknown(operator);
    }

    // --------------------------------------------------------------------------------------------------------- jobs

    /// @inheritdoc IInferenceEscrow
    function lock(
        address wallet,
        uint16 model,
        bytes16 jobId,
        uint32 maxTokens,
        uint32 maxCredits,
        uint40 validUntil
    ) external {
        if (jobId == 0) revert Job_InvalidId(jobId);
        AccountSlot account = _state.accountOf(wallet);
        if (account.flags() & AccountSlots.AUTHORIZED != 0) revert Job_AuthorizationRequired(wallet);
        _lock(account, wallet, model, jobId, maxTokens, maxCredits, validUntil);
    }

    /// @inheritdoc IInferenceEscrow
    function lockAuthorized(Authorization calldata authorization, Signature calldata byKey) external {
        Authorization calldata a = authorization;
        _requireFreshId(a.jobId);
        uint256 latest = block.timestamp + AUTHORIZATION_SPAN;
        if (a.expiresAt > latest) revert Job_AuthorizationTooLong(a.expiresAt, latest);
        address key = _state.authorizationKeys[a.wallet];
        address recovered = a.hash().recover(domainSeparator(), byKey);
        if (key == address(0) || recovered != key) revert Job_NotAuthorized(a.wallet, key, recovered);

        AccountSlot account = _state.accountOf(a.wallet);
        uint8 operator = _lock(account, a.wallet, a.model, a.jobId, a.maxTokens, a.maxCredits, a.expiresAt);
        if (operator != a.operator) revert Job_OperatorNotChosen(a.wallet, a.operator, operator);
        emit JobAuthorized(a.jobId, key, a.requestHash);
    }

    /// @inheritdoc IInferenceEscrow
    function acknowledge(
        Assignment calldata assignment,
        Signature calldata byGateway,
        Signature calldata byWorker
    ) external {
        bytes16 jobId = assignment.jobId;
        JobSlot job = _state.jobs[jobId];
        if (!job.isOpen()) Ledger.wrongState(jobId, job);
        uint40 acknowledgeBy = assignment.acknowledgeBy;
        if (block.timestamp >= acknowledgeBy) revert Job_TooLate(jobId, acknowledgeBy, block.timestamp);
        bytes32 domain = domainSeparator();
        // A signer's own call says what its Assignment would say.
        if (!_state.isSigner(msg.sender, job.operator())) {
            address gateway = assignment.hash().recover(domain, byGateway);
            Signer storage by = _state.signers[gateway];
            bool valid = by.operator == job.operator() && (by.removedAt == 0 || job.lockedAt() <= by.removedAt);
            if (!valid) revert Job_NotAssigned(jobId, gateway);
        }
        uint8 attempt = assignment.attempt;
        address signer = JobMessages.hashAcknowledgement(jobId, attempt).recover(domain, byWorker);
        if (signer != assignment.worker) revert Job_NotTheWorker(jobId, signer);

        // The attempt is taken; its own worker repeats itself without effect.
        if (attempt == job.attempt() && job.worker() != 0 && REGISTRY.signerOf(job.worker()) == signer) return;
        if (attempt <= job.attempt()) revert Job_AttemptTaken(jobId, attempt, job.attempt());
        _state.jobs[jobId] = job.assigned(_eligible(signer, job.model()).id(), attempt);
        emit JobAcknowledged(jobId, signer, attempt);
    }

    /// @inheritdoc IInferenceEscrow
    function fail(bytes16 jobId, FailureReason reason) external {
        JobSlot job = _ownJob(jobId);
        if (!job.isOpen()) Ledger.wrongState(jobId, job);
        (address wallet, AccountSlot account) = _state.returnAll(jobId, job.to(JobStatus.Failed));
        emit JobFailed(jobId, wallet, reason, job.credits(), account.free(), account.escrowed());
    }

    /// @inheritdoc IInferenceEscrow
    function refund(bytes16 jobId) external {
        JobSlot job = _state.jobs[jobId];
        uint256 notBefore = uint256(job.lockedAt()) + COMPLETION_WINDOW;
        if (!_state.isSigner(msg.sender, job.operator())) notBefore += INCLUSION_WINDOW;
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        if (!job.isOpen()) Ledger.wrongState(jobId, job);
        (address wallet, AccountSlot account) = _state.returnAll(jobId, job.to(JobStatus.Refunded));
        emit JobRefunded(jobId, wallet, job.credits(), account.free(), account.escrowed());
    }

    /// @inheritdoc IInferenceEscrow
    function jobOf(bytes16 jobId) external view returns (Job memory) {
        return _state.jobs[jobId].unpack();
    }

    /// @inheritdoc IInferenceEscrow
    function windows() external view returns (Windows memory) {
        return _state.windows;
    }

    /// @inheritdoc IInferenceEscrow
    function domainSeparator() public view returns (bytes32) {
        // A fork of the chain has a domain of its own: a signature is worth nothing there.
        return block.chainid == CHAIN ? DOMAIN : JobMessages.domain("InferenceEscrow");
    }

    /// @dev Both locks. Returns the caller's operator, which is the one that the wallet chose.
    function _lock(
        AccountSlot account,
        address wallet,
        uint16 model,
        bytes16 jobId,
        uint32 maxTokens,
        uint32 maxCredits,
        uint40 validUntil
    ) private returns (uint8 operator) {
        Signer storage signer = _state.signers[msg.sender];
        operator = signer.operator;
        Config storage config = _state.config;
        if (operator == 0 || signer.removedAt != 0 || (config.stopped >> (operator - 1)) & 1 == 1) {
            revert Job_MayNotLock(msg.sender);
        }
        if (account.operator() != operator) revert Job_OperatorNotChosen(wallet, account.operator(), operator);
        if (config.pausedByGuardian || config.pausedByGovernance) revert Ledger_Paused();
        if (block.timestamp >= validUntil) revert Job_LockExpired(validUntil, block.timestamp);
        if (!_state.jobs[jobId].isIn(JobStatus.None)) revert Job_AlreadyExists(jobId);
        LockTerms terms = CATALOG.termsOf(model);
        if (LockTerms.unwrap(terms) == 0) revert Job_ModelNotActive(model);
        uint16 perRequest = terms.creditsPerRequest();
        uint16 per1k = terms.creditsPer1kTokens();
        uint32 credits = Pricing.quote(maxTokens, perRequest, per1k);
        if (credits > maxCredits) revert Job_PriceExceedsLimit(credits, maxCredits);
        if (credits > JOB_LIMIT) revert Job_TooLarge(credits, JOB_LIMIT);

        account = _spent(account, wallet, credits);
        _state.accounts[wallet] = account;
        JobSlot job = JobSlots.locked(account.id(), credits, perRequest, per1k, model, config.feeNow(), operator);
        _state.jobs[jobId] = job;
        emit JobLocked(jobId, wallet, terms.tier(), credits, job, account);
    }

    /// @dev The account after a lock of `credits`, when its balance and limits allow it.
    function _spent(AccountSlot account, address wallet, uint32 credits) private view returns (AccountSlot) {
        uint8 flags = account.flags();
        if (flags & AccountSlots.FROZEN != 0) revert Limits_Frozen(wallet);
        uint40 free = account.free();
        if (free < credits) revert Ledger_InsufficientCredits(wallet, free, credits);
        uint16 today = Ledger.dayOf(block.timestamp);
        uint256 before = account.spentDay() == today ? account.spentToday() : 0;
        uint256 total = before + credits;
        if (flags & AccountSlots.LIMITED != 0 && total > account.dailyLimit()) {
            revert Limits_DailyLimitReached(wallet, before, account.dailyLimit(), credits);
        }
        // Counted without a limit too, so that one set at noon knows the morning. Saturates: no limit is above it.
        if (total > type(uint32).max) total = type(uint32).max;
        return account.withBalance(free - credits, account.escrowed() + credits).withSpent(today, uint32(total));
    }

    /// @dev A UUIDv7 whose time is within ID_SPAN of the block's. Bits from the top: 48 milliseconds, 4 version, 12 random,
    ///      2 variant, 62 random.
    function _requireFreshId(bytes16 jobId) private view {
        uint256 bits = uint128(jobId);
        uint256 time = (bits >> 80) / 1000;
        bool uuid7 = (bits >> 76) & 0xf == 7 && (bits >> 62) & 3 == 2;
        bool fresh = time + ID_SPAN >= block.timestamp && time <= block.timestamp + ID_SPAN;
        if (!uuid7 || !fresh) revert Job_InvalidId(jobId);
    }

    /// @dev The job, when the caller signs for the operator that locked it.
    function _ownJob(bytes16 jobId) private view returns (JobSlot job) {
        job = _state.jobs[jobId];
        if (job.isIn(JobStatus.None)) Ledger.wrongState(jobId, job);
        if (!_state.isSigner(msg.sender, job.operator())) revert Job_NotItsOperator(jobId, msg.sender);
    }

    /// @dev A worker that may take a job of `model` now.
    function _eligible(address signer, uint16 model) private view returns (Payee payee) {
        payee = REGISTRY.payeeOf(signer, model);
        if (Payee.unwrap(payee) == 0) revert Job_WorkerNotEligible(signer, model);
    }

    // --------------------------------------------------------------------------------------------------- settlement

    /// @inheritdoc IInferenceEscrow
    function complete(
        Completion calldata completion,
        uint32 countedTokens,
        Signature calldata byWorker,
        address wallet
    ) external nonReentrant {
        bytes16 jobId = completion.jobId;
        JobSlot job = _ownJob(jobId);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(domainSeparator(), byWorker);
        Payee payee;
        if (job.isIn(JobStatus.Locked)) {
            payee = _eligible(signer, job.model());
            job = job.assigned(payee.id(), 1);
        } else {
            payee = _payeeOf(jobId, job, signer);
            if (!job.isIn(JobStatus.Acknowledged)) {
                if (job.isIn(JobStatus.Settled)) return;
                if (!job.isIn(JobStatus.Proven)) Ledger.wrongState(jobId, job);
                if (_state.proofs[jobId].digest != bytes28(structHash)) revert Settlement_OtherCompletion(jobId);
            }
        }
        _checkInTime(jobId, job, completion.completedAt);

        // The sum of two 32-bit counts can need 33 bits.
        uint256 written = uint256(completion.completionTokens) + completion.reasoningTokens;
        uint32 billed = written < countedTokens ? uint32(written) : countedTokens;
        _settle(
            job.withDueAt(block.timestamp + SETTLED_WINDOW),
            Settlement({
                jobId: jobId,
                proofHash: completion.proofHash,
                usage: Usages.pack(completion, billed),
                charge: _charge(job, billed),
                signer: signer,
                r: byWorker.r,
                vs: byWorker.vs,
                payout: payee.payout(),
                wallet: wallet
            })
        );
    }

    /// @inheritdoc IInferenceEscrow
    function submitProof(Completion calldata completion, Signature calldata byWorker) external {
        bytes16 jobId = completion.jobId;
        JobSlot job = _state.jobs[jobId];
        if (!job.isIn(JobStatus.Acknowledged)) Ledger.wrongState(jobId, job);
        _checkInTime(jobId, job, completion.completedAt);
        bytes32 structHash = completion.hash();
        address signer = structHash.recover(domainSeparator(), byWorker);
        _payeeOf(jobId, job, signer);

        uint32 billed = _provenTokens(completion);
        uint32 credits = _charge(job, billed);
        job = job.to(JobStatus.Proven).withDueAt(block.timestamp + FINALIZATION_WINDOW);
        _state.jobs[jobId] = job;
        _state.proofs[jobId] = Proof({digest: bytes28(structHash), credits: credits});
        emit JobProven(
            jobId,
            signer,
            completion.proofHash,
            Usages.pack(completion, billed),
            credits,
            uint40(job.dueAt())
        );
    }

    /// @inheritdoc IInferenceEscrow
    function finalize(Completion calldata completion) external nonReentrant {
        bytes16 jobId = completion.jobId;
        JobSlot job = _state.jobs[jobId];
        if (!job.isIn(JobStatus.Proven)) Ledger.wrongState(jobId, job);
        uint256 notBefore = job.dueAt();
        if (block.timestamp < notBefore) revert Job_TooEarly(jobId, notBefore, block.timestamp);
        Proof memory proof = _state.proofs[jobId];
        if (proof.digest != bytes28(completion.hash())) revert Settlement_OtherCompletion(jobId);

        address signer = REGISTRY.signerOf(job.worker());
        _settle(
            job,
            Settlement({
                jobId: jobId,
                proofHash: completion.proofHash,
                usage: Usages.pack(completion, _provenTokens(completion)),
                charge: proof.credits,
                signer: signer,
                // The proof was signed; who finalizes need not have the signature. The event names the digest on record instead.
                r: proof.digest,
                vs: 0,
                payout: REGISTRY.payeeOf(signer, 0).payout(),
                wallet: _state.wallets[job.account()]
            })
        );
    }

    /// @inheritdoc IInferenceEscrow
    function proofOf(bytes16 jobId) external view returns (bytes28 digest, uint32 credits) {
        Proof memory proof = _state.proofs[jobId];
        return (proof.digest, proof.credits);
    }

    /// @dev Charges the job, whose deadline the caller has set, stores it and pays everyone.
    function _settle(JobSlot job, Settlement memory s) private {
        bytes16 jobId = s.jobId;
        AccountSlot account = _state.accounts[s.wallet];
        if (account.id() != job.account()) revert Settlement_WrongWallet(jobId, s.wallet);

        uint32 locked = job.credits();
        account = account.returned(locked, locked - s.charge, job.lockedAt());
        _state.accounts[s.wallet] = account;
        job = job.withCredits(s.charge).to(JobStatus.Settled);
        _state.jobs[jobId] = job;
        _state.creditsOwed -= s.charge;
        emit JobSettled(jobId, s.wallet, s.signer, s.proofHash, s.charge, s.usage, s.r, s.vs, account);
        uint256 feeUnits = job.feeUnits();
        uint256 workerUnits = uint256(s.charge) * UNITS_PER_CREDIT - feeUnits;
        if (job.operatorShare() != 0) feeUnits -= _state.earn(job);
        _state.pay(TOKEN, jobId, s.payout, workerUnits);
        uint256 batch = _batch;
        if (batch != 0) _batch = batch + feeUnits;
        else _state.pay(TOKEN, jobId, treasury(), feeUnits);
    }

    /// @dev Where the job's worker is paid, when `signer` is that worker.
    function _payeeOf(bytes16 jobId, JobSlot job, address signer) private view returns (Payee payee) {
        payee = REGISTRY.payeeOf(signer, 0);
        if (payee.id() != job.worker()) revert Job_NotTheWorker(jobId, signer);
    }

    /// @dev Output tokens of an answer that no gateway counted: its content alone, at most a token a byte.
    function _provenTokens(Completion calldata c) private pure returns (uint32) {
        return c.completionTokens < c.textBytes ? c.completionTokens : c.textBytes;
    }

    function _charge(JobSlot job, uint32 tokens) private pure returns (uint32) {
        return Pricing.charge(tokens, job.creditsPerRequest(), job.creditsPer1kTokens(), job.credits());
    }

    /// @dev The answer was finished in [lockedAt, lockedAt + 120 s), not later than now, and arrives before lockedAt + 150 s.
    function _checkInTime(bytes16 jobId, JobSlot job, uint40 completedAt) private view {
        uint256 lockedAt = job.lockedAt();
        // 40-bit times and 32-bit windows: nothing can overflow.
        unchecked {
            if (
                completedAt < lockedAt || completedAt >= lockedAt + COMPLETION_WINDOW || completedAt > block.timestamp
            ) {
                revert Settlement_CompletedOutOfTime(jobId, completedAt, lockedAt);
            }
            uint256 deadline = lockedAt + PROOF_WINDOW;
            if (block.timestamp >= deadline) revert Job_TooLate(jobId, deadline, block.timestamp);
        }
    }

    // ----------------------------------------------------------------------------------------------------- disputes

    /// @inheritdoc IInferenceEscrow
    function openDispute(
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker
    ) external nonReentrant {
        (receivedHash, completion, byWorker);
        _forward(address(DisputeLogic), DisputeLogic.open.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function joinDispute(bytes16 jobId, bytes32 receivedHash) external nonReentrant {
        (jobId, receivedHash);
        _forward(address(DisputeLogic), DisputeLogic.join.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function setDisputeKey(address key, uint8 mostOpen) external nonReentrant {
        (key, mostOpen);
        _forward(address(DisputeLogic), DisputeLogic.setKey.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function disputeByKey(
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker,
        uint32 maxBond,
        uint40 expiresAt,
        Signature calldata byKey
    ) external nonReentrant {
        (receivedHash, completion, byWorker, maxBond, expiresAt, byKey);
        _forward(address(DisputeLogic), DisputeLogic.openByKey.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function rule(bytes16 jobId, Ruling ruling) external nonReentrant {
        (jobId, ruling);
        _forward(address(DisputeLogic), DisputeLogic.rule.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function expire(bytes16 jobId) external nonReentrant {
        (jobId);
        _forward(address(DisputeLogic), DisputeLogic.expire.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function proveEquivocation(
        Completion calldata first,
        Signature calldata firstByWorker,
        Completion calldata second,
        Signature calldata secondByWorker
    ) external nonReentrant {
        (first, firstByWorker, second, secondByWorker);
        _forward(address(DisputeLogic), DisputeLogic.proveEquivocation.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function collectDebt(bytes16 jobId) external nonReentrant {
        (jobId);
        _forward(address(DisputeLogic), DisputeLogic.collectDebt.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function disputeKeyOf(
        address wallet
    ) external view returns (address key, uint32 sequence, uint8 mostOpen, uint8 open) {
        DisputeKey storage k = _state.disputeKeys[wallet];
        return (k.key, k.sequence, k.mostOpen, k.open);
    }

    /// @inheritdoc IInferenceEscrow
    function disputeOf(bytes16 jobId) external view returns (Dispute memory) {
        return _state.disputes[jobId];
    }

    /// @inheritdoc IInferenceEscrow
    function compensationOf(bytes16 jobId) external view returns (uint64 granted, uint64 paid, bool toWorker) {
        Compensation storage c = _state.compensations[jobId];
        return (c.granted, c.paid, c.toWorker);
    }

    /// @dev Hands the call over to a function of a library that has the same parameters after the state's slot. They are of fixed
    ///      size, so what was sent is what it reads; the compiler's own call would check and copy each field twice. Callers list
    ///      their parameters in a statement without effect, so that they keep their names in the ABI without being unused.
    function _forward(address logic, bytes4 selector) private {
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, selector)
            mstore(add(data, 4), _state.slot)
            calldatacopy(add(data, 0x24), 4, sub(calldatasize(), 4))
            if iszero(delegatecall(gas(), logic, data, add(calldatasize(), 0x20), 0, 0)) {
                returndatacopy(data, 0, returndatasize())
                revert(data, returndatasize())
            }
        }
    }

    // ----------------------------------------------------------------------------------------------- administration

    /// @inheritdoc IInferenceEscrow
    function scheduleFee(uint16 feeBps_, uint8 operatorShare_) external onlyOwner {
        (feeBps_, operatorShare_);
        _forward(address(OperatorLogic), OperatorLogic.scheduleFee.selector);
    }

    /// @inheritdoc IInferenceEscrow
    function setTreasury(address treasury_) external onlyOwner {
        _setTreasury(treasury_);
    }

    /// @inheritdoc IInferenceEscrow
    function setGuardian(address guardian_) external onlyOwner {
        _setGuardian(guardian_);
    }

    /// @inheritdoc IInferenceEscrow
    function setCompensationCap(uint40 credits) external onlyOwner {
        _setCompensationCap(credits);
    }

    /// @inheritdoc IInferenceEscrow
    function setPaused(bool paused_) external {
        _requireGuardianOrOwner();
        Config storage config = _state.config;
        if (msg.sender == owner()) {
            config.pausedByGovernance = paused_;
            if (!paused_) config.pausedByGuardian = false;
        } else {
            config.pausedByGuardian = paused_;
        }
        emit PausedSet(++_state.adminSequence, config.pausedByGuardian, config.pausedByGovernance);
    }

    /// @inheritdoc IInferenceEscrow
    function feeBps() external view returns (uint16) {
        return _state.config.feeNow().feeBps();
    }

    /// @inheritdoc IInferenceEscrow
    function operatorShare() external view returns (uint8) {
        return _state.config.feeNow().operatorShare();
    }

    /// @inheritdoc IInferenceEscrow
    function treasury() public view returns (address) {
        return _state.treasury;
    }

    /// @inheritdoc IInferenceEscrow
    function guardian() external view returns (address) {
        return _state.guardian;
    }

    /// @inheritdoc IInferenceEscrow
    function paused() external view returns (bool byGuardian, bool byGovernance) {
        return (_state.config.pausedByGuardian, _state.config.pausedByGovernance);
    }

    /// @inheritdoc IInferenceEscrow
    function compensationCap() external view returns (uint40) {
        return _state.compensationCap;
    }

    function _isPaused() private view returns (bool) {
        return _state.config.pausedByGuardian || _state.config.pausedByGovernance;
    }

    function _setTreasury(address treasury_) private {
        if (_isUnpayable(treasury_)) revert Admin_InvalidAddress(treasury_);
        _state.treasury = treasury_;
        emit TreasurySet(++_state.adminSequence, treasury_);
    }

    function _setGuardian(address guardian_) private {
        _state.guardian = guardian_;
        emit GuardianSet(++_state.adminSequence, guardian_);
    }

    function _setCompensationCap(uint40 credits) private {
        if (credits > COMPENSATION_CEILING) revert Admin_CompensationAboveCeiling(credits, COMPENSATION_CEILING);
        _state.compensationCap = credits;
        emit CompensationCapSet(++_state.adminSequence, credits);
    }

    function _requireGuardianOrOwner() private view {
        if (msg.sender != _state.guardian && msg.sender != owner()) revert Admin_NotGuardian(msg.sender);
    }

    /// @dev On a development chain a second is enough of everything.
    function _checkWindows(Windows memory w) private view {
        bool dev = block.chainid == DEV_CHAIN;
        _atLeast("completion", w.completion, dev ? 1 : 60);
        _atLeast("inclusion", w.inclusion, dev ? 1 : 24);
        _atLeast("finalization", w.finalization, dev ? 1 : 30 minutes);
        _atLeast("dispute", w.dispute, dev ? 1 : 60);
        _atLeast("notice", w.notice, dev ? 1 : 12 hours);
        // A dispute that the operator opens can be ruled only after the job's own window: arbiters need time after it.
        uint256 settled = uint256(w.dispute) + w.inclusion;
        uint256 longest = w.finalization > settled ? w.finalization : settled;
        _atLeast("arbitration", w.arbitration, longest + (dev ? 1 : 12 hours));
        // A dispute after an equivocation begins at most as late as the other way round.
        _atLeast("equivocation", w.equivocation, w.arbitration);
    }

    /// @dev Seconds after a lock in which its worker can be slashed, and in which its operator can be charged.
    function _risks(Windows memory w) private pure returns (uint256 slashable, uint256 longest) {
        uint256 proof = uint256(w.completion) + w.inclusion;
        // A proven job disputed at the last moment, a settled one, an equivocation shown at the last moment.
        slashable = proof + w.finalization + w.arbitration;
        uint256 settled = proof + w.dispute + w.inclusion + w.arbitration;
        if (settled > slashable) slashable = settled;
        if (w.equivocation > slashable) slashable = w.equivocation;
        // After an equivocation the charge can be disputed once more; the slash is over then.
        uint256 again = 2 * uint256(w.equivocation) + w.arbitration;
        longest = again > slashable ? again : slashable;
    }

    function _atLeast(bytes32 window, uint256 value, uint256 minimum) private pure {
        if (value < minimum) revert Admin_InvalidWindow(window, value, minimum);
    }

    // ------------------------------------------------------------------------------------------------------ batches

    /// @inheritdoc IInferenceEscrow
    /// @dev Each item is a delegatecall of the contract to itself: msg.sender stays the caller, so an item can do what the
    ///      caller could do alone and nothing else. Checks of `address(this)` as an authority would break that; there are none.
    function execute(bytes[] calldata items) external {
        if (_batch != 0) revert Batch_Nested();
        _batch = 1;
        for (uint256 i = 0; i < items.length; ++i) {
            if (gasleft() < ITEM_GAS) revert Batch_OutOfGas(i, gasleft(), ITEM_GAS);
            _executeItem(i, items[i]);
        }
        _payBatch(_batch - 1);
        _batch = 0;
    }

    function _payBatch(uint256 feeUnits) private nonReentrant {
        _state.pay(TOKEN, 0, treasury(), feeUnits);
    }

    function _executeItem(uint256 index, bytes calldata item) private {
        bool ok;
        bytes memory reason;
        assembly ("memory-safe") {
            // Memory is handed back after each item: a large batch must not pay for the memory of the items before.
            let data := mload(0x40)
            calldatacopy(data, item.offset, item.length)
            ok := delegatecall(gas(), address(), data, item.length, 0, 0)
            if iszero(ok) {
                let size := returndatasize()
                if gt(size, REASON_LIMIT) {
                    size := REASON_LIMIT
                }
                reason := data
                mstore(reason, size)
                returndatacopy(add(reason, 0x20), 0, size)
                mstore(0x40, and(add(add(reason, size), 0x3f), not(0x1f)))
            }
        }
        if (!ok) emit BatchItemFailed(index, bytes4(item), reason);
    }
}

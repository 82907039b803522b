// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    Account,
    Assignment,
    Authorization,
    Completion,
    Dispute,
    FailureReason,
    Job,
    JobStatus,
    Operator,
    Ruling,
    Signature,
    Windows
} from "../Types.sol";
import {AccountSlot, JobSlot, Usage} from "../Words.sol";

/// @title Escrow of a credit-metered inference service
/// @notice Prepaid credits of wallets, and the jobs they pay for. One credit is 10,000 units of a 6-decimal stablecoin (0.01).
///         All times are block times in Unix seconds. "Before" excludes the named second, "from" includes it.
/// @dev Specification: "What the service does", "States and transitions", "Charging", Account, Job and `on_chain`.
interface IInferenceEscrow {
    // ------------------------------------------------------------------------------------------------ events: money

    /// @notice A wallet bought credits. The first purchase opens its account.
    /// @param account Id of the account; ids start at 1 and are never reused.
    /// @param wallet Owner of the credits and payer of the tokens.
    /// @param sequence The account's running number of non-job events, starting at 1.
    /// @param credits Credits added.
    /// @param operator The wallet's operator after it, 0 for none.
    /// @param free Spendable credits after it.
    /// @param escrowed Credits locked in unfinished jobs and bonds after it.
    event Deposited(
        uint32 indexed account,
        address indexed wallet,
        uint32 sequence,
        uint40 credits,
        uint8 operator,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A wallet took free credits out as tokens.
    /// @param receiver Where the tokens went.
    event Withdrawn(
        uint32 indexed account,
        address indexed wallet,
        address indexed receiver,
        uint32 sequence,
        uint40 credits,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A wallet chose the operator that may lock its credits, or none (0). Open jobs keep theirs.
    event OperatorChosen(uint32 indexed account, address indexed wallet, uint8 indexed operator, uint32 sequence);

    /// @notice A wallet changed its limits.
    /// @param limited Whether a daily limit is in force.
    /// @param dailyLimit Credits that may be locked per UTC day.
    /// @param frozen Whether all locks are refused.
    event LimitsSet(
        uint32 indexed account,
        address indexed wallet,
        uint32 sequence,
        bool limited,
        uint32 dailyLimit,
        bool frozen
    );

    /// @notice A wallet set the key whose signature each of its locks needs from now on, or none (zero).
    event AuthorizationKeySet(uint32 indexed account, address indexed wallet, address indexed key, uint32 sequence);

    /// @notice A wallet named the key that may dispute for it from now on, or none (zero).
    /// @param sequence The account's running number of non-job events; each DisputeRequest of this key names it.
    /// @param mostOpen Disputes that the key may have open at a time.
    event DisputeKeySet(
        uint32 indexed account,
        address indexed wallet,
        address indexed key,
        uint32 sequence,
        uint8 mostOpen
    );

    /// @notice The token refused a payout; the amount waits for its payee and blocks nothing.
    /// @param jobId The job that owed it; zero for the treasury's share of a whole batch.
    /// @param payee Who can have it paid by `claim` or `claimTo`.
    /// @param units Token units (0.000001 stablecoin).
    event PayoutDeferred(bytes16 indexed jobId, address indexed payee, uint256 units);

    /// @notice A deferred payout left the escrow.
    /// @param receiver The payee, or whom the payee named.
    /// @param sequence The payee's running number of claims, starting at 1.
    event PayoutClaimed(address indexed payee, address indexed receiver, uint32 sequence, uint256 units);

    // -------------------------------------------------------------------------------------------- events: operators

    /// @notice Governance admitted an operator; its id is permanent.
    event OperatorAdmitted(uint8 indexed operator, address indexed admin, uint32 sequence);
    /// @notice An operator may lock no new job any more, or may again. Its open jobs are not affected.
    event OperatorStopped(uint8 indexed operator, uint32 sequence, bool stopped);
    /// @notice An operator's admin handed the operator over.
    event OperatorAdminSet(uint8 indexed operator, address indexed admin, uint32 sequence);
    /// @notice A key signs and sends for the operator from now on.
    event SignerAdded(uint8 indexed operator, address indexed signer, uint32 sequence);
    /// @notice A key left its operator. Its Assignments stay valid for jobs locked up to this second.
    event SignerRemoved(uint8 indexed operator, address indexed signer, uint32 sequence);
    /// @notice An operator's reserve changed: funded, withdrawn, held for a dispute, given back, or charged.
    /// @param jobId The job of the dispute; zero if none.
    /// @param sequence The operator's running number of its own events, starting at 1.
    /// @param reserve Credits at hand after it.
    /// @param held Credits that are bonds of open disputes after it.
    event ReserveChanged(uint8 indexed operator, bytes16 indexed jobId, uint32 sequence, uint40 reserve, uint40 held);
    /// @notice An operator's admin announced a withdrawal of reserve.
    event ReserveLeaving(uint8 indexed operator, uint32 sequence, uint40 credits, uint40 leavesAt);
    /// @notice The operator's part of a settled job's fee moved: out of its earnings when the job is disputed, back if that is
    ///         rejected, to the treasury with every other end of the dispute and with two signed answers. What a settlement adds is
    ///         in JobSettled.
    /// @param sequence The operator's running number of its own events.
    /// @param day UTC day of the job's lock, days since 1970-01-01.
    /// @param units What the operator has earned by jobs of that day and not withdrawn, after it; token units.
    /// @param disputed What the job's dispute holds of the operator's part, after it; token units.
    event EarningsChanged(
        uint8 indexed operator,
        bytes16 indexed jobId,
        uint32 sequence,
        uint16 day,
        uint256 units,
        uint256 disputed
    );
    /// @notice An operator's admin withdrew what the operator had earned by jobs locked from `firstDay` to `lastDay`, inclusive.
    /// @param units Token units that left.
    event EarningsWithdrawn(
        uint8 indexed operator,
        address indexed receiver,
        uint32 sequence,
        uint16 firstDay,
        uint16 lastDay,
        uint256 units
    );

    // ------------------------------------------------------------------------------------------------- events: jobs

    /// @notice Credits of `wallet` were debited from its free balance and locked in escrow for a job.
    /// @param jobId UUIDv7 of the job, `job_` + 32 hex digits in the API.
    /// @param wallet Who pays.
    /// @param tier 0 lite, 1 standard, 2 pro, 3 max.
    /// @param credits Credits in escrow, the most this job can cost.
    /// @param job The job's word as stored: model, operator, prices, fee, time of the lock. Layout in Words.sol.
    /// @param account The wallet's word after the lock: free and escrowed credits, what it spent today. Layout in Words.sol.
    event JobLocked(
        bytes16 indexed jobId,
        address indexed wallet,
        uint8 tier,
        uint32 credits,
        JobSlot job,
        AccountSlot account
    );

    /// @notice The wallet's authorization key signed for this job. In the transaction of its JobLocked.
    /// @param key The key that signed.
    /// @param requestHash SHA-256 of the raw request body.
    event JobAuthorized(bytes16 indexed jobId, address indexed key, bytes32 requestHash);

    /// @notice A worker took the job. A settlement from Locked has no such event: JobSettled names the worker.
    /// @param worker Signing key of the worker.
    /// @param attempt Attempt number; a later event with a higher one replaces this worker.
    event JobAcknowledged(bytes16 indexed jobId, address indexed worker, uint8 attempt);

    /// @notice The job ended without an answer; its escrow went back.
    /// @param credits Credits returned.
    event JobFailed(
        bytes16 indexed jobId,
        address indexed wallet,
        FailureReason reason,
        uint32 credits,
        uint40 free,
        uint40 escrowed
    );

    /// @notice No worker completed the job in time, or its worker equivocated; its escrow went back.
    event JobRefunded(bytes16 indexed jobId, address indexed wallet, uint32 credits, uint40 free, uint40 escrowed);

    /// @notice The escrow of a job was released: charged, paid out and the difference returned.
    /// @dev The token's Transfer events of the same transaction show the worker's payout, and the treasury's for all jobs of the
    ///      transaction together, unless PayoutDeferred does. Fee: credits × feeBps of the job's word, in token units. The
    ///      worker has the rest of credits × 10,000. Of the fee, ⌊fee × operatorShare ÷ 20⌋ is added to the earnings of the job's
    ///      operator, on the UTC day of the lock; the treasury has the rest.
    /// @param worker Signing key of the worker.
    /// @param proofHash SHA-256 of the answer, verified to be signed by the worker.
    /// @param credits Credits charged.
    /// @param usage Token counts, length and time of the answer as signed, and the output tokens charged: the lesser of the worker's
    ///        count (content and reasoning) and the gateway's. If the job was finalized: of the content alone, at most a token a
    ///        byte. Layout in Words.sol.
    /// @param r First half of the worker's signature of the Completion. If the job was finalized: the digest of `proofOf`.
    /// @param vs Second half. If the job was finalized: zero.
    /// @param account The wallet's word after it. Layout in Words.sol.
    event JobSettled(
        bytes16 indexed jobId,
        address indexed wallet,
        address indexed worker,
        bytes32 proofHash,
        uint32 credits,
        Usage usage,
        bytes32 r,
        bytes32 vs,
        AccountSlot account
    );

    /// @notice A worker's proof was recorded without its gateway; anyone can finalize it from `finalizeFrom`. The event has the
    ///         whole Completion, so that anyone can dispute or finalize it.
    /// @param usage As in JobSettled, with the output tokens that finalization will charge. Layout in Words.sol.
    /// @param credits What finalization will charge.
    event JobProven(
        bytes16 indexed jobId,
        address indexed worker,
        bytes32 proofHash,
        Usage usage,
        uint32 credits,
        uint40 finalizeFrom
    );

    // --------------------------------------------------------------------------------------------- events: disputes

    /// @notice A dispute was opened.
    /// @param worker Signing key of the disputed worker.
    /// @param receivedHash SHA-256 of what the opener says was received; zero for nothing.
    /// @param workerHash SHA-256 the worker signed.
    /// @param byOperator Opened by the job's operator; otherwise by the wallet itself, or by its dispute key if DisputeSigned
    ///        follows.
    /// @param credits Charge in dispute.
    /// @param bond Credits put up by the wallet, or by the operator for a proven job.
    /// @param arbiterSet The arbiters who rule on this dispute, whatever is changed later.
    /// @param ruleFrom No ruling takes effect before; until then the wallet may join the operator's dispute.
    /// @param ruleBefore A ruling must be mined before this time.
    /// @param free Spendable credits of the wallet after it.
    /// @param escrowed Escrowed credits of the wallet after it.
    event JobDisputed(
        bytes16 indexed jobId,
        address indexed wallet,
        address indexed worker,
        bytes32 receivedHash,
        bytes32 workerHash,
        bool byOperator,
        uint32 credits,
        uint32 bond,
        uint32 arbiterSet,
        uint40 ruleFrom,
        uint40 ruleBefore,
        uint40 free,
        uint40 escrowed
    );

    /// @notice The wallet added its own hash to its operator's dispute.
    event DisputeJoined(bytes16 indexed jobId, address indexed wallet, bytes32 receivedHash);

    /// @notice The wallet's dispute key signed for this. In the transaction of its JobDisputed or DisputeJoined, after it.
    /// @param key The key that signed.
    event DisputeSigned(bytes16 indexed jobId, address indexed key);

    /// @notice A dispute ended: by a ruling, by expiry (ruling None) or because the worker of a proven job equivocated.
    /// @param status State of the job after it: Settled or Refunded; Proven when the dispute of a proven job was rejected, which
    ///        anyone can finalize at once.
    /// @param returned Credits that went from escrow back to the wallet, its bond included.
    event DisputeResolved(
        bytes16 indexed jobId,
        address indexed wallet,
        Ruling ruling,
        JobStatus status,
        uint32 returned,
        uint40 free,
        uint40 escrowed
    );

    /// @notice The operator's reserve paid for a job that it was at fault for.
    /// @param payee The client's wallet (as credits) or the worker's payout address (as tokens, less the protocol fee).
    /// @param credits Credits taken from the reserve.
    /// @param free Spendable credits of the job's wallet after it.
    /// @param escrowed Escrowed credits of the job's wallet after it.
    event OperatorCharged(
        bytes16 indexed jobId,
        address indexed wallet,
        address indexed payee,
        uint32 credits,
        uint40 free,
        uint40 escrowed
    );

    /// @notice The treasury was asked to pay for a job.
    /// @param payee The client's wallet (as credits, fractions of a credit as claimable tokens) or the worker's payout address.
    /// @param paid Token units that arrived.
    /// @param owed Token units that still wait; `collectDebt` pays them later.
    /// @param capped Whether the day's cap bounds and counts `paid`: not where the debt is at most the fee that the job brought.
    /// @param free Spendable credits of the job's wallet after it.
    /// @param escrowed Escrowed credits of the job's wallet after it.
    event Compensated(
        bytes16 indexed jobId,
        address indexed wallet,
        address indexed payee,
        uint256 paid,
        uint256 owed,
        bool capped,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A worker was shown to have signed two different Completions for one job.
    /// @param status State of the job after it: Refunded if its escrow was held (Acknowledged, Proven, or disputed from there);
    ///        else unchanged.
    /// @param disputeBefore Settled: the wallet may dispute without a bond before this time. Else 0.
    event WorkerEquivocated(
        bytes16 indexed jobId,
        address indexed worker,
        bytes32 firstHash,
        bytes32 secondHash,
        JobStatus status,
        uint40 disputeBefore
    );

    // --------------------------------------------------------------------------------------- events: administration

    /// @notice A new protocol fee was announced.
    /// @param operatorShare The operators' share of it, twentieths.
    event FeeScheduled(uint32 sequence, uint16 feeBps, uint8 operatorShare, uint40 effectiveAt);
    /// @notice The treasury was changed.
    event TreasurySet(uint32 sequence, address indexed treasury);
    /// @notice The guardian was changed.
    event GuardianSet(uint32 sequence, address indexed guardian);
    /// @notice Deposits and locks were paused or resumed by the guardian or by governance; either pause is enough.
    event PausedSet(uint32 sequence, bool byGuardian, bool byGovernance);
    /// @notice What the treasury may be charged on a UTC day was changed.
    event CompensationCapSet(uint32 sequence, uint40 credits);

    /// @notice An item of a batch reverted; the others are not affected.
    /// @param index Position in the batch, from 0.
    /// @param selector Function the item called.
    /// @param reason Revert data, cut at 256 bytes.
    event BatchItemFailed(uint256 indexed index, bytes4 indexed selector, bytes reason);

    // ------------------------------------------------------------------------------------------------------- errors

    /// @notice A deposit below the smallest one.
    error Ledger_DepositTooSmall(uint256 credits, uint256 minimum);
    /// @notice The token moved another amount than asked (a fee on transfer, for instance); such tokens are not accepted.
    error Ledger_InexactTransfer(uint256 received, uint256 expected);
    /// @notice The wallet has no account: it never deposited.
    error Ledger_UnknownAccount(address wallet);
    /// @notice The free balance does not cover the amount.
    error Ledger_InsufficientCredits(address wallet, uint256 free, uint256 required);
    /// @notice An amount of zero credits.
    error Ledger_ZeroCredits();
    /// @notice A receiver that would lose the tokens: zero, the escrow or the token contract.
    error Ledger_InvalidReceiver(address receiver);
    /// @notice Nothing is waiting for this payee.
    error Ledger_NothingToClaim(address payee);
    /// @notice The token still refuses this receiver.
    error Ledger_PayoutRefused(address receiver, uint256 units);
    /// @notice Deposits and locks are paused.
    error Ledger_Paused();
    /// @notice The wallet froze its spending.
    error Limits_Frozen(address wallet);
    /// @notice The lock would exceed the wallet's daily limit.
    error Limits_DailyLimitReached(address wallet, uint256 spentToday, uint256 dailyLimit, uint256 required);

    /// @notice No operator has this id.
    error Operator_Unknown(uint8 operator);
    /// @notice There are MOST_OPERATORS; no more can be admitted.
    error Operator_TooMany();
    /// @notice The caller is not the operator's admin.
    error Operator_NotAdmin(uint8 operator, address caller);
    /// @notice The key belongs to an operator for ever; or it is in office already.
    error Operator_SignerTaken(address signer, uint8 operator);
    /// @notice The key is no signer in office of this operator.
    error Operator_NotASigner(uint8 operator, address signer);
    /// @notice The key that is to be added did not sign this consent.
    error Operator_NoConsent(address signer, address recovered);
    /// @notice As many consents as keys are needed.
    error Operator_ConsentsMissing(uint256 signers, uint256 consents);
    /// @notice The reserve does not cover the amount.
    error Operator_ReserveTooSmall(uint8 operator, uint256 reserve, uint256 required);
    /// @notice The announced withdrawal is due from `leavesAt` (0: none is announced).
    error Operator_ReserveStays(uint8 operator, uint256 leavesAt, uint256 now_);
    /// @notice What was earned on this day can be withdrawn from `vestsAt`.
    error Operator_EarningsNotVested(uint8 operator, uint16 day, uint256 vestsAt, uint256 now_);
    /// @notice The operator has no earnings of these days.
    error Operator_NothingEarned(uint8 operator, uint16 firstDay, uint16 lastDay);

    /// @notice The caller is no signer in office, or its operator is stopped.
    error Job_MayNotLock(address caller);
    /// @notice The wallet chose another operator, or none.
    error Job_OperatorNotChosen(address wallet, uint8 chosen, uint8 operator);
    /// @notice The wallet has an authorization key: `lockAuthorized` locks its jobs.
    error Job_AuthorizationRequired(address wallet);
    /// @notice The signature is not by the wallet's authorization key (zero: it has none).
    error Job_NotAuthorized(address wallet, address key, address recovered);
    /// @notice The authorization expires too far ahead.
    error Job_AuthorizationTooLong(uint256 expiresAt, uint256 latest);
    /// @notice The caller is no signer in office of the operator that locked the job.
    error Job_NotItsOperator(bytes16 jobId, address caller);
    /// @notice The id was used before; ids are never reused.
    error Job_AlreadyExists(bytes16 jobId);
    /// @notice No job can have this id: zero, or for an authorized job no UUIDv7 of the last or next five minutes.
    error Job_InvalidId(bytes16 jobId);
    /// @notice The lock was mined too late.
    error Job_LockExpired(uint256 validUntil, uint256 now_);
    /// @notice The model's price at this moment exceeds what the client was told or signed.
    error Job_PriceExceedsLimit(uint32 credits, uint32 maxCredits);
    /// @notice The price is more than any one job can cost.
    error Job_TooLarge(uint32 credits, uint32 limit);
    /// @notice The model is unknown or retired.
    error Job_ModelNotActive(uint16 model);
    /// @notice The job is not in a state in which this call is allowed.
    error Job_WrongState(bytes16 jobId, uint8 status);
    /// @notice The call is only allowed from `notBefore` on.
    error Job_TooEarly(bytes16 jobId, uint256 notBefore, uint256 now_);
    /// @notice The call was only allowed before `deadline`.
    error Job_TooLate(bytes16 jobId, uint256 deadline, uint256 now_);
    /// @notice The Assignment is not signed by a signer of the job's operator.
    error Job_NotAssigned(bytes16 jobId, address signer);
    /// @notice The signature is not the job's worker's.
    error Job_NotTheWorker(bytes16 jobId, address signer);
    /// @notice The worker is unknown, unbonding, below the minimum stake or does not host the model.
    error Job_WorkerNotEligible(address worker, uint16 model);
    /// @notice Another worker holds this attempt or a higher one.
    error Job_AttemptTaken(bytes16 jobId, uint8 attempt, uint8 current);

    /// @notice The signed completion time is outside [lockedAt, lockedAt + completion), or later than this block.
    error Settlement_CompletedOutOfTime(bytes16 jobId, uint256 completedAt, uint256 lockedAt);
    /// @notice The wallet named in the call does not own the job.
    error Settlement_WrongWallet(bytes16 jobId, address wallet);
    /// @notice The Completion is not the one that was proven.
    error Settlement_OtherCompletion(bytes16 jobId);

    /// @notice The caller may not open or join this dispute.
    error Dispute_NotAParty(bytes16 jobId, address caller);
    /// @notice The hashes are equal: there is nothing to dispute.
    error Dispute_SameHash(bytes16 jobId);
    /// @notice A job can be disputed once; a second time only by its wallet, after its worker equivocated.
    error Dispute_AlreadyOpened(bytes16 jobId);
    /// @notice The wallet opened the dispute itself, or has joined it.
    error Dispute_AlreadyJoined(bytes16 jobId);
    /// @notice This account has as many disputes opened by its operator, or by its dispute keys, as are allowed at a time.
    error Dispute_TooMany(address wallet);
    /// @notice The signature is not by the wallet's dispute key (zero: it has none, or there is no such job), for this job, these
    ///         hashes and these terms, or it is of before the wallet last set the key.
    error Dispute_NotSigned(bytes16 jobId, address key, address recovered);
    /// @notice The request expires too far ahead.
    error Dispute_RequestTooLong(uint256 expiresAt, uint256 latest);
    /// @notice The bond is more than what the key signed for.
    error Dispute_BondAboveLimit(bytes16 jobId, uint32 bond, uint32 maxBond);
    /// @notice The caller is not the arbitration panel.
    error Dispute_NotThePanel(address caller);
    /// @notice A ruling must be WorkerAtFault, GatewayAtFault or Rejected.
    error Dispute_InvalidRuling();
    /// @notice The two Completions are the same one, or of two jobs.
    error Dispute_NoEquivocation(bytes16 jobId);
    /// @notice The treasury owes nothing for this job.
    error Dispute_NoDebt(bytes16 jobId);
    /// @notice The treasury is empty, or the day's cap is reached.
    error Dispute_NothingPaid(bytes16 jobId, uint256 owed, uint256 allowance);

    /// @notice The caller is neither guardian nor owner.
    error Admin_NotGuardian(address caller);
    /// @notice The fee is above FEE_CAP_BPS.
    error Admin_FeeAboveCap(uint256 feeBps, uint256 cap);
    /// @notice The operators' share of the fee is above OPERATOR_SHARE_CAP.
    error Admin_ShareAboveCap(uint256 operatorShare, uint256 cap);
    /// @notice The compensation cap is above COMPENSATION_CEILING.
    error Admin_CompensationAboveCeiling(uint256 credits, uint256 ceiling);
    /// @notice An address that cannot have this role.
    error Admin_InvalidAddress(address value);
    /// @notice A window is shorter than its minimum, or longer than what has to outlast it.
    error Admin_InvalidWindow(bytes32 window, uint256 seconds_, uint256 bound);

    /// @notice A batch inside a batch.
    error Batch_Nested();
    /// @notice Less gas is left than an item may need; repeat the whole batch with more gas.
    error Batch_OutOfGas(uint256 index, uint256 left, uint256 required);

    // ------------------------------------------------------------------------------------------------------- ledger

    /// @notice Buys `credits` for the caller. The caller must have approved `credits × 10,000` units.
    /// @param credits At least 100.
    /// @param operator Who may lock the wallet's credits from now on; 0 leaves the choice as it is.
    function deposit(uint40 credits, uint8 operator) external;

    /// @notice Buys `credits` with an EIP-2612 permit signed by the caller for exactly `credits × 10,000` units. A permit
    ///         that fails (used already by a front-runner, or not supported) falls back to the existing allowance.
    function depositWithPermit(
        uint40 credits,
        uint8 operator,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice Pays `credits` of the caller's free credits out to `receiver`. Never paused, never anybody else's call.
    function withdraw(uint40 credits, address receiver) external;

    /// @notice Pays a deferred payout to its payee; callable by anyone, any time.
    function claim(address payee) external;

    /// @notice Pays the caller's own deferred payout to `receiver`: the way out for a payee that the token refuses.
    function claimTo(address receiver) external;

    /// @notice Chooses the operator that may lock the caller's credits; 0 for none. Holds for the next lock.
    function chooseOperator(uint8 operator) external;

    /// @notice Sets the caller's daily limit (with `limited`) and freeze switch; holds for the next lock. Credits that come back
    ///         from a job give the limit back only on the UTC day of its lock.
    function setLimits(bool limited, uint32 dailyLimit, bool frozen) external;

    /// @notice From now on each lock of the caller's credits needs a signature of `key` (`lockAuthorized`); zero ends that.
    function setAuthorizationKey(address key) external;

    /// @notice The account of a wallet; all zero if it has none.
    function accountOf(address wallet) external view returns (Account memory);
    /// @notice Wallet of an account id; zero if there is none.
    function walletOf(uint32 account) external view returns (address);
    /// @notice The key that signs a wallet's authorizations; zero if it needs none.
    function authorizationKeyOf(address wallet) external view returns (address);
    /// @notice Token units waiting for `payee`.
    function claimableOf(address payee) external view returns (uint256 units);
    /// @notice What the contract owes: credits of all accounts and reserves; and token units, which are deferred payouts, earnings of
    ///         operators, and their parts of the fees of settled jobs that are in dispute.
    /// @dev Solvency: token.balanceOf(this) ≥ credits × 10,000 + units; equal unless somebody sent tokens for nothing.
    function liabilities() external view returns (uint256 credits, uint256 units);
    /// @notice The stablecoin.
    function token() external view returns (address);

    // ---------------------------------------------------------------------------------------------------- operators

    /// @notice Admits an operator. Owner only. At most 160, ever.
    /// @param admin Names its signers; nobody but itself can replace it.
    function admitOperator(address admin) external returns (uint8 operator);

    /// @notice Stops an operator from locking (guardian or owner), or lifts that (owner only). Never from ending jobs.
    function stopOperator(uint8 operator, bool stopped) external;

    /// @notice Hands an operator over. Its admin only.
    function setOperatorAdmin(uint8 operator, address admin) external;

    /// @notice Adds and removes signers at once. The operator's admin only.
    /// @param added Keys to add; a key serves one operator, for ever.
    /// @param consents Each added key's signature of SignerConsent{operator, admin}.
    /// @param removed Keys to remove: they can lock, complete, fail, refund and dispute no more.
    function rotateSigners(
        uint8 operator,
        address[] calldata added,
        Signature[] calldata consents,
        address[] calldata removed
    ) external;

    /// @notice Buys `credits` for an operator's reserve with the caller's stablecoin (approve it), pause or not. Anyone.
    function fundReserve(uint8 operator, uint40 credits) external;

    /// @notice Announces that `credits` will leave the reserve; replaces an earlier announcement, 0 takes it back. Due after the
    ///         longest time in which a job locked now can cost the operator. The operator's admin only.
    function announceReserveWithdrawal(uint8 operator, uint40 credits) external;

    /// @notice Pays the announced credits out as tokens, as far as they are at hand. The operator's admin only.
    function withdrawReserve(uint8 operator, address receiver) external;

    /// @notice Pays out what the operator has earned by jobs locked on the UTC days from `firstDay` to `lastDay`, inclusive. A day can
    ///         be withdrawn from LONGEST_RISK after its end. A job that settles later adds to its day, which can be withdrawn
    ///         again at once. The operator's admin only; needs no announcement.
    /// @param firstDay Days since 1970-01-01. Each day of the range costs gas, whether anything was earned on it or not.
    function withdrawEarnings(uint8 operator, uint16 firstDay, uint16 lastDay, address receiver) external;

    /// @notice What an operator has earned by jobs locked on a UTC day (days since 1970-01-01) and not withdrawn, token units.
    ///         What open disputes hold of it is not counted.
    function earningsOf(uint8 operator, uint16 day) external view returns (uint256 units);

    /// @notice An operator; all zero if there is none.
    function operatorOf(uint8 operator) external view returns (Operator memory);
    /// @notice Bit n - 1 is set while operator n is stopped from locking.
    function stoppedOperators() external view returns (uint160);
    /// @notice Number of operators ever admitted; ids are 1 … count.
    function operatorCount() external view returns (uint8);
    /// @notice The operator of a key, 0 if it never was a signer, and when it was removed, 0 while in office.
    function signerOf(address key) external view returns (uint8 operator, uint40 removedAt);

    // --------------------------------------------------------------------------------------------------------- jobs

    /// @notice Locks the price of `maxTokens` output tokens of `model` from `wallet`'s free credits. A signer in office of the
    ///         operator that the wallet chose.
    /// @param jobId New id, not zero.
    /// @param maxTokens Most output tokens the request can produce.
    /// @param maxCredits Reverts if the price is higher.
    /// @param validUntil Reverts when mined at or after this time.
    function lock(
        address wallet,
        uint16 model,
        bytes16 jobId,
        uint32 maxTokens,
        uint32 maxCredits,
        uint40 validUntil
    ) external;

    /// @notice The same for a wallet with an authorization key, on the terms that key signed. An id is used once, so an
    ///         authorization is, too.
    /// @param authorization Expires at most ten minutes ahead; its job id is a UUIDv7 of the last or next five minutes.
    /// @param byKey Signature of the wallet's authorization key.
    function lockAuthorized(Authorization calldata authorization, Signature calldata byKey) external;

    /// @notice Records that a worker took the job. Callable by anyone who holds both signatures, before
    ///         `assignment.acknowledgeBy`. A higher attempt replaces a lower one; repeating is a no-op.
    /// @param assignment The gateway's offer.
    /// @param byGateway Its signature, by a signer of the job's operator in office or removed after the lock. Not looked at (send
    ///        zeros) when a signer in office is the caller.
    /// @param byWorker The worker's signature of Acknowledgement{jobId, attempt}.
    function acknowledge(
        Assignment calldata assignment,
        Signature calldata byGateway,
        Signature calldata byWorker
    ) external;

    /// @notice Ends a job without a charge. Its operator only, from Locked or Acknowledged, at any time.
    function fail(bytes16 jobId, FailureReason reason) external;

    /// @notice Returns the escrow of a job that nobody completed. Its operator from lockedAt + completion (120 s)
    ///         inclusive, anyone from lockedAt + completion + inclusion (150 s) inclusive.
    function refund(bytes16 jobId) external;

    /// @notice Settles a job that was answered. Its operator only; from Locked, Acknowledged or Proven; before
    ///         lockedAt + completion + inclusion (150 s). Repeating a settlement of the same worker is a no-op.
    /// @dev From Locked the call also assigns the worker. From Acknowledged or Proven the worker must be the recorded one: a
    ///      gateway sends a later attempt's `complete` after that attempt's acknowledgement is mined, or the silent worker of an
    ///      earlier attempt could copy the public hash and prove first. The gateway attests by this call that the text whose
    ///      SHA-256 is `completion.proofHash` was delivered: with any other hash the signature fails.
    /// @param completion What the worker signed.
    /// @param countedTokens Output tokens the gateway counted: of the content, and of the reasoning that it streamed to a client who
    ///        asked for it. The charge is for these, at most for those that the worker signed.
    /// @param byWorker The worker's signature.
    /// @param wallet Owner of the job (spares a storage read; checked).
    function complete(
        Completion calldata completion,
        uint32 countedTokens,
        Signature calldata byWorker,
        address wallet
    ) external;

    /// @notice Records the acknowledged worker's proof while its gateway is silent. Anyone; from Acknowledged (batch it with
    ///         `acknowledge` if that was never relayed); before lockedAt + completion + inclusion.
    /// @dev Charges `completionTokens`, at most `textBytes`: nobody but the worker counted, so reasoning is not charged here.
    function submitProof(Completion calldata completion, Signature calldata byWorker) external;

    /// @notice Settles a proven job. Anyone, from provenAt + finalization (1 h) inclusive.
    /// @param completion The proven Completion (in JobProven).
    function finalize(Completion calldata completion) external;

    /// @notice The job as stored; status None if there is none.
    function jobOf(bytes16 jobId) external view returns (Job memory);
    /// @notice Digest (first 28 bytes of the Completion's EIP-712 struct hash) and charge of a proven job; zero if none.
    function proofOf(bytes16 jobId) external view returns (bytes28 digest, uint32 credits);
    /// @notice The deployment's time windows.
    function windows() external view returns (Windows memory);
    /// @notice EIP-712 domain separator of all messages of the escrow.
    function domainSeparator() external view returns (bytes32);

    // ----------------------------------------------------------------------------------------------------- disputes

    /// @notice Opens a dispute of a settled job before settledAt + dispute + inclusion (90 s), of a proven one before it is
    ///         finalizable. By the wallet, for a bond: free credits, and what is missing bought at once with the wallet's
    ///         stablecoin (approve it), pause or not. By a signer of the job's operator: at most DISPUTE_LIMIT open ones of
    ///         settled jobs an account; for a proven job a bond from the operator's reserve. A bond is the charge, at most
    ///         DISPUTE_BOND credits. If the operator has opened one before, the wallet joins it (`joinDispute`).
    /// @dev After an equivocation of the worker of a settled job only the wallet may, once, without a bond: before
    ///      WorkerEquivocated's `disputeBefore`, or, if a dispute was open then, before that one's `ruleBefore` once it was rejected.
    /// @param receivedHash SHA-256 of the received text; zero for none. Must differ from the signed one.
    /// @param completion What the worker signed (in JobProven or JobSettled).
    /// @param byWorker Its signature (in JobSettled); not looked at when the Completion is the proven one.
    function openDispute(bytes32 receivedHash, Completion calldata completion, Signature calldata byWorker) external;

    /// @notice Adds the wallet's own hash to its operator's dispute, without a bond, once, before `ruleFrom`, which is at least
    ///         `inclusion` (30 s) after the opening. Any hash: that the wallet received what the worker signed is evidence, too,
    ///         and the operator then keeps its bond whatever the panel rules. The panel may rule from then on.
    function joinDispute(bytes16 jobId, bytes32 receivedHash) external;

    /// @notice From now on `key` may dispute jobs of the caller by its signature (`disputeByKey`), and nothing else; zero ends
    ///         that. Each call makes what earlier keys signed void.
    /// @param mostOpen Disputes that it may have open at a time, those of earlier keys included. With 0 it can only join.
    function setDisputeKey(address key, uint8 mostOpen) external;

    /// @notice Opens a dispute for the wallet of a job, as `openDispute` does, or joins its operator's, as `joinDispute` does, by a
    ///         signature of the wallet's dispute key. Anyone who has it.
    /// @dev The bond comes from free credits alone. A limit of the wallet, a freeze or a pause does not stop it.
    /// @param completion As for `openDispute`; where the call joins, only its job and its hash count.
    /// @param maxBond Reverts if the bond is higher; with 0 it only joins, or disputes where no bond is due.
    /// @param expiresAt Reverts when mined at or after this time, which is at most ten minutes ahead.
    /// @param byKey The dispute key's signature of DisputeRequest{jobId, receivedHash, workerHash, maxBond, keySequence, expiresAt}.
    ///        `workerHash` is the Completion's, `keySequence` that of the last DisputeKeySet.
    function disputeByKey(
        bytes32 receivedHash,
        Completion calldata completion,
        Signature calldata byWorker,
        uint32 maxBond,
        uint40 expiresAt,
        Signature calldata byKey
    ) external;

    /// @notice Executes the panel's ruling. Panel only, from `ruleFrom`, before openedAt + arbitration (24 h).
    function rule(bytes16 jobId, Ruling ruling) external;

    /// @notice Ends a dispute that nobody ruled. Anyone, from openedAt + arbitration inclusive. A settled job stays settled and
    ///         its client gets the protocol fee back; the escrow of a proven job returns in full. Bonds return.
    function expire(bytes16 jobId) external;

    /// @notice Punishes a worker for two different Completions of one job, without a vote. Anyone, before
    ///         lockedAt + equivocation (24 h), once a job. A held escrow returns; a charged client gets the protocol fee back
    ///         and may dispute the charge for `equivocation` (24 h) more.
    /// @dev A signature is not looked at when its Completion is the proven one.
    function proveEquivocation(
        Completion calldata first,
        Signature calldata firstByWorker,
        Completion calldata second,
        Signature calldata secondByWorker
    ) external;

    /// @notice Has the treasury pay what it owes for a job, as far as it can and the day's cap allows. Anyone, any time.
    function collectDebt(bytes16 jobId) external;

    /// @notice The key that may dispute for a wallet (zero: none), the sequence of the event that named it, how many disputes it may
    ///         have open at a time, and how many the wallet's keys have.
    function disputeKeyOf(
        address wallet
    ) external view returns (address key, uint32 sequence, uint8 mostOpen, uint8 open);
    /// @notice The last dispute of a job; openedAt 0 if there was none.
    function disputeOf(bytes16 jobId) external view returns (Dispute memory);
    /// @notice What the treasury was charged for a job and has paid, token units, and whether to its worker instead of its wallet.
    function compensationOf(bytes16 jobId) external view returns (uint64 granted, uint64 paid, bool toWorker);

    // ----------------------------------------------------------------------------------------------- administration

    /// @notice Announces a fee of at most FEE_CAP_BPS, and the operators' share of it; effective after the notice window for jobs
    ///         locked from then on. Owner only.
    /// @param operatorShare Twentieths of the fee, at most OPERATOR_SHARE_CAP. 0: the treasury has the whole fee.
    function scheduleFee(uint16 feeBps, uint8 operatorShare) external;
    /// @notice Sets who receives fees and pays compensations. Owner only.
    function setTreasury(address treasury) external;
    /// @notice Sets the guardian. Owner only; zero for none.
    function setGuardian(address guardian) external;
    /// @notice Pauses or resumes deposits and locks. The guardian lifts its own pause only, governance lifts both.
    function setPaused(bool paused) external;
    /// @notice Sets what the treasury can be charged on a UTC day, at most COMPENSATION_CEILING. A quarter of it for the jobs of
    ///         one operator. A job's own fee, given back, is not part of it. Owner only.
    function setCompensationCap(uint40 credits) external;

    /// @notice Fee in force for a job locked now, hundredths of a percent.
    function feeBps() external view returns (uint16);
    /// @notice The operators' share of the fee of a job locked now, twentieths.
    function operatorShare() external view returns (uint8);
    /// @notice Receiver of fees, payer of compensations.
    function treasury() external view returns (address);
    /// @notice May pause deposits and locks and stop operators.
    function guardian() external view returns (address);
    /// @notice Whether deposits and locks are paused, and by whom.
    function paused() external view returns (bool byGuardian, bool byGovernance);
    /// @notice Credits that the treasury can be charged on a UTC day.
    function compensationCap() external view returns (uint40);

    /// @notice Calls this contract once per item with the caller's own authority (msg.sender is unchanged). An item that
    ///         reverts is reported by BatchItemFailed and undone alone. Before each item ITEM_GAS must be left, so that no
    ///         step of a job can fail for want of gas: then the whole batch reverts. The treasury gets its share of all items at the end.
    /// @param items ABI-encoded calls of this contract's functions.
    function execute(bytes[] calldata items) external;
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice States of a job. `None` is "no such job"; the API's name for each state stands behind it.
/// @dev Failed and Refunded are terminal. Settled can become Disputed while its window is open.
enum JobStatus {
    None,
    Locked, // pending
    Acknowledged, // processing
    Proven, // settling
    Settled, // settled
    Failed, // failed
    Refunded, // refunded
    Disputed // disputed
}

/// @notice Why an operator ended a job without charging for it.
enum FailureReason {
    RoutingFailed, // no worker took the job
    WorkerFailed, // the worker stopped, erred or sent an unusable answer
    HashMismatch, // what was delivered is not what the worker signed
    AnswerLost, // the gateway cannot produce the answer any more (crash), so nobody pays for it
    Cancelled // the lock was mined after its request had been refused
}

/// @notice The panel's answer to a dispute.
enum Ruling {
    None, // no ruling: open, or expired
    WorkerAtFault, // refund, slash
    GatewayAtFault, // refund, no slash; the operator pays first
    Rejected // the charge stands
}

/// @notice One job, which is stored as one word. Written at the lock, rewritten at each transition, never deleted.
// Never stored as a struct: feeBps has 12 bits of its word, operatorShare the four beside them.
// solhint-disable-next-line gas-struct-packing
struct Job {
    uint32 account; // id of the paying account
    uint32 worker; // id of the acknowledged or paid worker, 0 while none
    uint32 credits; // credits in escrow; after settlement, the credits charged
    uint16 creditsPerRequest; // price snapshot taken at the lock
    uint16 creditsPer1kTokens; // price snapshot taken at the lock
    uint16 model; // catalog id
    uint16 feeBps; // protocol fee snapshot taken at the lock, hundredths of a percent
    uint40 lockedAt; // block time of the lock, Unix seconds
    uint32 deadline; // seconds after lockedAt; Proven: finalizable from. Settled: disputable before. Disputed: ruled before
    uint8 operator; // id of the operator whose signer locked it
    uint8 attempt; // attempt number of `worker`, 0 while none
    JobStatus status;
    uint8 operatorShare; // the operator's share of the fee, twentieths, snapshot taken at the lock
}

/// @notice One wallet's account in one storage slot. Credits are whole: one is 10,000 units of the stablecoin.
struct Account {
    uint32 id; // 0: no account yet
    uint40 free; // spendable and withdrawable credits
    uint40 escrowed; // credits locked in unfinished jobs and bonds
    uint32 sequence; // count of the account's non-job events
    uint32 dailyLimit; // credits a UTC day that the operator may lock; meaningful only with the flag
    uint32 spentToday; // credits locked on `spentDay`
    uint16 spentDay; // days since 1970-01-01 of `spentToday`
    uint8 flags; // bit 0: frozen; bit 1: daily limit in force; bit 2: each lock needs the authorization key's signature
    uint8 openDisputes; // disputes of settled jobs that the operator opened and nobody ended yet
    uint8 operator; // the one operator that may lock this wallet's credits, 0 for none
}

/// @notice Runs gateways. Governance admits it, wallets choose it, its admin names its signers.
struct Operator {
    address admin; // names signers, withdraws the reserve and what the operator earned; may be a contract
    uint40 reserve; // credits that pay for its faults and back its disputes
    uint40 held; // credits of the reserve that are bonds of open disputes
    uint40 leaving; // credits of the announced withdrawal
    uint40 leavesAt; // when they can be withdrawn, Unix seconds; 0: nothing announced
    uint32 sequence; // count of the operator's own events
}

/// @notice A key that signs and sends for an operator. Bound to one operator for ever.
struct Signer {
    uint8 operator; // 0: no signer
    uint40 removedAt; // 0: in office
}

/// @notice A dispute, in one slot. Written when it is opened.
// The linter takes an enum for a whole slot.
// solhint-disable-next-line gas-struct-packing
struct Dispute {
    uint40 openedAt; // 0: none
    uint40 ruleFrom; // no ruling takes effect before; the wallet may join a dispute of the operator until then
    uint32 arbiterSet; // the arbiters who rule on it
    uint8 bond; // credits the wallet put up, or the operator for a proven job: at most 100
    bytes7 workerHash; // beginning of the hash that the worker signed
    bool byOperator;
    bool byKey; // opened by a signature of the wallet's dispute key
    bool fromProven; // the escrow still holds the money
    bool joined; // the wallet added its own hash to the operator's dispute
    bool conceded; // and that hash is the one that the worker signed
    bool afterEquivocation; // opened after the job's worker equivocated; one such dispute a job
    bool resolved;
    Ruling ruling; // None while open, and after it expired
}

/// @notice The gateway's signed offer of a job to one worker (EIP-712).
struct Assignment {
    bytes16 jobId;
    address worker; // signing key of the worker
    uint8 attempt; // 1, 2, …; a higher attempt replaces a lower one
    uint40 acknowledgeBy; // the acknowledgement must be mined before this time, Unix seconds
}

/// @notice The worker's signed statement of what it answered (EIP-712). A worker signs one per job, ever.
struct Completion {
    bytes16 jobId;
    bytes32 proofHash; // SHA-256 of the answer's text, UTF-8, without a trailing newline
    uint32 promptTokens;
    uint32 completionTokens; // tokens of that text alone
    uint32 reasoningTokens; // tokens of the reasoning that came with it, which no hash covers
    uint32 textBytes; // length of that text in UTF-8
    uint40 completedAt; // block time when the final output token was sent, Unix seconds
}

/// @notice A client's signed consent to one job, by the authorization key of its wallet (EIP-712).
struct Authorization {
    bytes16 jobId; // UUIDv7, chosen by the client
    address wallet;
    uint8 operator;
    uint16 model; // catalog id
    uint32 maxTokens; // the job locks the price of this many output tokens
    uint32 maxCredits; // the most the job may cost
    bytes32 requestHash; // SHA-256 of the raw request body
    uint40 expiresAt; // the lock must be mined before this time, Unix seconds
}

/// @notice A key that may dispute for a wallet, in one slot.
struct DisputeKey {
    address key; // zero: none
    uint32 sequence; // the wallet's event that named it; another one makes each earlier signature void
    uint8 mostOpen; // disputes that it may have open at a time
    uint8 open; // disputes by this wallet's keys, earlier ones included, that nobody ended yet
}

/// @notice A compact ECDSA signature as of EIP-2098; only low-s values are accepted.
struct Signature {
    bytes32 r;
    bytes32 vs;
}

/// @notice The time windows of a deployment, in seconds. Immutable; minima stand in the escrow's constructor.
struct Windows {
    uint32 completion; // 120: an answer must be finished before lockedAt + this
    uint32 inclusion; // 30: how much later than a deadline its transaction may be mined
    uint32 finalization; // 3,600: a proven job can be finalized by anyone from provenAt + this
    uint32 dispute; // 60: the client's time to dispute a settled job (the chain adds `inclusion`)
    uint32 arbitration; // 86,400: a dispute must be ruled before openedAt + this
    uint32 equivocation; // 86,400: two Completions for a job are punishable before lockedAt + this
    uint32 notice; // 86,400: a change of the protocol fee, or of operators' share of it, takes effect no sooner than this
}

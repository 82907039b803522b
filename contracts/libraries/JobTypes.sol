// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice States of a job. `None` is "no such job"; the API's name for each state stands behind it.
/// @dev Settled, Failed and Refunded are terminal except that a Settled job can become Disputed inside its window.
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

/// @notice Why a gateway ended a job without charging for it.
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
    GatewayAtFault, // refund, no slash
    Rejected // the charge stands
}

/// @notice One job in one storage slot. Written at the lock, rewritten at each transition, never deleted.
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
    uint8 gateway; // id of the gateway that locked it
    uint8 attempt; // attempt number of `worker`, 0 while none
    JobStatus status;
}

/// @notice One wallet's account in one storage slot. Credits are whole: one is 10,000 units of the stablecoin.
struct Account {
    uint32 id; // 0: no account yet
    uint40 free; // spendable and withdrawable credits
    uint40 escrowed; // credits locked in unfinished jobs
    uint32 sequence; // count of the account's non-job events
    uint32 dailyLimit; // credits a UTC day that gateways may lock; meaningful only with the flag
    uint32 spentToday; // credits locked on `spentDay`
    uint16 spentDay; // days since 1970-01-01 of `spentToday`
    uint8 flags; // bit 0: frozen; bit 1: daily limit in force
    uint8 openDisputes; // gateway-opened disputes that are not ruled yet
}

/// @notice A dispute, at most one a job. Written when it is opened.
struct Dispute {
    uint40 openedAt; // 0: none
    uint32 arbiterSet; // the arbiters who rule on it
    uint32 bond; // credits the wallet put up
    bool byGateway;
    bool fromProven; // the escrow still holds the money
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
    uint32 completionTokens;
    uint40 completedAt; // time of the final output token, Unix seconds
}

/// @notice A compact ECDSA signature as of EIP-2098; only low-s values are accepted.
struct Signature {
    bytes32 r;
    bytes32 vs;
}

/// @notice The time windows of a deployment, in seconds. Immutable; shortened only on test deployments.
struct Windows {
    uint32 completion; // 120: an answer must be finished before lockedAt + this
    uint32 inclusion; // 30: how much later than a deadline its transaction may be mined
    uint32 finalization; // 3,600: a proven job can be finalized by anyone from provenAt + this
    uint32 dispute; // 60: the client's time to dispute a settled job (the chain adds `inclusion`)
    uint32 arbitration; // 86,400: a dispute must be ruled before openedAt + this
    uint32 equivocation; // 86,400: two Completions for a job are punishable before lockedAt + this
    uint32 notice; // 86,400: a change of the protocol fee takes effect no sooner than this
}

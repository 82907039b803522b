// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IArbitrationPanel} from "../interfaces/IArbitrationPanel.sol";
import {IWorkerRegistry} from "../interfaces/IWorkerRegistry.sol";
import {Dispute} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";

/// @notice What governance can change. One slot, read by every lock and settlement.
struct Config {
    address treasury;
    uint16 feeBps;
    uint16 nextFeeBps; // in force from nextFeeAt when that is not 0
    uint40 nextFeeAt;
    bool paused;
}

/// @notice A gateway. Id 0 is "no gateway". Ids are permanent: open jobs are pinned to them.
struct Gateway {
    uint8 id;
    bool mayLock;
}

/// @notice Payouts that the token refused, of one payee.
struct Claimable {
    uint128 units;
    uint32 sequence; // number of claims paid so far
}

/// @notice A job on the slow path; one slot.
struct Proof {
    bytes28 digest; // of the Completion's struct hash
    uint32 credits; // what finalization charges
}

/// @notice What the treasury could not pay yet for a job.
struct Debt {
    uint128 units;
    bool toWorker; // to the job's worker (as tokens) instead of its wallet (as credits)
}

/// @notice Everything the escrow remembers. One struct, so that the dispute library, which runs on the escrow's storage by
///         delegatecall, sees the same layout as the escrow by the compiler's word and not by convention.
struct EscrowState {
    Config config;
    uint256 creditsOwed; // free and escrowed credits of all accounts
    uint256 unitsOwed; // deferred payouts, token units
    mapping(address signer => Gateway) gateways;
    mapping(uint8 id => address signer) gatewaySigners;
    mapping(address wallet => AccountSlot) accounts;
    mapping(uint32 id => address wallet) wallets;
    mapping(address payee => Claimable) claimables;
    mapping(bytes16 jobId => JobSlot) jobs;
    mapping(bytes16 jobId => Proof) proofs;
    mapping(bytes16 jobId => Dispute) disputes;
    mapping(bytes16 jobId => Debt) debts;
    address guardian;
    uint8 gatewayCount;
    uint32 adminSequence;
    uint32 accountCount;
}

/// @notice What a deployment fixed for ever, as far as disputes need it: a library has no immutables of its own.
struct Deployment {
    IERC20 token;
    IWorkerRegistry registry;
    IArbitrationPanel panel;
    bytes32 domain; // EIP-712 domain separator
    uint32 arbitration; // seconds
    uint32 equivocation; // seconds
}

/// @title Where the escrow's state lies
/// @notice First in the line of inheritance; the rooms below share it.
abstract contract EscrowStorage {
    EscrowState internal _state;
}

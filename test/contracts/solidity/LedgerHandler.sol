// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Completion} from "../../../contracts/libraries/JobTypes.sol";
import {Behaviour} from "../../../contracts/testing/HostileStablecoin.sol";
import {Protocol} from "./Protocol.sol";
import {VM, within} from "./Vm.sol";

/// @notice Wallets, workers, and a second bookkeeping ("ghost") that is kept from the calls alone.
/// @dev An action whose precondition does not hold returns; one whose precondition holds must not revert.
abstract contract LedgerHandler is Protocol {
    /// @dev What a wallet must have, by its own calls and its jobs.
    struct Wallet {
        uint256 free;
        uint256 escrowed;
    }

    /// @dev How a job's locked credits ended.
    struct JobGhost {
        address wallet;
        uint256 locked;
        uint256 paid;
        uint256 returned;
        uint256 ends; // how often it ended
        uint256 workerKey; // who proved it
        Completion completion;
    }

    uint256 public constant WALLETS = 4;
    uint256 public constant WORKERS = 3;
    uint256 internal constant FIRST_WORKER_KEY = 0xB0B0;

    mapping(address wallet => Wallet) public wallets;
    mapping(bytes16 jobId => JobGhost) internal ghosts;
    /// @notice Token units each payee must have been paid or be owed.
    mapping(address payee => uint256 units) public income;
    bytes16[] public jobs;
    uint256 public donated;
    /// @notice How often each kind of action really happened.
    mapping(bytes32 action => uint256 times) public done;

    constructor() {
        deployProtocol();
        for (uint256 i = 0; i < WORKERS; ++i) addWorker(FIRST_WORKER_KEY + i, payoutAt(i));
    }

    function walletAt(uint256 i) public pure returns (address) {
        return address(uint160(0x1000 + (i % WALLETS)));
    }

    function payoutAt(uint256 i) public pure returns (address) {
        return address(uint160(0x2000 + (i % WORKERS)));
    }

    function jobCount() external view returns (uint256) {
        return jobs.length;
    }

    function ghostOf(bytes16 jobId) external view returns (JobGhost memory) {
        return ghosts[jobId];
    }

    function deposit(uint256 who, uint256 credits) external {
        address wallet = walletAt(who);
        credits = within(credits, 100, 5_000);
        token.mint(wallet, credits * 10_000);
        VM.prank(wallet);
        token.approve(address(escrow), credits * 10_000);
        VM.prank(wallet);
        escrow.deposit(uint40(credits));
        wallets[wallet].free += credits;
        done["deposit"] += 1;
    }

    function withdraw(uint256 who, uint256 credits) external {
        address wallet = walletAt(who);
        uint256 free = wallets[wallet].free;
        if (free == 0) return;
        credits = within(credits, 1, free);
        VM.prank(wallet);
        escrow.withdraw(uint40(credits), address(0xdead));
        wallets[wallet].free -= credits;
        done["withdraw"] += 1;
    }

    /// @notice The token starts to refuse one payee, in one of several ways, or stops.
    function misbehave(uint256 who, uint256 how) external {
        token.setBehaviour(_payeeAt(who), Behaviour(within(how, 0, uint256(type(Behaviour).max))));
        done["misbehave"] += 1;
    }

    function claim(uint256 who) external {
        address payee = _payeeAt(who);
        if (escrow.claimableOf(payee) == 0) return;
        token.setBehaviour(payee, Behaviour.Standard);
        escrow.claim(payee);
        done["claim"] += 1;
    }

    /// @notice Tokens that nobody is credited for.
    function donate(uint256 units) external {
        units = within(units, 1, 1e9);
        token.mint(address(escrow), units);
        donated += units;
    }

    function wait(uint256 time) external {
        VM.warp(block.timestamp + within(time, 1, 200));
    }

    function _payeeAt(uint256 who) private pure returns (address) {
        return who % (WORKERS + 1) == WORKERS ? TREASURY : payoutAt(who % (WORKERS + 1));
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Assignment, Completion, Signature} from "../../../contracts/Types.sol";
import {Behaviour} from "../tokens/HostileStablecoin.sol";
import {Protocol} from "./Protocol.sol";
import {Log, VM, within} from "./Vm.sol";

/// @notice Jobs in all states, calls of every kind that one wallet, its own gateway, can make for them, and a digest of all state.
abstract contract BatchItems is Protocol {
    uint256 internal constant JOBS = 6;
    uint256 internal constant WORKER_KEY = 0xB0B;
    address internal constant PAYOUT = address(0x2000);
    /// @dev A signer of operator 1 that is a wallet, too.
    uint256 private constant WALLET_KEY = 0x1000;

    mapping(uint256 job => Completion) private _completions;

    function _wallet() internal pure returns (address) {
        return VM.addr(WALLET_KEY);
    }

    function _prepare() internal {
        deployProtocol(20_000);
        // Jobs earn their operator half of their fees.
        escrow.scheduleFee(1_000, 10);
        VM.warp(block.timestamp + NOTICE);
        addSigner(1, WALLET_KEY);
        addWorker(WORKER_KEY, PAYOUT);
        token.mint(_wallet(), 100_000_000);
        // The treasury has its share of a batch at its end: with less than it ever owes, the items would find it poorer.
        token.mint(address(treasury), 100_000_000);
        VM.prank(_wallet());
        token.approve(address(escrow), 100_000_000);
        VM.prank(_wallet());
        escrow.deposit(5_000, 1);
    }

    /// @dev A new job, brought into one of six states.
    function _bring(uint256 i, uint256 depth) internal {
        bytes16 jobId = _id(i);
        _call(_lock(jobId));
        Completion storage completion = _completions[i];
        (completion.jobId, completion.proofHash) = (jobId, keccak256(abi.encode(i)));
        (completion.completionTokens, completion.completedAt) = (3_000, uint40(block.timestamp));
        completion.textBytes = 12_000;
        if (depth >= 1 && depth <= 3) _acknowledge(jobId);
        if (depth == 2 || depth == 3) escrow.submitProof(completion, signCompletion(WORKER_KEY, completion));
        if (depth == 4 || depth == 5) _call(_complete(i));
        if (depth == 3 || depth == 5) _call(_openDispute(i));
    }

    /// @dev A token that refuses payees, sometimes.
    function _spoil(uint256 seed) internal {
        token.setBehaviour(PAYOUT, Behaviour(within(seed >> 8, 0, uint256(type(Behaviour).max))));
        token.setBehaviour(address(treasury), Behaviour(within(seed >> 16, 0, uint256(type(Behaviour).max))));
        if ((seed >> 24) % 2 == 0) {
            token.setBehaviour(address(escrow), Behaviour(within(seed >> 25, 0, uint256(type(Behaviour).max))));
        }
        if ((seed >> 32) % 2 == 0) token.setBehaviour(address(0xdead), Behaviour.Revert);
    }

    function _item(uint256 seed) internal view returns (bytes memory) {
        uint256 i = (seed >> 8) % (JOBS + 1);
        uint256 kind = seed % 15;
        if (kind == 0) return _lock(_id(i));
        if (kind == 1) return _complete(i);
        if (kind == 2) return abi.encodeCall(escrow.submitProof, (_completions[i], _sign(i)));
        if (kind == 3) return abi.encodeCall(escrow.finalize, (_completions[i]));
        if (kind == 4) return abi.encodeWithSelector(escrow.fail.selector, _id(i), seed % 5);
        if (kind == 5) return abi.encodeCall(escrow.refund, (_id(i)));
        if (kind == 6) return _openDispute(i);
        if (kind == 7) return _equivocation(i);
        if (kind == 8) return abi.encodeCall(escrow.expire, (_id(i)));
        if (kind == 9) return abi.encodeCall(escrow.claim, (PAYOUT));
        if (kind == 10) return abi.encodeCall(escrow.withdraw, (uint40(within(seed >> 16, 0, 300)), address(0xdead)));
        if (kind == 11) return abi.encodeCall(escrow.fundReserve, (1, uint40(within(seed >> 16, 0, 300))));
        if (kind == 12) return abi.encodeCall(escrow.collectDebt, (_id(i)));
        if (kind == 13) return abi.encodeCall(escrow.chooseOperator, (uint8(within(seed >> 16, 0, 3))));
        return abi.encodeCall(escrow.deposit, (uint40(within(seed >> 16, 90, 300)), uint8(within(seed >> 32, 0, 3))));
    }

    function _lock(bytes16 jobId) private view returns (bytes memory) {
        return abi.encodeCall(escrow.lock, (_wallet(), 1, jobId, 4_000, 80, type(uint40).max));
    }

    function _openDispute(uint256 i) private view returns (bytes memory) {
        return abi.encodeCall(escrow.openDispute, (keccak256("other"), _completions[i], _sign(i)));
    }

    function _equivocation(uint256 i) private view returns (bytes memory) {
        Completion memory other = _completions[i];
        other.proofHash = keccak256("other");
        return
            abi.encodeCall(
                escrow.proveEquivocation,
                (_completions[i], _sign(i), other, signCompletion(WORKER_KEY, other))
            );
    }

    function _complete(uint256 i) private view returns (bytes memory) {
        return abi.encodeCall(escrow.complete, (_completions[i], 3_000, _sign(i), _wallet()));
    }

    /// @dev By a signer of the operator: its Assignment is not looked at.
    function _acknowledge(bytes16 jobId) private {
        Assignment memory assignment = Assignment(jobId, VM.addr(WORKER_KEY), 1, type(uint40).max);
        Signature memory none;
        _call(abi.encodeCall(escrow.acknowledge, (assignment, none, signAcknowledgement(WORKER_KEY, jobId, 1))));
    }

    function _call(bytes memory data) private {
        VM.prank(_wallet());
        (bool ok, ) = address(escrow).call(data);
        require(ok, "preparation");
    }

    function _id(uint256 i) private pure returns (bytes16) {
        return bytes16(uint128(i + 1));
    }

    function _sign(uint256 i) private view returns (Signature memory) {
        return signCompletion(WORKER_KEY, _completions[i]);
    }

    /// @dev All that the items can change.
    function _digest() internal view returns (bytes32 digest) {
        for (uint256 i = 0; i <= JOBS; ++i) {
            bytes16 jobId = _id(i);
            digest = keccak256(abi.encode(digest, escrow.jobOf(jobId), escrow.disputeOf(jobId)));
            (bytes28 proof, uint32 credits) = escrow.proofOf(jobId);
            (uint64 granted, uint64 paid, bool toWorker) = escrow.compensationOf(jobId);
            (uint32 slashed, bool full) = registry.slashOf(jobId);
            digest = keccak256(abi.encode(digest, proof, credits, granted, paid, toWorker, slashed, full));
        }
        address[5] memory holders = [_wallet(), PAYOUT, address(treasury), address(escrow), address(0xdead)];
        for (uint256 i = 0; i < holders.length; ++i) {
            uint256 claimable = escrow.claimableOf(holders[i]);
            digest = keccak256(abi.encode(digest, token.balanceOf(holders[i]), svc.balanceOf(holders[i]), claimable));
        }
        (uint256 owed, uint256 units) = escrow.liabilities();
        uint256 earned = escrow.earningsOf(1, uint16(block.timestamp / 1 days));
        digest = keccak256(abi.encode(digest, owed, units, earned, escrow.operatorOf(1)));
        return keccak256(abi.encode(digest, escrow.accountOf(_wallet()), svc.balanceOf(address(registry))));
    }
}

/// @notice A batch does what its successful items would do one by one, and fails the items that would have failed.
contract BatchTest is BatchItems {
    uint256 private constant ITEMS = 12;
    bytes32 private constant ITEM_FAILED = keccak256("BatchItemFailed(uint256,bytes4,bytes)");

    function setUp() external {
        _prepare();
    }

    /// hardhat-config: fuzz.runs = 300
    function testFuzz_aBatchIsItsItemsInSequence(uint256 seed) external {
        for (uint256 i = 0; i < JOBS; ++i) _bring(i, _draw(seed, i) % 6);
        _spoil(_draw(seed, 50));
        // Past the first deadlines, sometimes.
        if (seed % 3 == 0) VM.warp(block.timestamp + COMPLETION + INCLUSION);
        bytes[] memory items = new bytes[](ITEMS);
        for (uint256 i = 0; i < ITEMS; ++i) items[i] = _item(_draw(seed, 100 + i));

        uint256 start = VM.snapshotState();
        bytes memory failed = "";
        for (uint256 i = 0; i < ITEMS; ++i) {
            VM.prank(_wallet());
            (bool ok, ) = address(escrow).call(items[i]);
            if (!ok) failed = bytes.concat(failed, bytes1(uint8(i)));
        }
        bytes32 oneByOne = _digest();
        VM.revertToState(start);

        VM.recordLogs();
        VM.prank(_wallet());
        escrow.execute(items);
        require(keccak256(_failedItems()) == keccak256(failed), "other items failed than one by one");
        require(_digest() == oneByOne, "a batch left another state than its items one by one");
        // The flags of batch and guard are zero again, in the same transaction.
        escrow.execute(new bytes[](0));
        VM.prank(_wallet());
        escrow.deposit(100, 1);
    }

    /// @dev Indexes of the items that the batch says failed.
    function _failedItems() private returns (bytes memory failed) {
        Log[] memory logs = VM.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].topics[0] != ITEM_FAILED) continue;
            failed = bytes.concat(failed, bytes1(uint8(uint256(logs[i].topics[1]))));
        }
    }

    function _draw(uint256 seed, uint256 salt) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, salt)));
    }
}

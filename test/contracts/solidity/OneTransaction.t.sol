// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Completion} from "../../../contracts/Types.sol";
import {Protocol} from "./Protocol.sol";
import {VM} from "./Vm.sol";

/// @notice What a contract can do to the escrow within one transaction, where transient storage outlives each call.
contract OneTransactionTest is Protocol {
    address private constant WALLET = address(0x1000);
    uint256 private constant WORKER_KEY = 0xB0B;
    /// @dev Of the runner. Not block.chainid: the optimizer would read it again after a change.
    uint256 private constant HOME = 31_337;

    function setUp() external {
        deployProtocol(20_000);
        addWorker(WORKER_KEY, address(0x2000));
        token.mint(WALLET, 100_000_000);
        VM.prank(WALLET);
        token.approve(address(escrow), 100_000_000);
        VM.prank(WALLET);
        escrow.deposit(10_000, 1);
    }

    /// The flag of a batch ends at zero, also after an item failed and after a nested batch was refused.
    function test_batchesFollowEachOther() external {
        bytes[] memory nested = new bytes[](1);
        nested[0] = abi.encodeCall(escrow.execute, (new bytes[](0)));
        escrow.execute(nested);
        bytes[] memory failing = new bytes[](1);
        failing[0] = abi.encodeCall(escrow.refund, (bytes16(uint128(1))));
        escrow.execute(failing);
        escrow.execute(nested);
    }

    /// A batch that reverts whole leaves no flag behind.
    function test_aRevertedBatchLeavesNoFlag() external {
        bytes[] memory items = new bytes[](1);
        items[0] = abi.encodeCall(escrow.refund, (bytes16(uint128(1))));
        (bool ok, bytes memory reason) = address(escrow).call{gas: 400_000}(abi.encodeCall(escrow.execute, (items)));
        require(
            !ok && bytes4(reason) == bytes4(keccak256("Batch_OutOfGas(uint256,uint256,uint256)")),
            "not out of gas"
        );
        escrow.execute(items);
    }

    /// The reentrancy guard ends at zero after a call that succeeded and after one that failed.
    function test_guardedCallsFollowEachOther() external {
        VM.prank(WALLET);
        escrow.withdraw(1, address(0xdead));
        VM.prank(WALLET);
        (bool ok, ) = address(escrow).call(abi.encodeCall(escrow.withdraw, (0, address(0xdead))));
        require(!ok, "withdrew nothing");
        VM.prank(WALLET);
        escrow.withdraw(1, address(0xdead));
        require(token.balanceOf(address(0xdead)) == 20_000, "not paid twice");
    }

    /// Lock and complete of one job in one transaction: nothing in the state machine depends on a new block.
    function test_wholeJobInOneTransaction() external {
        _jobInABatch(7);
        require(token.balanceOf(address(0x2000)) == 40 * 9_000, "worker");
        require(token.balanceOf(address(treasury)) == 40 * 1_000, "treasury");
    }

    /// What a batch owes the treasury is forgotten once it is paid: the next batch, and a call of its own, start from zero.
    function test_theTreasurysShareOfABatchIsPaidOnce() external {
        _jobInABatch(7);
        escrow.execute(new bytes[](0));
        require(token.balanceOf(address(treasury)) == 40 * 1_000, "paid again by an empty batch");
        _jobInABatch(8);
        require(token.balanceOf(address(treasury)) == 80 * 1_000, "paid again by the next batch");
        (bytes memory locking, bytes memory completing) = _job(9);
        VM.prank(gatewayOf(1));
        (bool locked, ) = address(escrow).call(locking);
        VM.prank(gatewayOf(1));
        (bool completed, ) = address(escrow).call(completing);
        require(locked && completed, "alone");
        require(token.balanceOf(address(treasury)) == 120 * 1_000, "alone");
        (uint256 credits, uint256 units) = escrow.liabilities();
        require(token.balanceOf(address(escrow)) == credits * 10_000 + units, "nothing stayed behind");
    }

    /// After a fork of the chain its signatures are worth nothing on the other side.
    function test_domainFollowsTheChainId() external {
        bytes32 before = escrow.domainSeparator();
        VM.chainId(HOME + 1);
        require(escrow.domainSeparator() != before, "same domain on another chain");
        VM.chainId(HOME);
        require(escrow.domainSeparator() == before, "another domain at home");
    }

    function _jobInABatch(uint128 id) private {
        bytes[] memory items = new bytes[](2);
        (items[0], items[1]) = _job(id);
        VM.prank(gatewayOf(1));
        escrow.execute(items);
    }

    /// @dev A job of 40 credits: its lock and its settlement.
    function _job(uint128 id) private view returns (bytes memory locking, bytes memory completing) {
        bytes16 jobId = bytes16(id);
        Completion memory completion = Completion(
            jobId,
            keccak256("answer"),
            1,
            600,
            0,
            2_400,
            uint40(block.timestamp)
        );
        locking = abi.encodeCall(escrow.lock, (WALLET, 1, jobId, 600, 40, type(uint40).max));
        completing = abi.encodeCall(escrow.complete, (completion, 600, signCompletion(WORKER_KEY, completion), WALLET));
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC5267} from "@openzeppelin/contracts/interfaces/IERC5267.sol";
import {Completion} from "../../../contracts/libraries/JobTypes.sol";
import {Protocol} from "./Protocol.sol";
import {VM} from "./Vm.sol";

/// @notice What a contract can do to the escrow within one transaction, where transient storage outlives each call.
contract OneTransactionTest is Protocol {
    address private constant WALLET = address(0x1000);
    uint256 private constant WORKER_KEY = 0xB0B;

    function setUp() external {
        deployProtocol();
        addWorker(WORKER_KEY, address(0x2000));
        token.mint(WALLET, 100_000_000);
        VM.prank(WALLET);
        token.approve(address(escrow), 100_000_000);
        VM.prank(WALLET);
        escrow.deposit(10_000);
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
        bytes16 jobId = bytes16(uint128(7));
        Completion memory completion = Completion(jobId, keccak256("answer"), 1, 600, uint40(block.timestamp));
        bytes[] memory items = new bytes[](2);
        items[0] = abi.encodeCall(escrow.lock, (WALLET, 1, jobId, 600, 40, type(uint40).max));
        items[1] = abi.encodeCall(
            escrow.complete,
            (completion, 600, signCompletion(WORKER_KEY, completion), 1, WALLET)
        );
        VM.prank(gateway);
        escrow.execute(items);
        require(token.balanceOf(address(0x2000)) == 40 * 9_000, "worker");
        require(token.balanceOf(address(treasury)) == 40 * 1_000, "treasury");
    }

    /// After a fork of the chain its signatures are worth nothing on the other side.
    function test_domainFollowsTheChainId() external {
        bytes32 before = escrow.domainSeparator();
        // Not block.chainid: the optimizer would read it again after the change below.
        (, , , uint256 home, , , ) = IERC5267(address(escrow)).eip712Domain();
        VM.chainId(home + 1);
        require(escrow.domainSeparator() != before, "same domain on another chain");
        VM.chainId(home);
        require(escrow.domainSeparator() == before, "another domain at home");
    }
}

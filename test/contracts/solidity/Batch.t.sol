// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {BatchItems} from "./batch/BatchItems.sol";
import {Log, VM} from "./Vm.sol";

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

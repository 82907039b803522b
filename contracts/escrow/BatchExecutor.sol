// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TransientSlot} from "@openzeppelin/contracts/utils/TransientSlot.sol";
import {IBatchExecutor} from "../interfaces/IBatchExecutor.sol";

/// @title Many operations in one transaction, each isolated
/// @notice Each item is a delegatecall of the contract to itself: msg.sender stays the caller, so an item can do what the
///         caller could do alone and nothing else. Checks of `address(this)` as an authority would break that; there are none.
abstract contract BatchExecutor is IBatchExecutor {
    using TransientSlot for *;

    /// @inheritdoc IBatchExecutor
    uint256 public constant ITEM_GAS = 700_000;
    uint256 private constant REASON_LIMIT = 256;
    bytes32 private constant BATCHING = keccak256("BatchExecutor.batching");

    /// @inheritdoc IBatchExecutor
    function execute(bytes[] calldata items) external {
        if (BATCHING.asBoolean().tload()) revert Batch_Nested();
        BATCHING.asBoolean().tstore(true);
        for (uint256 i = 0; i < items.length; ++i) {
            if (gasleft() < ITEM_GAS) revert Batch_OutOfGas(i, gasleft(), ITEM_GAS);
            _executeItem(i, items[i]);
        }
        BATCHING.asBoolean().tstore(false);
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

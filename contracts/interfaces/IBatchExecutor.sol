// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Many operations in one transaction, each isolated
interface IBatchExecutor {
    /// @notice An item reverted; the others are not affected.
    /// @param index Position in the batch, from 0.
    /// @param selector Function the item called.
    /// @param reason Revert data, cut at 256 bytes.
    event BatchItemFailed(uint256 indexed index, bytes4 indexed selector, bytes reason);

    /// @notice A batch inside a batch.
    error Batch_Nested();
    /// @notice Less gas is left than an item may need; repeat the whole batch with more gas.
    error Batch_OutOfGas(uint256 index, uint256 left, uint256 required);

    /// @notice Calls this contract once per item with the caller's own authority (msg.sender is unchanged). An item that
    ///         reverts is reported by BatchItemFailed and undone alone. Before each item ITEM_GAS must be left, so that no
    ///         item can fail for want of gas: then the whole batch reverts.
    /// @param items ABI-encoded calls of this contract's functions.
    function execute(bytes[] calldata items) external;

    /// @notice Gas that must be left before each item.
    // solhint-disable-next-line func-name-mixedcase
    function ITEM_GAS() external view returns (uint256);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A token transfer that cannot take its caller down
/// @notice Pays out without trusting the token's behaviour towards one payee: a refusal (revert, `false`, blocklist) is a
///         return value, gas and returned data are bounded.
library BoundedTransfer {
    /// @notice Gas handed to one transfer: several times what a plain, proxied or blocklisting stablecoin uses.
    uint256 internal constant TRANSFER_GAS = 150_000;

    /// @notice Not enough gas left to hand TRANSFER_GAS on; the call must be repeated with more.
    error BoundedTransfer_OutOfGas(uint256 left, uint256 required);

    /// @notice Transfers `units` of `token` to `to`; false if the token refused.
    /// @dev Reverts rather than reports a refusal when the gas is short, so that a caller who chooses the gas limit can
    ///      never turn a payable transfer into a failed one.
    function tryTransfer(address token, address to, uint256 units) internal returns (bool paid) {
        // EIP-150 keeps 1/64 back; what the callee gets must be the whole TRANSFER_GAS.
        uint256 required = (TRANSFER_GAS * 64) / 63 + 5_000;
        if (gasleft() < required) revert BoundedTransfer_OutOfGas(gasleft(), required);
        uint256 gasCap = TRANSFER_GAS;
        assembly ("memory-safe") {
            // transfer(address,uint256), in memory that nobody keeps.
            let data := mload(0x40)
            mstore(data, shl(224, 0xa9059cbb))
            mstore(add(data, 0x04), and(to, 0xffffffffffffffffffffffffffffffffffffffff))
            mstore(add(data, 0x24), units)
            mstore(0x00, 0)
            let ok := call(gasCap, token, 0, data, 0x44, 0x00, 0x20)
            // Standard tokens return true; some return nothing. Anything else is a refusal, also a word cut short: the
            // zeros written above stand where its last byte is missing.
            paid := and(ok, or(iszero(returndatasize()), eq(mload(0x00), 1)))
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Calls that cannot take their caller down
/// @notice Pays out without trusting a token's behaviour towards one payee, or the treasury's solvency: a refusal (revert, `false`,
///         blocklist) is a return value; gas and returned data are bounded.
library BoundedCall {
    /// @notice Gas handed to one call: several times what a plain, proxied or blocklisting stablecoin's transfer uses.
    uint256 internal constant CALL_GAS = 150_000;

    /// @notice Not enough gas left to hand CALL_GAS on; the call must be repeated with more.
    error BoundedCall_OutOfGas(uint256 left, uint256 required);

    /// @notice Transfers `units` of `token` to `to`; false if the token refused.
    function tryTransfer(address token, address to, uint256 units) internal returns (bool) {
        return tryCall(token, abi.encodeWithSignature("transfer(address,uint256)", to, units));
    }

    /// @notice Calls `target`; false if it reverted or returned anything but nothing or `true`.
    /// @dev Reverts rather than reports a refusal when the gas is short, so that whoever chooses the gas limit can never turn a
    ///      call that would succeed into a failed one.
    function tryCall(address target, bytes memory data) internal returns (bool ok) {
        // EIP-150 keeps 1/64 back; what the callee gets must be the whole CALL_GAS.
        uint256 required = (CALL_GAS * 64) / 63 + 5_000;
        if (gasleft() < required) revert BoundedCall_OutOfGas(gasleft(), required);
        uint256 gasCap = CALL_GAS;
        assembly ("memory-safe") {
            mstore(0x00, 0)
            ok := call(gasCap, target, 0, add(data, 0x20), mload(data), 0x00, 0x20)
            // Standard tokens return true; some return nothing. Anything else is a refusal.
            ok := and(ok, or(iszero(returndatasize()), and(gt(returndatasize(), 31), eq(mload(0x00), 1))))
        }
    }
}

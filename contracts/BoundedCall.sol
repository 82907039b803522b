// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title Calls that cannot take their caller down
/// @notice Pays out without trusting a token's behaviour towards one payee, or the treasury's solvency: a refusal (revert, `false`,
///         blocklist) is a return value; gas and returned data are bounded.
library BoundedCall {
    /// @notice Gas handed to one call: several times what a plain, proxied or blocklisting stablecoin's transfer uses.
    uint256 internal constant CALL_GAS = 150_000;

    /// @notice Not enough gas left to hand CALL_GAS on; the call must be repeated with more.
    error BoundedCall_OutOfGas(uint256 left, uint256 required);

    /// @dev EIP-150 keeps 1/64 back; what the callee gets must be the whole CALL_GAS.
    uint256 private constant REQUIRED_GAS = (CALL_GAS * 64) / 63 + 5_000;

    /// @notice Transfers `units` of `token` to `to`; false if the token refused.
    function tryTransfer(IERC20 token, address to, uint256 units) internal returns (bool ok) {
        _requireGas();
        uint256 gasCap = CALL_GAS;
        assembly ("memory-safe") {
            let data := mload(0x40) // free memory, left free: nothing is kept
            mstore(data, shl(224, 0xa9059cbb)) // transfer(address,uint256)
            mstore(add(data, 0x04), and(to, 0xffffffffffffffffffffffffffffffffffffffff))
            mstore(add(data, 0x24), units)
            mstore(0x00, 0)
            ok := call(gasCap, token, 0, data, 0x44, 0x00, 0x20)
            // Standard tokens return true; some return nothing. Anything else is a refusal, also a word cut short: the
            // zeros written above stand where its last byte is missing.
            ok := and(ok, or(iszero(returndatasize()), eq(mload(0x00), 1)))
        }
    }

    /// @notice Calls `target`; false if it reverted.
    function tryCall(address target, bytes memory data) internal returns (bool ok) {
        _requireGas();
        uint256 gasCap = CALL_GAS;
        assembly ("memory-safe") {
            ok := call(gasCap, target, 0, add(data, 0x20), mload(data), 0, 0)
        }
    }

    /// @dev Reverts rather than reports a refusal when the gas is short, so that whoever chooses the gas limit can never turn a
    ///      call that would succeed into a failed one.
    function _requireGas() private view {
        if (gasleft() < REQUIRED_GAS) revert BoundedCall_OutOfGas(gasleft(), REQUIRED_GAS);
    }
}

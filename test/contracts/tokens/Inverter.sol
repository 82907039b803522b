// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice A forwarder in whose calldata no signature can be read: each byte of the call that it makes is inverted.
contract Inverter {
    address private immutable TARGET;

    constructor(address target) {
        TARGET = target;
    }

    // Passing any call on is all that it is for.
    // solhint-disable-next-line no-complex-fallback
    fallback(bytes calldata inverted) external returns (bytes memory) {
        // solhint-disable-next-line avoid-low-level-calls
        (bool ok, bytes memory result) = TARGET.call(inverse(inverted));
        if (ok) return result;
        assembly ("memory-safe") {
            revert(add(result, 0x20), mload(result))
        }
    }

    /// @notice What to send for a call.
    function inverse(bytes calldata data) public pure returns (bytes memory inverted) {
        inverted = new bytes(data.length);
        for (uint256 i = 0; i < data.length; ++i) inverted[i] = ~data[i];
    }
}

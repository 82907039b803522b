// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice An account that is a contract, as people's multisignature and smart wallets are: its owner signs for it (ERC-1271), and sends
/// what it is to do. For tests.
contract ContractWallet {
    /// @dev What ERC-1271 asks for; anything else means "not signed".
    bytes4 private constant SIGNED = 0x1626ba7e;
    address private immutable OWNER;

    error NotTheOwner();

    constructor() {
        OWNER = msg.sender;
    }

    /// @notice ERC-1271. A signature is the owner's 65 bytes, followed by this wallet's address: no ordinary account's.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 85 || address(bytes20(signature[65:])) != address(this)) return 0xffffffff;
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        address signer = ecrecover(hash, uint8(signature[64]), r, s);
        return signer == OWNER && signer != address(0) ? SIGNED : bytes4(0xffffffff);
    }

    /// @notice Calls `to` as this account; reverts with what `to` reverts with.
    function execute(address to, bytes calldata data) external {
        if (msg.sender != OWNER) revert NotTheOwner();
        // solhint-disable-next-line avoid-low-level-calls
        (bool done, bytes memory result) = to.call(data);
        if (!done) {
            assembly ("memory-safe") {
                revert(add(result, 0x20), mload(result))
            }
        }
    }
}

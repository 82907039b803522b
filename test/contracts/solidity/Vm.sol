// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The cheat codes of the test runner that these tests use
interface Vm {
    function addr(uint256 privateKey) external pure returns (address);
    function chainId(uint256 id) external;
    function getCode(string calldata contractName) external view returns (bytes memory);
    function prank(address sender) external;
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function warp(uint256 timestamp) external;
}

/// @dev Where the runner listens for them.
Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @dev Brings a fuzzed value into [low, high].
function within(uint256 value, uint256 low, uint256 high) pure returns (uint256) {
    return low + (value % (high - low + 1));
}

/// @dev Deploys a contract that is compiled already: importing it would compile it, for a minute, a second time.
function create(string memory contractName, bytes memory args) returns (address deployed) {
    bytes memory code = bytes.concat(VM.getCode(contractName), args);
    assembly ("memory-safe") {
        deployed := create(0, add(code, 0x20), mload(code))
    }
    require(deployed != address(0), contractName);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice An event, as the runner recorded it.
struct Log {
    bytes32[] topics;
    bytes data;
    address emitter;
}

/// @title The cheat codes of the test runner that these tests use
interface Vm {
    function addr(uint256 privateKey) external pure returns (address);
    function chainId(uint256 id) external;
    function getCode(string calldata contractName) external view returns (bytes memory);
    function getRecordedLogs() external returns (Log[] memory logs);
    function load(address account, bytes32 slot) external view returns (bytes32 word);
    function parseBytes(string calldata hexText) external pure returns (bytes memory);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function prank(address sender) external;
    function readFile(string calldata path) external view returns (string memory);
    function recordLogs() external;
    function replace(
        string calldata text,
        string calldata from,
        string calldata to
    ) external pure returns (string memory);
    function revertToState(uint256 snapshot) external returns (bool);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function snapshotState() external returns (uint256 snapshot);
    function store(address account, bytes32 slot, bytes32 word) external;
    function toString(bytes memory value) external pure returns (string memory);
    function toString(uint256 value) external pure returns (string memory);
    function warp(uint256 timestamp) external;
}

/// @dev Where the runner listens for them.
Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @dev Brings a fuzzed value into [low, high].
function within(uint256 value, uint256 low, uint256 high) pure returns (uint256) {
    return low + (value % (high - low + 1));
}

/// @dev Deploys a contract that is compiled already. `new` would compile it once more, inside the contract that says so.
function create(string memory contractName, bytes memory args) returns (address) {
    return createCode(bytes.concat(VM.getCode(contractName), args));
}

/// @dev The same for the contract of an artifact file that wants libraries linked in, which are deployed with it.
function createLinked(string memory artifact, string[] memory libraries, bytes memory args) returns (address) {
    string memory code = VM.parseJsonString(VM.readFile(artifact), ".bytecode");
    for (uint256 i = 0; i < libraries.length; ++i) {
        // The compiler's placeholder: the first 17 bytes of the name's hash between `__$` and `$__`.
        string memory name = string.concat("project/contracts/", libraries[i], ".sol:", libraries[i]);
        string memory hash = _digits(abi.encodePacked(bytes17(keccak256(bytes(name)))));
        string memory deployed = _digits(abi.encodePacked(create(libraries[i], "")));
        code = VM.replace(code, string.concat("__$", hash, "$__"), deployed);
    }
    return createCode(bytes.concat(VM.parseBytes(code), args));
}

function createCode(bytes memory code) returns (address deployed) {
    assembly ("memory-safe") {
        deployed := create(0, add(code, 0x20), mload(code))
    }
    require(deployed != address(0), "not deployed");
}

/// @dev Hexadecimal digits without the 0x in front.
function _digits(bytes memory value) pure returns (string memory) {
    return VM.replace(VM.toString(value), "0x", "");
}

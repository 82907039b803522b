// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Fields of a packed word
/// @notice What the compiler does for a struct in storage, on a word that is read once and written once: unpacking a whole
///         struct into memory and back costs a job about 1,500 gas a step. PackedJob and PackedAccount name the fields.
library Fields {
    /// @notice The field of `bits` bits at `offset`, counted from the lowest bit.
    function get(uint256 word, uint256 offset, uint256 bits) internal pure returns (uint256) {
        return (word >> offset) & ((1 << bits) - 1);
    }

    /// @notice `word` with that field replaced. `value` must fit it; every caller passes a value of the field's own type.
    function set(uint256 word, uint256 offset, uint256 bits, uint256 value) internal pure returns (uint256) {
        return (word & ~(((1 << bits) - 1) << offset)) | (value << offset);
    }
}

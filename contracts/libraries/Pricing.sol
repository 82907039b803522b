// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

/// @title Price of a completion in whole credits
/// @notice Pure functions shared by the lock (quote) and the settlement (charge).
library Pricing {
    /// @notice Completions up to this many output tokens cost the flat price of a request.
    uint32 internal constant FLAT_TOKENS = 500;

    /// @notice Price of a completion of `tokens` output tokens: flat up to 500, above that per 1,000 tokens rounded up,
    ///         but never below the flat price.
    /// @dev Reverts if the price does not fit 32 bits.
    function quote(uint32 tokens, uint16 creditsPerRequest, uint16 creditsPer1kTokens) internal pure returns (uint32) {
        if (tokens <= FLAT_TOKENS) return creditsPerRequest;
        uint256 byTokens = Math.ceilDiv(uint256(tokens) * creditsPer1kTokens, 1000);
        return SafeCast.toUint32(Math.max(byTokens, creditsPerRequest));
    }

    /// @notice What a finished job costs: its price, and never more than the `locked` credits.
    function charge(
        uint32 tokens,
        uint16 creditsPerRequest,
        uint16 creditsPer1kTokens,
        uint32 locked
    ) internal pure returns (uint32) {
        if (tokens <= FLAT_TOKENS) return creditsPerRequest < locked ? creditsPerRequest : locked;
        uint256 byTokens = Math.ceilDiv(uint256(tokens) * creditsPer1kTokens, 1000);
        // min() brings the value back into 32 bits: `locked` is one of its operands.
        return uint32(Math.min(Math.max(byTokens, creditsPerRequest), locked));
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

/// @title Price of a completion in whole credits
/// @notice Pure functions shared by the catalog (bound), the lock (quote) and the settlement (charge).
library Pricing {
    /// @notice Completions up to this many output tokens cost the flat price of a request.
    uint32 internal constant FLAT_TOKENS = 500;
    /// @notice Most credits a job can lock: 50 stablecoin units. The catalog lists no model whose full context window costs more.
    uint32 internal constant JOB_LIMIT = 5_000;

    /// @notice Price of a completion of `tokens` output tokens: flat up to 500, above that per 1,000 tokens rounded up,
    ///         but never below the flat price.
    /// @dev Reverts if the price does not fit 32 bits.
    function quote(uint32 tokens, uint16 creditsPerRequest, uint16 creditsPer1kTokens) internal pure returns (uint32) {
        return SafeCast.toUint32(_price(tokens, creditsPerRequest, creditsPer1kTokens));
    }

    /// @notice What a finished job costs: its price, and never more than the `locked` credits.
    function charge(
        uint32 tokens,
        uint16 creditsPerRequest,
        uint16 creditsPer1kTokens,
        uint32 locked
    ) internal pure returns (uint32) {
        uint256 price = _price(tokens, creditsPerRequest, creditsPer1kTokens);
        return price < locked ? uint32(price) : locked;
    }

    function _price(uint256 tokens, uint256 perRequest, uint256 per1k) private pure returns (uint256) {
        if (tokens <= FLAT_TOKENS) return perRequest;
        // 32 bits times 16 bits: nothing can overflow.
        unchecked {
            uint256 byTokens = (tokens * per1k + 999) / 1000;
            return byTokens > perRequest ? byTokens : perRequest;
        }
    }
}

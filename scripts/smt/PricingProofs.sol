// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pricing} from "contracts/Pricing.sol";

// Nobody runs these: scripts/smt.ts has a solver show that no inputs can make an assertion fail.

/// @title What is true of every price
contract AnyPrice is Pricing {
    /// Never above the lock.
    function neverAboveTheLock(uint32 tokens, uint16 perRequest, uint16 per1k, uint32 locked) external pure {
        assert(charge(tokens, perRequest, per1k, locked) <= locked);
    }
}

/// @title What is true of the prices of a tier
/// @dev Those of each tier of the launch catalog come in the place of 40 and 20; for all prices at once z3 leaves the questions open.
contract TierPrice is Pricing {
    /// Up to 500 tokens cost the flat price.
    function flatUpTo500(uint32 tokens) external pure {
        require(tokens <= 500);
        assert(charge(tokens, 40, 20, type(uint32).max) == 40);
    }

    /// Below the flat price only when less was locked.
    function neverBelowTheFlatPrice(uint32 tokens, uint32 locked) external pure {
        uint32 charged = charge(tokens, 40, 20, locked);
        assert(charged >= 40 || charged == locked);
    }

    /// An answer below 200,000 tokens never costs more than 200 times the rate.
    function bounded(uint32 tokens) external pure {
        require(tokens < 200_000);
        uint32 charged = charge(tokens, 40, 20, type(uint32).max);
        assert(charged <= 200 * 20);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pricing} from "../../../contracts/Pricing.sol";
import {within} from "./Vm.sol";

/// @notice Pricing against what the specification says in words, not against the same formula written twice.
contract PricingTest {
    function quote(uint32 tokens, uint16 perRequest, uint16 per1k) external pure returns (uint32) {
        return Pricing.quote(tokens, perRequest, per1k);
    }

    /// A completion of up to 500 tokens costs the request's price and nothing else.
    function testFuzz_flatUpTo500(uint32 tokens, uint16 perRequest, uint16 per1k) external pure {
        tokens = uint32(within(tokens, 0, 500));
        require(Pricing.quote(tokens, perRequest, per1k) == perRequest, "not flat");
    }

    /// The step lies between 500 and 501 tokens, however dear a token is.
    function testFuzz_stepBehind500(uint16 perRequest, uint16 per1k) external pure {
        require(Pricing.quote(500, perRequest, per1k) == perRequest, "500");
        require(Pricing.charge(500, perRequest, per1k, type(uint32).max) == perRequest, "charge 500");
        uint256 thousandths = uint256(501) * per1k;
        uint32 price = Pricing.quote(501, perRequest, per1k);
        require(price >= perRequest && uint256(price) * 1000 >= thousandths, "501");
        require(Pricing.charge(501, perRequest, per1k, type(uint32).max) == price, "charge 501");
    }

    /// Above, it is the smallest whole price that covers tokens × per1k / 1000, unless the request's price is higher.
    function testFuzz_smallestPriceThatCovers(uint32 tokens, uint16 perRequest, uint16 per1k) external view {
        tokens = uint32(within(tokens, 501, type(uint32).max));
        uint256 thousandths = uint256(tokens) * per1k;
        try this.quote(tokens, perRequest, per1k) returns (uint32 price) {
            require(uint256(price) * 1000 >= thousandths, "does not cover");
            require(price >= perRequest, "below the request's price");
            bool smallest = price == 0 || uint256(price - 1) * 1000 < thousandths;
            require(price == perRequest || smallest, "not the smallest");
        } catch {
            require(thousandths > uint256(type(uint32).max) * 1000, "reverted though it fits");
        }
    }

    /// More tokens never cost less.
    function testFuzz_monotonic(uint32 fewer, uint32 more, uint16 perRequest, uint16 per1k) external view {
        if (fewer > more) (fewer, more) = (more, fewer);
        try this.quote(more, perRequest, per1k) returns (uint32 dearer) {
            require(Pricing.quote(fewer, perRequest, per1k) <= dearer, "more tokens, lower price");
        } catch {}
    }

    /// The charge is the price, cut at the lock, for every input: it never reverts.
    function testFuzz_chargeIsPriceUpToTheLock(
        uint32 tokens,
        uint16 perRequest,
        uint16 per1k,
        uint32 locked
    ) external view {
        uint32 charged = Pricing.charge(tokens, perRequest, per1k, locked);
        require(charged <= locked, "above the lock");
        try this.quote(tokens, perRequest, per1k) returns (uint32 price) {
            require(charged == (price < locked ? price : locked), "not min(price, lock)");
        } catch {
            require(charged == locked, "a price beyond 32 bits is above any lock");
        }
    }

    /// A lock for `maxTokens` pays for any shorter answer in full.
    function testFuzz_lockCoversShorterAnswers(
        uint32 maxTokens,
        uint32 tokens,
        uint16 perRequest,
        uint16 per1k
    ) external view {
        tokens = uint32(within(tokens, 0, maxTokens));
        try this.quote(maxTokens, perRequest, per1k) returns (uint32 locked) {
            require(
                Pricing.charge(tokens, perRequest, per1k, locked) == Pricing.quote(tokens, perRequest, per1k),
                "the worker is paid less than the price"
            );
        } catch {}
    }

    /// The examples of the design: max 40/20.
    function test_examples() external pure {
        require(Pricing.quote(500, 40, 20) == 40, "500");
        require(Pricing.quote(500, 1, 1000) == 1, "500 of a dear model");
        require(Pricing.quote(501, 1, 1000) == 501, "501 of a dear model");
        require(Pricing.quote(700, 40, 20) == 40, "700");
        require(Pricing.quote(2000, 40, 20) == 40, "2000");
        require(Pricing.quote(2001, 40, 20) == 41, "2001");
        require(Pricing.quote(3000, 40, 20) == 60, "3000");
        require(Pricing.charge(3000, 40, 20, 80) == 60, "charge");
        require(Pricing.charge(5000, 40, 20, 80) == 80, "capped");
        require(Pricing.charge(500, 40, 20, 39) == 39, "flat, capped");
    }
}

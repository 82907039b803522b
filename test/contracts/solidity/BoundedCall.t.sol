// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {BoundedCall} from "../../../contracts/BoundedCall.sol";

/// @notice Answers a transfer with as many bytes of a word as it is told.
contract Answerer {
    uint256 private immutable WORD;
    uint256 private immutable LENGTH;

    constructor(uint256 word, uint256 length) {
        (WORD, LENGTH) = (word, length);
    }

    function transfer(address, uint256) external view {
        (uint256 word, uint256 length) = (WORD, LENGTH);
        assembly {
            mstore(0, word)
            return(0, length)
        }
    }
}

/// @notice What a transfer answers decides, and nothing that stood in memory before it.
contract BoundedCallTest {
    function testFuzz_aWordCutShortIsARefusal(uint8 length) external {
        uint256 answered = uint256(length) % 32;
        IERC20 token = IERC20(address(new Answerer(0, answered)));
        // As an earlier transfer that succeeded left it.
        assembly {
            mstore(0, 1)
        }
        bool ok = BoundedCall.tryTransfer(token, address(1), 1);
        require(ok == (answered == 0), "a cut word was taken for true");
    }

    function testFuzz_onlyTrueIsTrue(uint256 word) external {
        require(BoundedCall.tryTransfer(IERC20(address(new Answerer(1, 32))), address(1), 1), "true");
        IERC20 token = IERC20(address(new Answerer(word, 32)));
        require(BoundedCall.tryTransfer(token, address(1), 1) == (word == 1), "another word than true");
    }
}

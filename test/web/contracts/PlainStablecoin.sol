// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @notice A stablecoin as many are: without permits (EIP-2612). Its storage is that of the development chain's token, in whose place it
/// stands in a test.
contract PlainStablecoin is ERC20 {
    constructor() ERC20("", "") {}

    /// @notice Anyone can mint, as with the development chain's token.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }
}

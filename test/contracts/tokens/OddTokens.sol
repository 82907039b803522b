// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A stablecoin without EIP-2612
contract PermitlessStablecoin is ERC20 {
    constructor() ERC20("Permitless", "PLS") {}

    /// @notice Mints to anyone.
    function mint(address to, uint256 units) external {
        _mint(to, units);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }
}

/// @title A token of 18 decimals, which no escrow accepts as its stablecoin
contract EighteenDecimals is ERC20 {
    constructor() ERC20("Eighteen", "E18") {}
}

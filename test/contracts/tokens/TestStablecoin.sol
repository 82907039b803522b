// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title Stablecoin of local and test deployments
/// @notice 6 decimals, permit, and a faucet open to everyone. Never deployed where money is real.
contract TestStablecoin is ERC20, ERC20Permit {
    constructor() ERC20("Test USDG", "USDG") ERC20Permit("Test USDG") {}

    /// @notice Mints `units` (0.000001 USDG) to `to`.
    function mint(address to, uint256 units) external {
        _mint(to, units);
    }

    /// @notice Six decimals, as the common dollar stablecoins.
    function decimals() public pure override returns (uint8) {
        return 6;
    }
}

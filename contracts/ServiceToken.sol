// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";

/// @title Service Token (SVC)
/// @notice Stake of workers and votes of governance. Fixed supply, minted once; votes count by time (ERC-6372).
contract ServiceToken is ERC20, ERC20Permit, ERC20Votes {
    constructor(address holder, uint256 supply) ERC20("Service Token", "SVC") ERC20Permit("Service Token") {
        _mint(holder, supply);
    }

    /// @notice Votes are counted by block time, which means the same on every chain.
    function clock() public view override returns (uint48) {
        return uint48(block.timestamp);
    }

    /// @notice ERC-6372 description of `clock`.
    // solhint-disable-next-line func-name-mixedcase
    function CLOCK_MODE() public pure override returns (string memory) {
        return "mode=timestamp";
    }

    /// @notice Nonces are shared by permits and delegations by signature.
    function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }
}

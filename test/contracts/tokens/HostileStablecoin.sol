// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TestStablecoin} from "./TestStablecoin.sol";

/// @notice How a transfer to one payee goes wrong.
enum Behaviour {
    Standard,
    Revert, // a blocklist
    ReturnFalse,
    ReturnNothing, // moves the tokens and returns no data, as some old tokens do
    ReturnTwo, // moves nothing and returns something that is neither `true` nor `false`
    ReturnShort, // moves nothing and returns a single byte
    BurnGas, // uses up all gas it gets
    ReturnBomb // reverts with as much data as its gas can make
}

/// @title A stablecoin that does everything a token should not
/// @notice For tests only. Tells payees apart, takes a fee, calls back into its caller.
contract HostileStablecoin is TestStablecoin {
    mapping(address payee => Behaviour) private _behaviours;
    uint256 private _fee;
    address private _hookTarget;
    bytes private _hookData;

    /// @notice The last call of the hook succeeded.
    bool public hookSucceeded;
    /// @notice What the last call of the hook returned.
    bytes public hookResult;

    /// @notice Sets how transfers to `payee` behave.
    function setBehaviour(address payee, Behaviour behaviour) external {
        _behaviours[payee] = behaviour;
    }

    /// @notice Takes `units` out of each transfer.
    function setFee(uint256 units) external {
        _fee = units;
    }

    /// @notice Calls `target` with `data` in the middle of the next transfer.
    function setHook(address target, bytes calldata data) external {
        (_hookTarget, _hookData) = (target, data);
    }

    function transfer(address to, uint256 units) public override returns (bool) {
        Behaviour behaviour = _behaviours[to];
        if (behaviour == Behaviour.Revert) revert ERC20InvalidReceiver(to);
        if (behaviour == Behaviour.ReturnFalse) return false;
        if (behaviour == Behaviour.BurnGas) {
            assembly {
                invalid()
            }
        }
        if (behaviour == Behaviour.ReturnBomb) {
            assembly {
                revert(0, 60000)
            }
        }
        if (behaviour == Behaviour.ReturnTwo) _answer(2, 32);
        if (behaviour == Behaviour.ReturnShort) _answer(type(uint256).max, 1);
        super.transfer(to, units);
        if (behaviour == Behaviour.ReturnNothing) _answer(0, 0);
        return true;
    }

    function _update(address from, address to, uint256 units) internal override {
        if (from == address(0) || to == address(0)) return super._update(from, to, units);
        super._update(from, to, units - _fee);
        if (_fee != 0) super._update(from, address(0xfee), _fee);
        address target = _hookTarget;
        if (target == address(0)) return;
        _hookTarget = address(0);
        // The hook is whatever call a test wants to be made here.
        // solhint-disable-next-line avoid-low-level-calls
        (hookSucceeded, hookResult) = target.call(_hookData);
    }

    function _answer(uint256 word, uint256 size) private pure {
        assembly {
            mstore(0, word)
            return(0, size)
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {JobStatus} from "../../../../contracts/Types.sol";
import {VM, within} from "../Vm.sol";
import {LedgerHandler} from "./LedgerHandler.sol";

/// @notice Stakes of workers: added, unbonding, withdrawn.
abstract contract StakeHandler is LedgerHandler {
    address internal constant STAKE_RECEIVER = address(0x57A4E);
    uint256 internal stakeWithdrawn;

    /// @notice Back to work: cancels an unbonding, and fills the stake up.
    function restake(uint256 who, uint256 more) public {
        who %= WORKERS;
        address signer = _signerAt(who);
        if (unbondsAt[who] != 0) {
            registry.cancelUnbonding(signer);
            unbondsAt[who] = 0;
            done["cancelUnbonding"] += 1;
        }
        uint256 stake = within(more, 1, STAKE);
        (uint256 minimum, ) = _stakeTermsNow();
        if (stakes[who] + stake < minimum) stake = minimum - stakes[who];
        registry.addStake(signer, uint56(stake));
        stakes[who] += stake;
        done["addStake"] += 1;
    }

    function startUnbonding(uint256 who) external {
        who %= WORKERS;
        if (unbondsAt[who] != 0 || stakes[who] == 0) return;
        registry.startUnbonding(_signerAt(who));
        unbondsAt[who] = block.timestamp + UNBONDING;
        done["startUnbonding"] += 1;
    }

    /// @notice In the first second in which it can, and not one before.
    function withdrawStake(uint256 who) external {
        who %= WORKERS;
        if (unbondsAt[who] == 0) return;
        if (block.timestamp < unbondsAt[who]) {
            VM.warp(unbondsAt[who] - 1);
            try registry.withdrawStake(_signerAt(who), STAKE_RECEIVER) {
                revert("a stake left a second too early");
            } catch {
                VM.warp(unbondsAt[who]);
            }
        }
        registry.withdrawStake(_signerAt(who), STAKE_RECEIVER);
        _nothingIsPunishable(who + 1);
        stakeWithdrawn += stakes[who];
        (stakes[who], unbondsAt[who]) = (0, 0);
        done["withdrawStake"] += 1;
    }

    function _eligible(uint256 who) internal view returns (bool) {
        (uint256 minimum, ) = _stakeTermsNow();
        return unbondsAt[who] == 0 && stakes[who] >= minimum;
    }

    /// @dev No job of the worker is disputed, disputable, or within the reach of an equivocation proof.
    function _nothingIsPunishable(uint256 worker) private view {
        for (uint256 i = 0; i < jobs.length; ++i) {
            JobGhost storage job = ghosts[jobs[i]];
            if (job.worker != worker || job.slashes != 0) continue;
            bool disputable =
                (job.status == JobStatus.Settled || job.status == JobStatus.Proven) && job.dispute.count == 0;
            // A dispute that nobody ruled in time can only expire, which slashes nobody.
            require(
                !(disputable || job.status == JobStatus.Disputed) || block.timestamp >= job.due,
                "a stake left while a job of its worker was disputable"
            );
            require(
                block.timestamp >= job.lockedAt + EQUIVOCATION,
                "a stake left while an equivocation was punishable"
            );
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Life} from "./life/Life.sol";
import {create, VM} from "./Vm.sol";

/// @notice The whole life of jobs, stakes and disputes in random order: 64 runs of 128 calls, each property after each call.
contract LifeTest {
    Life private _life;

    function setUp() external {
        _life = Life(create("Life", ""));
    }

    /// @dev Where the runner looks for what to call.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_life);
    }

    /// @dev Nor does it call in this test's name, to which `silence` listens.
    function excludeSenders() external view returns (address[] memory senders) {
        senders = new address[](1);
        senders[0] = address(this);
    }

    /// One campaign for all of them: a campaign each would cost twelve times as much and see no more.
    function invariant_everyPropertyHoldsAfterEveryCall() external view {
        _life.checkTokensHeldAreOwed();
        _life.checkOwedIsTheSumOfItsParts();
        _life.checkBalancesMoveByTheirOwnersOnly();
        _life.checkReservesAreTheirOperators();
        _life.checkPayeesHaveWhatTheyEarned();
        _life.checkStakesAreHeld();
        _life.checkFeeIsCapped();
        _life.checkTouchedJob();
    }

    /// The same actions in a fixed order: shows that the handlers reach every one of them, and every way a job can end.
    // solhint-disable-next-line function-max-lines
    function test_everyActionAndEveryEndIsReached() external {
        for (uint256 i = 0; i < 8_000; ++i) _step(uint256(keccak256(abi.encode("life", i))));
        _life.checkAllJobs();
        string[74] memory all = [
            "deposit",
            "withdraw",
            "operator",
            "limits",
            "authorization key",
            "dispute key",
            "settled, by key",
            "proven, by key",
            "joined by key",
            "by key refused",
            "reserve funded",
            "reserve announced",
            "reserve withdrawn",
            "misbehave",
            "claim",
            "claim refused",
            "claim elsewhere",
            "lock",
            "lock authorized",
            "lock refused",
            "acknowledge",
            "complete",
            "complete refused",
            "submitProof",
            "finalize",
            "fail",
            "refund",
            "dispute settled",
            "dispute proven",
            "dispute refused",
            "dispute joined",
            "dispute conceded",
            "dispute after equivocation",
            "bond bought",
            "operator's bond",
            "vote refused",
            "vote changed",
            "worker at fault, settled",
            "worker at fault, proven",
            "gateway at fault, settled",
            "gateway at fault, proven",
            "rejected, settled",
            "rejected, proven",
            "expired, settled",
            "expired, proven",
            "operator charged",
            "compensation capped",
            "fee given back",
            "equivocation acknowledged",
            "equivocation proven",
            "equivocation settled",
            "equivocation disputed, proven",
            "equivocation disputed, settled",
            "equivocation after a dispute",
            "equivocation ended",
            "collectDebt",
            "addStake",
            "startUnbonding",
            "cancelUnbonding",
            "withdrawStake",
            "fee",
            "price",
            "price refused",
            "retirement",
            "pause",
            "operator stopped",
            "stake terms",
            "cap",
            "grant",
            "part earned",
            "part held",
            "part forfeited",
            "earnings withdrawn",
            "earnings refused"
        ];
        string memory missing = "";
        for (uint256 i = 0; i < all.length; ++i) {
            uint256 times = _life.done(all[i]);
            if (times < 3) missing = string.concat(missing, all[i], " ", VM.toString(times), "; ");
        }
        require(bytes(missing).length == 0, missing);
        _life.silence();
    }

    function _step(uint256 seed) private {
        (uint256 a, uint256 b, uint256 c) = (seed >> 8, seed >> 72, seed >> 136);
        uint256 action = seed % 32;
        if (action < 7) _life.serve(a, b);
        else if (action < 10) _life.settle(a, b);
        else if (action == 10) _life.deposit(a, b, c);
        else if (action == 11) _life.withdraw(a, b);
        else if (action == 12) _life.misbehave(a, b);
        else if (action == 13) _life.claim(a, b % 4 == 0);
        else if (action == 14) _life.finalize(a);
        else if (action == 15) _life.fail(a, b);
        else if (action == 16) _life.refund(a, b % 2 == 0);
        else if (action == 17) _life.proveEquivocation(a, b);
        else if (action == 18) _life.collectDebt(a);
        else if (action == 19) _life.wait(a);
        else if (action == 20) _life.announce(a, b, c);
        else if (action == 21) _life.govern(a, b);
        else if (action == 22) _life.setLimits(a, b % 2 == 0, c, b);
        else if (action == 23) _life.acknowledge(a, b);
        else if (action == 24) _life.complete(a, b, c, a);
        else if (action == 25) _life.setAuthorizationKey(a, b % 4 == 0);
        else if (action == 26) _life.earn(a, b);
        else if (action == 27) _life.setDisputeKey(a, b, c);
        else if (action < 30) _life.disputeByKey(a, b, c);
        else if (action == 31) _life.withdrawEarnings(a, b, c);
        else if (b % 4 < 2) {
            _life.startUnbonding(a);
            if (b % 4 == 0) _life.withdrawStake(a);
        } else if (b % 4 == 2) _life.chooseOperator(a, b);
        else _life.restake(a, b);
    }

    /// After each run: no call changed a job that it was not about, and silence ends everything.
    function afterInvariant() external {
        _life.checkAllJobs();
        _life.silence();
    }
}

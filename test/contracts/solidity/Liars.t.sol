// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IArbitrationPanel} from "../../../contracts/interfaces/IArbitrationPanel.sol";
import {IInferenceEscrow} from "../../../contracts/interfaces/IInferenceEscrow.sol";
import {JobStatus} from "../../../contracts/Types.sol";
import {Liars} from "./liars/Liars.sol";
import {create, VM} from "./Vm.sol";

/// @notice Operators, workers, clients and arbiters that lie together: 64 runs of 128 acts, each property after each act.
contract LiarsTest {
    Liars private _liars;

    function setUp() external {
        _liars = Liars(create("Liars", ""));
    }

    /// @dev Where the runner looks for what to call.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_liars);
    }

    function invariant_nobodyLosesMoreThanItRisked() external view {
        _liars.checkWhoDidNotChooseTheOperatorLosesNothing();
        _liars.checkWhoSignsLosesAtMostWhatItSigned();
        _liars.checkWhoSetADailyLimitLosesAtMostThatADay();
        _liars.checkAStolenDisputeKeyHasAtMostItsBoundOpen();
        _liars.checkTheTreasuryPaysAtMostItsCapADay();
        _liars.checkTokensHeldAreOwed();
    }

    function afterInvariant() external view {
        _liars.checkOperatorsEarnWhatStands();
    }

    /// The same acts in a fixed order: shows that the gang gets as far as it can.
    function test_theGangReachesEveryCallAndEveryWay() external {
        for (uint256 i = 0; i < 12_000; ++i) {
            _step(uint256(keccak256(abi.encode("liars", i))));
            if (i % 64 == 0) this.invariant_nobodyLosesMoreThanItRisked();
        }
        _liars.checkOperatorsEarnWhatStands();
        string memory missing = string.concat(_missingCalls(), _missingWays());
        require(bytes(missing).length == 0, missing);
        require(_liars.jobsOf(address(0x1002)) > 20 && _liars.jobsOf(address(0x1003)) > 20, "few jobs of the victims");
    }

    function _missingCalls() private view returns (string memory missing) {
        bytes4[26] memory all = [
            IInferenceEscrow.lock.selector,
            IInferenceEscrow.lockAuthorized.selector,
            IInferenceEscrow.acknowledge.selector,
            IInferenceEscrow.complete.selector,
            IInferenceEscrow.submitProof.selector,
            IInferenceEscrow.finalize.selector,
            IInferenceEscrow.fail.selector,
            IInferenceEscrow.refund.selector,
            IInferenceEscrow.openDispute.selector,
            IInferenceEscrow.joinDispute.selector,
            IInferenceEscrow.disputeByKey.selector,
            IInferenceEscrow.expire.selector,
            IInferenceEscrow.proveEquivocation.selector,
            IInferenceEscrow.collectDebt.selector,
            IInferenceEscrow.claim.selector,
            IInferenceEscrow.claimTo.selector,
            IInferenceEscrow.deposit.selector,
            IInferenceEscrow.withdraw.selector,
            IInferenceEscrow.chooseOperator.selector,
            IInferenceEscrow.rotateSigners.selector,
            IInferenceEscrow.fundReserve.selector,
            IInferenceEscrow.announceReserveWithdrawal.selector,
            IInferenceEscrow.withdrawReserve.selector,
            IInferenceEscrow.withdrawEarnings.selector,
            IInferenceEscrow.execute.selector,
            IArbitrationPanel.vote.selector
        ];
        for (uint256 i = 0; i < all.length; ++i) {
            uint256 times = _liars.done(all[i]);
            if (times < 3)
                missing = string.concat(missing, VM.toString(abi.encodePacked(all[i])), " ", VM.toString(times), "; ");
        }
        bytes4[7] memory never = [
            IInferenceEscrow.rule.selector,
            IInferenceEscrow.setPaused.selector,
            IInferenceEscrow.setTreasury.selector,
            IInferenceEscrow.setCompensationCap.selector,
            IInferenceEscrow.admitOperator.selector,
            IInferenceEscrow.setOperatorAdmin.selector,
            IInferenceEscrow.scheduleFee.selector
        ];
        for (uint256 i = 0; i < never.length; ++i) require(_liars.done(never[i]) == 0, "what was not theirs");
    }

    /// @dev Of the escrow's table of states.
    function _missingWays() private view returns (string memory missing) {
        uint8[2][16] memory ways = [
            [0, 1],
            [1, 2],
            [1, 4],
            [1, 5],
            [1, 6],
            [2, 3],
            [2, 4],
            [2, 5],
            [2, 6],
            [3, 4],
            [3, 6],
            [3, 7],
            [4, 7],
            [7, 3],
            [7, 4],
            [7, 6]
        ];
        for (uint256 i = 0; i < ways.length; ++i) {
            uint256 times = _liars.moved(JobStatus(ways[i][0]), JobStatus(ways[i][1]));
            if (times >= 3) continue;
            string memory way = string.concat(VM.toString(ways[i][0]), " to ", VM.toString(ways[i][1]));
            missing = string.concat(missing, way, " ", VM.toString(times), "; ");
        }
    }

    function _step(uint256 seed) private {
        uint256 action = seed % 16;
        seed >>= 8;
        if (action < 8) _liars.act(seed);
        else if (action < 11) _liars.scheme(seed);
        else if (action == 11) _liars.vote(seed);
        else if (action == 12) _liars.rule(seed);
        else if (action == 13) _liars.sign(seed);
        else if (action == 14) _liars.wait(seed);
        else _liars.restake(seed);
    }
}

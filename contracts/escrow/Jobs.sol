// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {JobStatus} from "../libraries/JobTypes.sol";
import {PackedAccount} from "../libraries/PackedAccount.sol";
import {PackedJob} from "../libraries/PackedJob.sol";
import {EscrowState} from "./EscrowState.sol";
import {Ledger} from "./Ledger.sol";
import {Spending} from "./Spending.sol";

/// @title Steps of a job that several rooms take
library Jobs {
    using Ledger for EscrowState;
    using Spending for PackedAccount;

    /// @notice Ends a job that still holds its escrow and gives all of it back.
    function returnAll(
        EscrowState storage state,
        bytes16 jobId,
        PackedJob job,
        JobStatus end
    ) internal returns (address wallet, PackedAccount account) {
        state.jobs[jobId] = job.withStatus(end);
        wallet = state.wallets[job.account()];
        account = state.accountOf(wallet).returned(job.credits(), job.credits(), job.lockedAt());
        state.accounts[wallet] = account;
    }

    /// @notice Refuses a call in the state the job is in.
    function wrongState(bytes16 jobId, PackedJob job) internal pure {
        revert IJobLifecycle.Job_WrongState(jobId, uint8(job.status()));
    }
}

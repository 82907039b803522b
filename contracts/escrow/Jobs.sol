// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IJobLifecycle} from "../interfaces/IJobLifecycle.sol";
import {JobStatus} from "../libraries/JobTypes.sol";
import {AccountSlot} from "../libraries/AccountSlot.sol";
import {JobSlot} from "../libraries/JobSlot.sol";
import {EscrowState} from "./EscrowState.sol";
import {Ledger} from "./Ledger.sol";
import {Spending} from "./Spending.sol";

/// @title Steps of a job that several rooms take
library Jobs {
    using Ledger for EscrowState;
    using Spending for AccountSlot;

    /// @notice Ends a job that still holds its escrow and gives all of it back.
    function returnAll(
        EscrowState storage state,
        bytes16 jobId,
        JobSlot job,
        JobStatus end
    ) internal returns (address wallet, AccountSlot account) {
        state.jobs[jobId] = job.to(end);
        wallet = state.wallets[job.account()];
        account = state.accountOf(wallet).returned(job.credits(), job.credits(), job.lockedAt());
        state.accounts[wallet] = account;
    }

    /// @notice Refuses a call in the state the job is in.
    function wrongState(bytes16 jobId, JobSlot job) internal pure {
        revert IJobLifecycle.Job_WrongState(jobId, uint8(job.status()));
    }
}

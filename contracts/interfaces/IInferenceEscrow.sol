// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IBatchExecutor} from "./IBatchExecutor.sol";
import {ICreditLedger} from "./ICreditLedger.sol";
import {IDisputes} from "./IDisputes.sol";
import {IJobLifecycle} from "./IJobLifecycle.sol";
import {IProtocolAdmin} from "./IProtocolAdmin.sol";
import {ISpendingLimits} from "./ISpendingLimits.sol";
import {ISettlement} from "./ISettlement.sol";

/// @title The whole escrow as one contract presents it
// Nothing of its own.
// solhint-disable-next-line no-empty-blocks
interface IInferenceEscrow is
    IDisputes,
    ISettlement,
    IJobLifecycle,
    ISpendingLimits,
    ICreditLedger,
    IProtocolAdmin,
    IBatchExecutor
{}

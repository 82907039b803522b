// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IInferenceEscrow} from "../interfaces/IInferenceEscrow.sol";
import {IArbitrationPanel} from "../interfaces/IArbitrationPanel.sol";
import {IModelCatalog} from "../interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "../interfaces/IWorkerRegistry.sol";
import {Windows} from "../libraries/JobTypes.sol";
import {BatchExecutor} from "./BatchExecutor.sol";
import {CreditLedger} from "./CreditLedger.sol";
import {JobLifecycle} from "./JobLifecycle.sol";
import {Disputes} from "./Disputes.sol";
import {SpendingLimits} from "./SpendingLimits.sol";
import {TimeWindows} from "./TimeWindows.sol";

/// @title Escrow of a credit-metered inference service
/// @notice Ledger of prepaid credits and state machine of jobs, immutable: no proxy, no upgrade. Read it room by room:
///         EscrowState → ProtocolAdmin → TimeWindows → CreditLedger → SpendingLimits → JobLifecycle → Settlement →
///         Disputes (and the linked DisputeLogic) → BatchExecutor.
contract InferenceEscrow is SpendingLimits, Disputes, BatchExecutor, IInferenceEscrow {
    /// @param token_ 6-decimal stablecoin; see docs for what is assumed of it.
    /// @param catalog Models and prices.
    /// @param registry Workers and stakes; its unbonding period must outlast all windows.
    /// @param panel Rules on disputes.
    /// @param owner_ Governance.
    /// @param guardian_ May pause deposits and locks and disable a gateway's lock.
    /// @param treasury_ Receives fees.
    /// @param feeBps_ Initial protocol fee, hundredths of a percent.
    /// @param windows_ Time windows, seconds.
    constructor(
        IERC20 token_,
        IModelCatalog catalog,
        IWorkerRegistry registry,
        IArbitrationPanel panel,
        address owner_,
        address guardian_,
        address treasury_,
        uint16 feeBps_,
        Windows memory windows_
    ) Ownable(owner_) TimeWindows(windows_) CreditLedger(token_) JobLifecycle(catalog, registry) Disputes(panel) {
        _initializeAdmin(treasury_, guardian_, feeBps_);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ICreditLedger} from "../interfaces/ICreditLedger.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {Account} from "../libraries/JobTypes.sol";
import {AccountSlot, AccountSlots} from "../libraries/AccountSlot.sol";
import {Claimable, EscrowState} from "./EscrowState.sol";
import {Ledger} from "./Ledger.sol";
import {ProtocolAdmin} from "./ProtocolAdmin.sol";

/// @title Prepaid credits of wallets
/// @notice Deposits, withdrawals and deferred payouts. With `Ledger.pay` the only code that moves the stablecoin.
abstract contract CreditLedger is ICreditLedger, ProtocolAdmin, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using Ledger for EscrowState;

    /// @notice Token units of one credit: 0.01 of a 6-decimal stablecoin.
    uint256 public constant UNITS_PER_CREDIT = Ledger.UNITS_PER_CREDIT;
    /// @notice Smallest deposit: the equivalent of 1 stablecoin.
    uint40 public constant MINIMUM_DEPOSIT = 100;

    IERC20 internal immutable TOKEN;

    constructor(IERC20 token_) {
        uint8 decimals = IERC20Metadata(address(token_)).decimals();
        if (decimals != 6) revert Admin_InvalidAddress(address(token_));
        TOKEN = token_;
    }

    /// @inheritdoc ICreditLedger
    function deposit(uint40 credits) external nonReentrant {
        _deposit(credits);
    }

    /// @inheritdoc ICreditLedger
    function depositWithPermit(uint40 credits, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external nonReentrant {
        // A permit is public once in the mempool: whoever submits it first only grants the allowance we are about to use.
        try
            IERC20Permit(address(TOKEN)).permit(
                msg.sender,
                address(this),
                uint256(credits) * UNITS_PER_CREDIT,
                deadline,
                v,
                r,
                s
            )
        {} catch {} // solhint-disable-line no-empty-blocks
        _deposit(credits);
    }

    /// @inheritdoc ICreditLedger
    function withdraw(uint40 credits, address receiver) external nonReentrant {
        if (credits == 0) revert Ledger_ZeroCredits();
        if (receiver == address(0) || _isUnpayable(receiver)) revert Ledger_InvalidReceiver(receiver);
        AccountSlot account = _state.accountOf(msg.sender);
        uint40 free = account.free();
        if (free < credits) revert Ledger_InsufficientCredits(msg.sender, free, credits);

        account = account.withBalance(free - credits, account.escrowed()).counted();
        _state.accounts[msg.sender] = account;
        _state.release(credits);
        emit Withdrawn(
            account.id(),
            msg.sender,
            receiver,
            account.sequence(),
            credits,
            account.free(),
            account.escrowed()
        );

        TOKEN.safeTransfer(receiver, uint256(credits) * UNITS_PER_CREDIT);
    }

    /// @inheritdoc ICreditLedger
    function claim(address payee) external nonReentrant {
        Claimable memory claimable = _state.claimables[payee];
        uint128 units = claimable.units;
        if (units == 0) revert Ledger_NothingToClaim(payee);

        claimable.units = 0;
        claimable.sequence += 1;
        _state.claimables[payee] = claimable;
        _state.unitsOwed -= units;
        emit PayoutClaimed(payee, claimable.sequence, units);

        if (!BoundedCall.tryTransfer(address(TOKEN), payee, units)) revert Ledger_PayoutRefused(payee, units);
    }

    /// @inheritdoc ICreditLedger
    function accountOf(address wallet) external view returns (Account memory) {
        return _state.accounts[wallet].unpack();
    }

    /// @inheritdoc ICreditLedger
    function walletOf(uint32 account) external view returns (address) {
        return _state.wallets[account];
    }

    /// @inheritdoc ICreditLedger
    function claimableOf(address payee) external view returns (uint256 units) {
        return _state.claimables[payee].units;
    }

    /// @inheritdoc ICreditLedger
    function liabilities() external view returns (uint256 credits, uint256 claimable) {
        return (_state.creditsOwed, _state.unitsOwed);
    }

    /// @inheritdoc ICreditLedger
    function token() external view returns (address) {
        return address(TOKEN);
    }

    /// @inheritdoc ProtocolAdmin
    function _isUnpayable(address payee) internal view override returns (bool) {
        return payee == address(this) || payee == address(TOKEN);
    }

    function _deposit(uint40 credits) private {
        if (_state.config.paused) revert Ledger_Paused();
        if (credits < MINIMUM_DEPOSIT) revert Ledger_DepositTooSmall(credits, MINIMUM_DEPOSIT);

        AccountSlot account = _state.accounts[msg.sender];
        if (account.id() == 0) {
            uint32 id = ++_state.accountCount;
            account = AccountSlots.opened(id);
            _state.wallets[id] = msg.sender;
        }
        // Credits in escrow may all come back: their sum with the free ones must fit, or a refund could be stuck.
        uint40 escrowed = account.escrowed();
        uint40 free = SafeCast.toUint40(uint256(account.free()) + escrowed + credits) - escrowed;
        account = account.withBalance(free, escrowed).counted();
        _state.accounts[msg.sender] = account;
        _state.acquire(credits);
        emit Deposited(account.id(), msg.sender, account.sequence(), credits, free, escrowed);

        uint256 units = uint256(credits) * UNITS_PER_CREDIT;
        uint256 before = TOKEN.balanceOf(address(this));
        TOKEN.safeTransferFrom(msg.sender, address(this), units);
        uint256 received = TOKEN.balanceOf(address(this)) - before;
        if (received != units) revert Ledger_InexactTransfer(received, units);
    }
}

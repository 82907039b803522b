// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ICreditLedger} from "../interfaces/ICreditLedger.sol";
import {AccountSlot, AccountSlots} from "../libraries/AccountSlot.sol";
import {BoundedTransfer} from "../libraries/BoundedTransfer.sol";
import {Account} from "../libraries/JobTypes.sol";
import {ProtocolAdmin} from "./ProtocolAdmin.sol";

/// @title Prepaid credits of wallets
/// @notice Accounts, deposits, withdrawals and payouts. The only code that moves the stablecoin.
abstract contract CreditLedger is ICreditLedger, ProtocolAdmin, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @dev What the contract owes in all; one slot.
    struct Liabilities {
        uint128 credits; // free and escrowed credits of all accounts
        uint128 claimable; // deferred payouts, token units
    }

    struct Claimable {
        uint128 units;
        uint32 sequence; // number of claims paid so far
    }

    /// @notice Token units of one credit: 0.01 of a 6-decimal stablecoin.
    uint256 public constant UNITS_PER_CREDIT = 10_000;
    /// @notice Smallest deposit: the equivalent of 1 stablecoin.
    uint40 public constant MINIMUM_DEPOSIT = 100;

    IERC20 internal immutable TOKEN;

    mapping(address wallet => AccountSlot) private _accounts;
    mapping(uint32 id => address wallet) private _wallets;
    mapping(address payee => Claimable) private _claimables;
    Liabilities private _liabilities;
    uint32 private _accountCount;

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
        AccountSlot account = _accountOf(msg.sender);
        uint40 free = account.free();
        if (free < credits) revert Ledger_InsufficientCredits(msg.sender, free, credits);

        account = account.withBalance(free - credits, account.escrowed()).counted();
        _store(msg.sender, account);
        _liabilities.credits -= credits;
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
        Claimable memory claimable = _claimables[payee];
        uint128 units = claimable.units;
        if (units == 0) revert Ledger_NothingToClaim(payee);

        claimable.units = 0;
        claimable.sequence += 1;
        _claimables[payee] = claimable;
        _liabilities.claimable -= units;
        emit PayoutClaimed(payee, claimable.sequence, units);

        if (!BoundedTransfer.tryTransfer(address(TOKEN), payee, units)) revert Ledger_PayoutRefused(payee, units);
    }

    /// @inheritdoc ICreditLedger
    function accountOf(address wallet) external view returns (Account memory) {
        return _accounts[wallet].unpack();
    }

    /// @inheritdoc ICreditLedger
    function walletOf(uint32 account) public view returns (address) {
        return _wallets[account];
    }

    /// @inheritdoc ICreditLedger
    function claimableOf(address payee) external view returns (uint256 units) {
        return _claimables[payee].units;
    }

    /// @inheritdoc ICreditLedger
    function liabilities() external view returns (uint256 credits, uint256 claimable) {
        Liabilities memory owed = _liabilities;
        return (owed.credits, owed.claimable);
    }

    /// @inheritdoc ICreditLedger
    function token() external view returns (address) {
        return address(TOKEN);
    }

    /// @dev The account of a wallet that must have one.
    function _accountOf(address wallet) internal view returns (AccountSlot account) {
        account = _accounts[wallet];
        if (account.id() == 0) revert Ledger_UnknownAccount(wallet);
    }

    function _store(address wallet, AccountSlot account) internal {
        _accounts[wallet] = account;
    }

    /// @dev Moves credits that leave the ledger (a charge) out of the liabilities, ahead of their payout.
    function _release(uint32 credits) internal {
        _liabilities.credits -= credits;
    }

    /// @dev Pays at once, or defers what the token refuses. Effects on the ledger must be complete before it is called.
    function _pay(bytes16 jobId, address payee, uint256 units) internal {
        if (units == 0) return;
        if (BoundedTransfer.tryTransfer(address(TOKEN), payee, units)) return;
        uint128 deferred = SafeCast.toUint128(units);
        _claimables[payee].units += deferred;
        _liabilities.claimable += deferred;
        emit PayoutDeferred(jobId, payee, units);
    }

    /// @inheritdoc ProtocolAdmin
    function _isUnpayable(address payee) internal view override returns (bool) {
        return payee == address(this) || payee == address(TOKEN);
    }

    function _deposit(uint40 credits) private {
        if (paused()) revert Ledger_Paused();
        if (credits < MINIMUM_DEPOSIT) revert Ledger_DepositTooSmall(credits, MINIMUM_DEPOSIT);

        AccountSlot account = _accounts[msg.sender];
        if (account.id() == 0) {
            uint32 id = ++_accountCount;
            account = AccountSlots.opened(id);
            _wallets[id] = msg.sender;
        }
        // Credits in escrow may all come back: their sum with the free ones must fit, or a refund could be stuck.
        uint40 escrowed = account.escrowed();
        uint40 free = SafeCast.toUint40(uint256(account.free()) + escrowed + credits) - escrowed;
        account = account.withBalance(free, escrowed).counted();
        _store(msg.sender, account);
        _liabilities.credits += credits;
        emit Deposited(account.id(), msg.sender, account.sequence(), credits, free, escrowed);

        uint256 units = uint256(credits) * UNITS_PER_CREDIT;
        uint256 before = TOKEN.balanceOf(address(this));
        TOKEN.safeTransferFrom(msg.sender, address(this), units);
        uint256 received = TOKEN.balanceOf(address(this)) - before;
        if (received != units) revert Ledger_InexactTransfer(received, units);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account} from "../libraries/JobTypes.sol";

/// @title Prepaid credits of wallets
/// @notice One credit is 10,000 units of a 6-decimal stablecoin (0.01). Credits enter by deposit, leave by the wallet's own
///         withdrawal or by settlement of its jobs, and are counted whole.
/// @dev Specification: "What the service does" 1-3, Account resource.
interface ICreditLedger {
    /// @notice A wallet bought credits. The first deposit opens its account.
    /// @param account Id of the account; ids start at 1 and are never reused.
    /// @param wallet Owner of the credits and payer of the tokens.
    /// @param sequence The account's running number of non-job events, starting at 1.
    /// @param credits Credits added.
    /// @param free Spendable credits after the deposit.
    /// @param escrowed Credits locked in unfinished jobs.
    event Deposited(
        uint32 indexed account,
        address indexed wallet,
        uint32 sequence,
        uint40 credits,
        uint40 free,
        uint40 escrowed
    );

    /// @notice A wallet took free credits out as tokens.
    /// @param receiver Where the tokens went.
    event Withdrawn(
        uint32 indexed account,
        address indexed wallet,
        address indexed receiver,
        uint32 sequence,
        uint40 credits,
        uint40 free,
        uint40 escrowed
    );

    /// @notice The token refused a payout; the amount waits for its payee and blocks nothing.
    /// @param jobId The job that owed it.
    /// @param payee Who can have it paid by `claim`.
    /// @param units Token units (0.000001 stablecoin).
    event PayoutDeferred(bytes16 indexed jobId, address indexed payee, uint256 units);

    /// @notice A deferred payout reached its payee.
    /// @param sequence The payee's running number of claims, starting at 1.
    event PayoutClaimed(address indexed payee, uint32 sequence, uint256 units);

    /// @notice A deposit below the smallest one.
    error Ledger_DepositTooSmall(uint256 credits, uint256 minimum);
    /// @notice The token moved another amount than asked (a fee on transfer, for instance); such tokens are not accepted.
    error Ledger_InexactTransfer(uint256 received, uint256 expected);
    /// @notice The wallet has no account: it never deposited.
    error Ledger_UnknownAccount(address wallet);
    /// @notice The free balance does not cover the amount.
    error Ledger_InsufficientCredits(address wallet, uint256 free, uint256 required);
    /// @notice A withdrawal of zero credits.
    error Ledger_ZeroCredits();
    /// @notice A receiver that would lose the tokens: zero, the escrow or the token contract.
    error Ledger_InvalidReceiver(address receiver);
    /// @notice Nothing is waiting for this payee.
    error Ledger_NothingToClaim(address payee);
    /// @notice The token still refuses this payee.
    error Ledger_PayoutRefused(address payee, uint256 units);
    /// @notice Deposits and locks are paused by the guardian.
    error Ledger_Paused();

    /// @notice Buys `credits` for the caller. The caller must have approved `credits × 10,000` units.
    /// @param credits At least 100.
    function deposit(uint40 credits) external;

    /// @notice Buys `credits` with an EIP-2612 permit signed by the caller for exactly `credits × 10,000` units. A permit
    ///         that fails (used already by a front-runner, or not supported) falls back to the existing allowance.
    function depositWithPermit(uint40 credits, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;

    /// @notice Pays `credits` of the caller's free credits out to `receiver`. Never paused, never anybody else's call.
    function withdraw(uint40 credits, address receiver) external;

    /// @notice Pays a deferred payout to its payee; callable by anyone, any time.
    function claim(address payee) external;

    /// @notice The account of a wallet; all zero if it has none.
    function accountOf(address wallet) external view returns (Account memory);

    /// @notice Wallet of an account id; zero if there is none.
    function walletOf(uint32 account) external view returns (address);

    /// @notice Token units waiting for `payee`.
    function claimableOf(address payee) external view returns (uint256 units);

    /// @notice What the contract owes: credits of all accounts (free and escrowed) and deferred token units.
    /// @dev Solvency: token.balanceOf(this) ≥ credits × 10,000 + claimable.
    function liabilities() external view returns (uint256 credits, uint256 claimable);

    /// @notice The stablecoin.
    function token() external view returns (address);
}

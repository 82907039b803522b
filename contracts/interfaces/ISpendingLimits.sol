// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title What a wallet allows gateways to lock
/// @notice Set by the wallet on chain: bounds what a stolen gateway key can do to it. Neither stops the wallet's own withdrawals.
interface ISpendingLimits {
    /// @notice A wallet changed its limits.
    /// @param sequence The account's running number of non-job events.
    /// @param limited Whether a daily limit is in force.
    /// @param dailyLimit Credits that may be locked per UTC day.
    /// @param frozen Whether all locks are refused.
    event LimitsSet(
        uint32 indexed account,
        address indexed wallet,
        uint32 sequence,
        bool limited,
        uint32 dailyLimit,
        bool frozen
    );

    /// @notice The wallet froze its spending.
    error Limits_Frozen(address wallet);
    /// @notice The lock would exceed the wallet's daily limit.
    error Limits_DailyLimitReached(address wallet, uint256 spentToday, uint256 dailyLimit, uint256 required);

    /// @notice Sets the caller's daily limit (with `limited`) and freeze switch; holds for the next lock. Credits that come back
    ///         from a job give the limit back only on the UTC day of its lock.
    function setLimits(bool limited, uint32 dailyLimit, bool frozen) external;
}

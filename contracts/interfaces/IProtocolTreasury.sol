// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Receiver of protocol fees and payer of compensations
interface IProtocolTreasury {
    /// @notice Governance paid `units` of `token` out.
    event TreasuryPaid(uint32 sequence, address indexed token, address indexed receiver, uint256 units);
    /// @notice The treasury sent `units` of the stablecoin to the escrow, as compensation for `jobId`.
    /// @param sequence Running number of the treasury's payments, shared with TreasuryPaid.
    event CompensationPaid(bytes16 indexed jobId, uint32 sequence, uint256 units);
    /// @notice The escrow was set.
    event EscrowSet(address indexed escrow);

    error Treasury_NotTheEscrow(address caller);
    error Treasury_InvalidEscrow(address escrow);

    /// @notice Sends `units` of the stablecoin to the escrow, or all there is. Escrow only.
    function compensate(bytes16 jobId, uint256 units) external;
    /// @notice Has the escrow pay what the stablecoin refused to pay to this contract to `receiver` instead. Owner only.
    function claimTo(address receiver) external;
    /// @notice Pays `units` of `token` to `receiver`. Owner only.
    function pay(address token, address receiver, uint256 units) external;
    /// @notice Names the escrow, once. Owner only, at deployment.
    function setEscrow(address escrow) external;
    /// @notice The escrow it compensates for.
    function escrow() external view returns (address);
}

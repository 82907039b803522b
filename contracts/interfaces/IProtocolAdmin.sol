// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Gateways, fee, treasury and pause
/// @notice What governance (the owner) and the guardian can do to the escrow. None of it touches an open job's terms or an exit.
interface IProtocolAdmin {
    /// @notice A gateway was added; its id is permanent.
    event GatewayAdded(uint8 indexed gateway, address indexed signer, uint32 sequence);
    /// @notice A gateway's right to lock new jobs was taken or given back. Its open jobs are not affected.
    event GatewayLockingSet(uint8 indexed gateway, address indexed signer, uint32 sequence, bool enabled);
    /// @notice A new protocol fee was announced.
    event FeeScheduled(uint32 sequence, uint16 feeBps, uint40 effectiveAt);
    /// @notice The treasury was changed.
    event TreasurySet(uint32 sequence, address indexed treasury);
    /// @notice The guardian was changed.
    event GuardianSet(uint32 sequence, address indexed guardian);
    /// @notice Deposits and locks were paused or resumed.
    event PausedSet(uint32 sequence, bool paused);

    error Admin_NotGuardian(address caller);
    error Admin_UnknownGateway(address signer);
    error Admin_GatewayExists(address signer);
    error Admin_TooManyGateways();
    error Admin_FeeAboveCap(uint256 feeBps, uint256 cap);
    error Admin_InvalidAddress(address value);
    error Admin_InvalidWindows();

    /// @notice Adds a gateway. Owner only. At most 255, ever.
    function addGateway(address signer) external;
    /// @notice Takes a gateway's right to lock (guardian or owner) or gives it back (owner only).
    function setGatewayLocking(address signer, bool enabled) external;
    /// @notice Announces a fee of at most FEE_CAP_BPS; effective after the notice window. Owner only.
    function scheduleFee(uint16 feeBps) external;
    /// @notice Sets who receives fees. Owner only.
    function setTreasury(address treasury) external;
    /// @notice Sets the guardian. Owner only; zero for none.
    function setGuardian(address guardian) external;
    /// @notice Pauses (guardian or owner) or resumes (owner or guardian) deposits and locks.
    function setPaused(bool paused) external;

    /// @notice Id and right to lock of a gateway; id 0 if it is none.
    function gatewayOf(address signer) external view returns (uint8 id, bool mayLock);
    /// @notice Signer of a gateway id; zero if there is none.
    function gatewaySigner(uint8 id) external view returns (address);
    /// @notice Fee in force for a job locked now, hundredths of a percent.
    function feeBps() external view returns (uint16);
    /// @notice Receiver of fees.
    function treasury() external view returns (address);
    /// @notice May pause deposits and locks and disable a gateway's lock.
    function guardian() external view returns (address);
    /// @notice Whether deposits and locks are paused.
    function paused() external view returns (bool);
}

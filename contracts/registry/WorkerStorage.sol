// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IWorkerRegistry} from "../interfaces/IWorkerRegistry.sol";

/// @title What the registry remembers of its workers
/// @notice First in the line of inheritance; the rooms of the registry share it.
abstract contract WorkerStorage is IWorkerRegistry {
    /// @dev Slot 0 is all that a job's calls read; `owner` and below are read by the worker's own calls only.
    struct Worker {
        address payout;
        uint32 id; // 0: unknown
        uint48 stake; // millionths of an SVC; up to 281 million SVC
        uint16 bits; // bit 0: unbonding; bits 1 to 15: hosts the model of that number
        address owner;
        uint40 unbondsAt;
        uint32 sequence;
        string endpoint;
    }

    uint16 internal constant UNBONDING = 1;

    /// @notice The escrow whose jobs the workers do; may slash. Set once.
    address public escrow;
    /// @inheritdoc IWorkerRegistry
    uint32 public override workerCount;

    mapping(address signer => Worker) internal _workers;
    mapping(uint32 id => address signer) internal _signers;

    /// @dev The worker, when the caller owns it.
    modifier onlyWorkerOwner(address signer) {
        Worker storage worker = _workers[signer];
        if (worker.id == 0) revert Registry_UnknownWorker(signer);
        if (worker.owner != msg.sender) revert Registry_NotOwner(signer, msg.sender);
        _;
    }

    /// @dev The worker's next event number.
    function _next(Worker storage worker) internal returns (uint32) {
        return ++worker.sequence;
    }

    function _isUnbonding(Worker storage worker) internal view returns (bool) {
        return worker.bits & UNBONDING != 0;
    }
}

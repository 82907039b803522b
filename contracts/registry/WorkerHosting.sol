// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IWorkerRegistry} from "../interfaces/IWorkerRegistry.sol";
import {WorkerStorage} from "./WorkerStorage.sol";

/// @title Which models a worker hosts
/// @notice One bit a model. The first fifteen stand in the worker's slot 0, where a job needs no second read.
abstract contract WorkerHosting is WorkerStorage {
    uint16 private constant HOT_MODELS = 16;

    /// @dev Hosted models from number 16 on.
    mapping(uint32 id => mapping(uint256 word => uint256 bits)) private _hosting;

    /// @inheritdoc IWorkerRegistry
    function setHosting(address signer, uint16[] calldata models, bool hosted) external onlyWorkerOwner(signer) {
        _setHosting(signer, models, hosted);
    }

    function _setHosting(address signer, uint16[] calldata models, bool hosted) internal {
        Worker storage worker = _workers[signer];
        for (uint256 i = 0; i < models.length; ++i) {
            uint16 model = models[i];
            if (model == 0) revert Registry_InvalidModel(model);
            if (model < HOT_MODELS) {
                uint16 hot = uint16(1) << model;
                worker.bits = hosted ? worker.bits | hot : worker.bits & ~hot;
                continue;
            }
            uint256 bit = uint256(1) << (model & 0xff);
            uint256 bits = _hosting[worker.id][model >> 8];
            _hosting[worker.id][model >> 8] = hosted ? bits | bit : bits & ~bit;
        }
        emit HostingSet(worker.id, signer, _next(worker), models, hosted);
    }

    function _hosts(uint32 id, uint16 bits, uint16 model) internal view returns (bool) {
        if (model < HOT_MODELS) return model != 0 && (bits >> model) & 1 == 1;
        return (_hosting[id][model >> 8] >> (model & 0xff)) & 1 == 1;
    }

    /// @dev Walks all 256 words, once to count and once to collect: for off-chain readers only.
    function _hostedModels(Worker storage worker) internal view returns (uint16[] memory models) {
        uint256 count = _collectModels(worker, models);
        models = new uint16[](count);
        _collectModels(worker, models);
    }

    /// @dev Number of hosted models; writes them to `models` as far as it has room.
    function _collectModels(Worker storage worker, uint16[] memory models) private view returns (uint256 count) {
        for (uint256 word = 0; word < 256; ++word) {
            uint256 bits = _hosting[worker.id][word];
            if (word == 0) bits |= worker.bits & ~UNBONDING;
            for (uint256 bit = 0; bits != 0; ++bit) {
                if (bits & 1 == 1) {
                    if (count < models.length) models[count] = uint16((word << 8) | bit);
                    ++count;
                }
                bits >>= 1;
            }
        }
    }
}

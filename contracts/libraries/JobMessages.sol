// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {Assignment, Completion, Signature} from "./JobTypes.sol";

/// @title EIP-712 messages of a job
/// @notice Struct hashes and signer recovery. The domain is {name "InferenceEscrow", version "1", chainId, escrow}.
library JobMessages {
    bytes32 internal constant ASSIGNMENT_TYPEHASH = keccak256(
        "Assignment(bytes16 jobId,address worker,uint8 attempt,uint40 acknowledgeBy)"
    );
    bytes32 internal constant ACKNOWLEDGEMENT_TYPEHASH = keccak256("Acknowledgement(bytes16 jobId,uint8 attempt)");
    bytes32 internal constant COMPLETION_TYPEHASH = keccak256(
        "Completion(bytes16 jobId,bytes32 proofHash,uint32 promptTokens,uint32 completionTokens,uint40 completedAt)"
    );

    /// @dev Half the order of secp256k1: above it lies each signature's malleable twin.
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    uint256 private constant HIGHEST_BIT_CLEARED = type(uint256).max >> 1;

    function hash(Assignment calldata a) internal pure returns (bytes32) {
        return keccak256(abi.encode(ASSIGNMENT_TYPEHASH, a.jobId, a.worker, a.attempt, a.acknowledgeBy));
    }

    function hashAcknowledgement(bytes16 jobId, uint8 attempt) internal pure returns (bytes32) {
        return keccak256(abi.encode(ACKNOWLEDGEMENT_TYPEHASH, jobId, attempt));
    }

    function hash(Completion calldata c) internal pure returns (bytes32) {
        return
            keccak256(
                abi.encode(COMPLETION_TYPEHASH, c.jobId, c.proofHash, c.promptTokens, c.completionTokens, c.completedAt)
            );
    }

    /// @notice Signer of `structHash` under `domain`. Reverts with OpenZeppelin's ECDSA errors for a malformed or
    ///         high-s signature; never returns the zero address.
    /// @dev What ECDSA.recover(hash, r, vs) does, without its error values on the way: 150 gas less for each signature.
    function recover(
        bytes32 structHash,
        bytes32 domain,
        Signature calldata signature
    ) internal pure returns (address signer) {
        uint256 vs = uint256(signature.vs);
        uint256 s = vs & HIGHEST_BIT_CLEARED;
        if (s > HALF_ORDER) revert ECDSA.ECDSAInvalidSignatureS(bytes32(s));
        bytes32 digest = MessageHashUtils.toTypedDataHash(domain, structHash);
        signer = ecrecover(digest, uint8(27 + (vs >> 255)), signature.r, bytes32(s));
        if (signer == address(0)) revert ECDSA.ECDSAInvalidSignature();
    }
}

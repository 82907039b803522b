// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {Assignment, Authorization, Completion, Signature} from "./Types.sol";

/// @title EIP-712 messages of the escrow
/// @notice Struct hashes and signer recovery. The domain is {name "InferenceEscrow", version "1", chainId, escrow}.
library JobMessages {
    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 internal constant ASSIGNMENT_TYPEHASH = keccak256(
        "Assignment(bytes16 jobId,address worker,uint8 attempt,uint40 acknowledgeBy)"
    );
    bytes32 internal constant ACKNOWLEDGEMENT_TYPEHASH = keccak256("Acknowledgement(bytes16 jobId,uint8 attempt)");
    bytes32 internal constant COMPLETION_TYPEHASH = keccak256(
        "Completion(bytes16 jobId,bytes32 proofHash,uint32 promptTokens,uint32 completionTokens,uint32 reasoningTokens,uint32 textBytes,uint40 completedAt)"
    );
    bytes32 internal constant AUTHORIZATION_TYPEHASH = keccak256(
        "Authorization(bytes16 jobId,address wallet,uint8 operator,uint16 model,uint32 maxTokens,uint32 maxCredits,bytes32 requestHash,uint40 expiresAt)"
    );
    bytes32 internal constant DISPUTE_REQUEST_TYPEHASH = keccak256(
        "DisputeRequest(bytes16 jobId,bytes32 receivedHash,bytes32 workerHash,uint32 maxBond,uint32 keySequence,uint40 expiresAt)"
    );
    bytes32 internal constant SIGNER_CONSENT_TYPEHASH = keccak256("SignerConsent(uint8 operator,address admin)");

    /// @dev Half the order of secp256k1: above it lies each signature's malleable twin.
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    uint256 private constant HIGHEST_BIT_CLEARED = type(uint256).max >> 1;

    /// @notice Domain separator of this contract under `name`, version 1, on this chain.
    function domain(string memory name) internal view returns (bytes32) {
        return
            keccak256(
                abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(name)), keccak256("1"), block.chainid, address(this))
            );
    }

    function hash(Assignment calldata a) internal pure returns (bytes32) {
        return keccak256(abi.encode(ASSIGNMENT_TYPEHASH, a.jobId, a.worker, a.attempt, a.acknowledgeBy));
    }

    function hashAcknowledgement(bytes16 jobId, uint8 attempt) internal pure returns (bytes32) {
        return keccak256(abi.encode(ACKNOWLEDGEMENT_TYPEHASH, jobId, attempt));
    }

    /// @dev What abi.encode would copy, field by field with a check of each, for 500 gas more. A field with bits beyond its type
    ///      makes another hash, which nobody signed.
    function hash(Completion calldata c) internal pure returns (bytes32 structHash) {
        bytes32 typehash = COMPLETION_TYPEHASH;
        assembly ("memory-safe") {
            let data := mload(0x40) // free memory, left free: nothing is kept
            mstore(data, typehash)
            calldatacopy(add(data, 0x20), c, 0xe0)
            structHash := keccak256(data, 0x100)
        }
    }

    /// @dev Like that of a Completion.
    function hash(Authorization calldata a) internal pure returns (bytes32 structHash) {
        bytes32 typehash = AUTHORIZATION_TYPEHASH;
        assembly ("memory-safe") {
            let data := mload(0x40) // free memory, left free: nothing is kept
            mstore(data, typehash)
            calldatacopy(add(data, 0x20), a, 0x100)
            structHash := keccak256(data, 0x120)
        }
    }

    function hashDisputeRequest(
        bytes16 jobId,
        bytes32 receivedHash,
        bytes32 workerHash,
        uint32 maxBond,
        uint32 keySequence,
        uint40 expiresAt
    ) internal pure returns (bytes32) {
        return
            keccak256(
                abi.encode(DISPUTE_REQUEST_TYPEHASH, jobId, receivedHash, workerHash, maxBond, keySequence, expiresAt)
            );
    }

    function hashSignerConsent(uint8 operator, address admin) internal pure returns (bytes32) {
        return keccak256(abi.encode(SIGNER_CONSENT_TYPEHASH, operator, admin));
    }

    /// @notice Signer of `structHash` under `domain_`. Reverts with OpenZeppelin's ECDSA errors for a malformed or
    ///         high-s signature; never returns the zero address.
    /// @dev What ECDSA.recover(hash, r, vs) does, without its error values on the way: 150 gas less for each signature.
    function recover(
        bytes32 structHash,
        bytes32 domain_,
        Signature calldata signature
    ) internal pure returns (address signer) {
        uint256 vs = uint256(signature.vs);
        uint256 s = vs & HIGHEST_BIT_CLEARED;
        if (s > HALF_ORDER) revert ECDSA.ECDSAInvalidSignatureS(bytes32(s));
        bytes32 digest = MessageHashUtils.toTypedDataHash(domain_, structHash);
        signer = ecrecover(digest, uint8(27 + (vs >> 255)), signature.r, bytes32(s));
        if (signer == address(0)) revert ECDSA.ECDSAInvalidSignature();
    }
}

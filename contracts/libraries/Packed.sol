// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice A worker as the escrow pays it, in one word: payout address 160, id 32. Zero: none.
/// @dev What the escrow asks its catalog and registry on every job is answered in one word: about 250 gas less a question
///      than several values, each encoded, copied and checked.
type Payee is uint256;

/// @notice Terms of a job locked now, in one word: creditsPerRequest 16, creditsPer1kTokens 16, tier 8. Zero: not active.
type LockTerms is uint256;

using {payout, id} for Payee global;
using {creditsPerRequest, creditsPer1kTokens, tier} for LockTerms global;

function packPayee(address payout_, uint32 id_) pure returns (Payee) {
    return Payee.wrap(uint256(uint160(payout_)) | (uint256(id_) << 160));
}

function payout(Payee payee) pure returns (address) {
    return address(uint160(Payee.unwrap(payee)));
}

function id(Payee payee) pure returns (uint32) {
    return uint32(Payee.unwrap(payee) >> 160);
}

function packLockTerms(uint16 perRequest, uint16 per1k, uint8 tier_) pure returns (LockTerms) {
    return LockTerms.wrap(uint256(perRequest) | (uint256(per1k) << 16) | (uint256(tier_) << 32));
}

function creditsPerRequest(LockTerms terms) pure returns (uint16) {
    return uint16(LockTerms.unwrap(terms));
}

function creditsPer1kTokens(LockTerms terms) pure returns (uint16) {
    return uint16(LockTerms.unwrap(terms) >> 16);
}

function tier(LockTerms terms) pure returns (uint8) {
    return uint8(LockTerms.unwrap(terms) >> 32);
}

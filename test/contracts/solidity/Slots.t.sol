// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccountSlot, AccountSlots} from "../../../contracts/libraries/AccountSlot.sol";
import {JobSlot, JobSlots} from "../../../contracts/libraries/JobSlot.sol";
import {Account, Job, JobStatus} from "../../../contracts/libraries/JobTypes.sol";

/// @notice The hand-packed words are laid out as the compiler lays out the structs, and a change of one field changes no other.
contract SlotsTest {
    Job private _job;
    Account private _account;

    function testFuzz_jobIsLaidOutAsItsStruct(uint256 word) external {
        word = _validJob(word);
        _job = JobSlot.wrap(word).unpack();
        uint256 stored;
        assembly {
            stored := sload(_job.slot)
        }
        require(stored == word, "job layout");
    }

    function testFuzz_accountIsLaidOutAsItsStruct(uint256 word) external {
        // The struct has 240 bits; the rest is nobody's.
        word &= type(uint240).max;
        _account = AccountSlot.wrap(word).unpack();
        uint256 stored;
        assembly {
            stored := sload(_account.slot)
        }
        require(stored == word, "account layout");
    }

    function testFuzz_lockedJob(
        uint32 account,
        uint32 credits,
        uint16 perRequest,
        uint16 per1k,
        uint16 model,
        uint16 feeBps,
        uint8 gateway
    ) external view {
        Job memory job = JobSlots.locked(account, credits, perRequest, per1k, model, feeBps, gateway).unpack();
        Job memory expected = Job({
            account: account,
            worker: 0,
            credits: credits,
            creditsPerRequest: perRequest,
            creditsPer1kTokens: per1k,
            model: model,
            feeBps: feeBps,
            lockedAt: uint40(block.timestamp),
            deadline: 0,
            gateway: gateway,
            attempt: 0,
            status: JobStatus.Locked
        });
        _same(job, expected);
    }

    function testFuzz_assigned(uint256 word, uint32 worker, uint8 attempt) external pure {
        JobSlot job = JobSlot.wrap(_validJob(word));
        Job memory expected = job.unpack();
        (expected.worker, expected.attempt, expected.status) = (worker, attempt, JobStatus.Acknowledged);
        _same(job.assigned(worker, attempt).unpack(), expected);
    }

    function testFuzz_changes(uint256 word, uint8 status, uint32 credits, uint32 deadline) external pure {
        JobSlot job = JobSlot.wrap(_validJob(word));
        Job memory expected = job.unpack();
        expected.status = JobStatus(status % 8);
        _same(job.to(expected.status).unpack(), expected);
        expected.credits = credits;
        _same(job.to(expected.status).withCredits(credits).unpack(), expected);
        expected.deadline = deadline;
        _same(job.to(expected.status).withCredits(credits).withDeadline(deadline).unpack(), expected);
    }

    function testFuzz_isOpen(uint256 word) external pure {
        JobSlot job = JobSlot.wrap(_validJob(word));
        JobStatus status = job.unpack().status;
        require(job.isOpen() == (status == JobStatus.Locked || status == JobStatus.Acknowledged), "open");
    }

    function testFuzz_balance(uint256 word, uint40 free, uint40 escrowed) external pure {
        AccountSlot account = AccountSlot.wrap(word);
        Account memory expected = account.unpack();
        (expected.free, expected.escrowed) = (free, escrowed);
        _same(account.withBalance(free, escrowed).unpack(), expected);
    }

    function testFuzz_counted(uint256 word) external view {
        AccountSlot account = AccountSlot.wrap(word);
        Account memory expected = account.unpack();
        try this.counted(account) returns (AccountSlot after_) {
            expected.sequence += 1;
            _same(after_.unpack(), expected);
        } catch {
            require(expected.sequence == type(uint32).max, "reverted below the last number");
        }
    }

    function counted(AccountSlot account) external pure returns (AccountSlot) {
        return account.counted();
    }

    function testFuzz_opened(uint32 id) external pure {
        Account memory expected;
        expected.id = id;
        _same(AccountSlots.opened(id).unpack(), expected);
    }

    function _same(Job memory a, Job memory b) private pure {
        require(keccak256(abi.encode(a)) == keccak256(abi.encode(b)), "jobs differ");
    }

    function _same(Account memory a, Account memory b) private pure {
        require(keccak256(abi.encode(a)) == keccak256(abi.encode(b)), "accounts differ");
    }

    /// @dev Any word whose status is one of the eight.
    function _validJob(uint256 word) private pure returns (uint256) {
        return (word & type(uint248).max) | (((word >> 248) % 8) << 248);
    }
}

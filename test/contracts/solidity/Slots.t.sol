// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account, Completion, Job, JobStatus} from "../../../contracts/Types.sol";
import {
    AccountSlot,
    AccountSlots,
    FeeTerms,
    FeeTermsFields,
    JobSlot,
    JobSlots,
    LockTerms,
    LockTermsFields,
    Payee,
    Payees,
    Usage,
    Usages
} from "../../../contracts/Words.sol";
import {within} from "./Vm.sol";

/// @notice The hand-packed words are laid out as the compiler lays out the structs, and a change of one field changes no other.
contract SlotsTest {
    Job private _job;
    Account private _account;

    function testFuzz_jobIsLaidOutAsItsStruct(uint256 word) external {
        word = _validJob(word);
        _job = JobSlot.wrap(word).unpack();
        uint256 stored;
        uint256 next;
        assembly {
            stored := sload(_job.slot)
            next := sload(add(_job.slot, 1))
        }
        // The operator's share has the four highest bits of the fee's field, and stands last in the struct.
        require(stored | (next << 156) == word && next < 16, "job layout");
    }

    function testFuzz_accountIsLaidOutAsItsStruct(uint256 word) external {
        // The struct has 248 bits; the rest is nobody's.
        word &= type(uint248).max;
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
        uint16 fee,
        uint8 operator
    ) external view {
        FeeTerms terms = FeeTerms.wrap(fee);
        Job memory job = JobSlots.locked(account, credits, perRequest, per1k, model, terms, operator).unpack();
        Job memory expected = Job({
            account: account,
            worker: 0,
            credits: credits,
            creditsPerRequest: perRequest,
            creditsPer1kTokens: per1k,
            model: model,
            feeBps: fee % 4_096,
            lockedAt: uint40(block.timestamp),
            deadline: 0,
            operator: operator,
            attempt: 0,
            status: JobStatus.Locked,
            operatorShare: uint8(fee / 4_096)
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
        job = job.to(expected.status);
        _same(job.unpack(), expected);
        expected.credits = credits;
        job = job.withCredits(credits);
        _same(job.unpack(), expected);
        expected.deadline = deadline;
        job = job.withDueAt(uint256(expected.lockedAt) + deadline);
        _same(job.unpack(), expected);
        require(job.dueAt() == uint256(expected.lockedAt) + deadline, "due");
        require(job.feeUnits() == uint256(credits) * expected.feeBps, "fee");
        require(job.operatorUnits() == (job.feeUnits() * expected.operatorShare) / 20, "the operator's part of it");
    }

    function testFuzz_feeTerms(uint16 feeBps, uint8 operatorShare) external pure {
        (feeBps, operatorShare) = (feeBps % 4_096, operatorShare % 16);
        FeeTerms terms = FeeTermsFields.pack(feeBps, operatorShare);
        require(terms.feeBps() == feeBps && terms.operatorShare() == operatorShare, "fee");
    }

    function testFuzz_states(uint256 word, uint8 other) external pure {
        JobSlot job = JobSlot.wrap(_validJob(word));
        JobStatus status = job.unpack().status;
        require(job.isOpen() == (status == JobStatus.Locked || status == JobStatus.Acknowledged), "open");
        require(job.isIn(status) && job.isIn(JobStatus(other % 8)) == (status == JobStatus(other % 8)), "in");
    }

    function testFuzz_balance(uint256 word, uint40 free, uint40 escrowed) external pure {
        AccountSlot account = AccountSlot.wrap(word);
        Account memory expected = account.unpack();
        (expected.free, expected.escrowed) = (free, escrowed);
        _same(account.withBalance(free, escrowed).unpack(), expected);
    }

    /// Within the bounds that the ledger keeps: credits of one account fit 40 bits together, and none returns that was not locked.
    function testFuzz_released(
        uint256 word,
        uint256 free,
        uint256 escrowed,
        uint256 locked,
        uint256 back
    ) external pure {
        escrowed = within(escrowed, 0, type(uint40).max);
        free = within(free, 0, type(uint40).max - escrowed);
        locked = within(locked, 0, escrowed);
        back = within(back, 0, locked);
        AccountSlot account = AccountSlot.wrap(word).withBalance(uint40(free), uint40(escrowed));
        Account memory expected = account.unpack();
        (expected.free, expected.escrowed) = (uint40(free + back), uint40(escrowed - locked));
        _same(account.released(locked, back).unpack(), expected);
    }

    /// Outside of them nothing happens: it panics.
    function testFuzz_releasesNothingThatIsNotLocked(uint40 escrowed, uint256 locked, uint256 back) external view {
        AccountSlot account = AccountSlots.opened(1).withBalance(0, escrowed);
        try this.released(account, locked, back) {
            require(locked <= escrowed && back <= locked, "released more than was locked");
        } catch {
            require(locked > escrowed || back > locked, "kept what was locked");
        }
    }

    function released(AccountSlot account, uint256 locked, uint256 back) external pure returns (AccountSlot) {
        return account.released(locked, back);
    }

    function testFuzz_spending(uint256 word, uint16 day, uint32 spent, uint32 limit) external pure {
        AccountSlot account = AccountSlot.wrap(word);
        Account memory expected = account.unpack();
        (expected.spentDay, expected.spentToday) = (day, spent);
        account = account.withSpent(day, spent);
        _same(account.unpack(), expected);
        expected.dailyLimit = limit;
        _same(account.withDailyLimit(limit).unpack(), expected);
    }

    function testFuzz_switches(uint256 word, uint8 flags, uint8 open, uint8 operator) external pure {
        AccountSlot account = AccountSlot.wrap(word);
        Account memory expected = account.unpack();
        expected.flags = flags;
        account = account.withFlags(flags);
        _same(account.unpack(), expected);
        expected.openDisputes = open;
        account = account.withOpenDisputes(open);
        _same(account.unpack(), expected);
        expected.operator = operator;
        _same(account.withOperator(operator).unpack(), expected);
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

    function testFuzz_answers(address payout, uint32 id, uint16 perRequest, uint16 per1k, uint8 tier) external pure {
        Payee payee = Payees.pack(payout, id);
        require(payee.payout() == payout && payee.id() == id, "payee");
        LockTerms terms = LockTermsFields.pack(perRequest, per1k, tier);
        require(terms.creditsPerRequest() == perRequest && terms.creditsPer1kTokens() == per1k, "prices");
        require(terms.tier() == tier, "tier");
    }

    function testFuzz_usage(Completion calldata c, uint32 billed) external pure {
        uint256 word = Usage.unwrap(Usages.pack(c, billed));
        require(uint32(word) == c.promptTokens && uint32(word >> 32) == c.completionTokens, "tokens");
        require(uint32(word >> 64) == c.reasoningTokens && uint32(word >> 96) == c.textBytes, "reasoning and length");
        require(uint32(word >> 128) == billed && word >> 160 == c.completedAt, "billed and time");
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

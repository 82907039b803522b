/** The files where money moves, and the tests that must notice a fault in each. */

export type Target = {
  file: string;
  /** Folders of TypeScript tests, below test/contracts; they run first. */
  tests: string[];
};

const JOBS = ["jobs", "settlement", "batch"];

export const TARGETS: readonly Target[] = [
  { file: "contracts/escrow/Settlement.sol", tests: ["settlement", "jobs", "disputes", "batch"] },
  { file: "contracts/escrow/Disputes.sol", tests: ["disputes"] },
  { file: "contracts/disputes/DisputeOpening.sol", tests: ["disputes"] },
  { file: "contracts/disputes/DisputeLogic.sol", tests: ["disputes"] },
  { file: "contracts/disputes/DisputeOutcome.sol", tests: ["disputes"] },
  { file: "contracts/disputes/Compensation.sol", tests: ["disputes"] },
  { file: "contracts/disputes/Equivocation.sol", tests: ["disputes"] },
  { file: "contracts/escrow/JobLifecycle.sol", tests: JOBS },
  { file: "contracts/escrow/Jobs.sol", tests: JOBS },
  { file: "contracts/escrow/Spending.sol", tests: ["ledger", ...JOBS] },
  { file: "contracts/escrow/SpendingLimits.sol", tests: ["ledger"] },
  { file: "contracts/escrow/CreditLedger.sol", tests: ["ledger", ...JOBS] },
  { file: "contracts/escrow/Ledger.sol", tests: ["ledger", "settlement", "disputes"] },
  { file: "contracts/escrow/ProtocolAdmin.sol", tests: ["admin", "jobs"] },
  { file: "contracts/escrow/BatchExecutor.sol", tests: ["batch"] },
  { file: "contracts/libraries/Pricing.sol", tests: ["settlement", "jobs"] },
  { file: "contracts/libraries/BoundedCall.sol", tests: ["settlement", "batch", "disputes"] },
  { file: "contracts/registry/WorkerRegistry.sol", tests: ["registry", "jobs", "disputes"] },
  { file: "contracts/registry/WorkerStakes.sol", tests: ["registry", "disputes"] },
  { file: "contracts/registry/StakeTerms.sol", tests: ["registry", "disputes"] },
  { file: "contracts/registry/WorkerHosting.sol", tests: ["registry"] },
  { file: "contracts/arbitration/ArbitrationPanel.sol", tests: ["disputes"] },
  { file: "contracts/treasury/ProtocolTreasury.sol", tests: ["admin", "disputes"] },
];

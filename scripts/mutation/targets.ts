/** The files where money moves, and the tests that must notice a fault in each. */

export type Target = {
  file: string;
  /** Folders of TypeScript tests, below test/contracts; they run first. */
  tests: string[];
};

export const TARGETS: readonly Target[] = [
  { file: "contracts/InferenceEscrow.sol", tests: ["ledger", "jobs", "settlement", "disputes", "batch", "admin"] },
  { file: "contracts/EscrowState.sol", tests: ["ledger", "settlement", "disputes", "jobs", "batch"] },
  { file: "contracts/DisputeLogic.sol", tests: ["disputes"] },
  { file: "contracts/Words.sol", tests: ["ledger", "jobs", "settlement", "disputes"] },
  { file: "contracts/JobMessages.sol", tests: ["jobs", "settlement"] },
  { file: "contracts/Pricing.sol", tests: ["settlement", "jobs", "catalog"] },
  { file: "contracts/BoundedCall.sol", tests: ["settlement", "batch", "disputes"] },
  { file: "contracts/ModelCatalog.sol", tests: ["catalog", "jobs"] },
  { file: "contracts/WorkerRegistry.sol", tests: ["registry", "jobs", "disputes"] },
  { file: "contracts/ArbitrationPanel.sol", tests: ["disputes"] },
  { file: "contracts/ProtocolTreasury.sol", tests: ["admin", "disputes"] },
];

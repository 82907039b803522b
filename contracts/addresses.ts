import type { Address } from "viem";

/**
 * Addresses by chain id. 31337: a new chain of `npm start`, whose contracts always have these.
 *
 * @example
 * const { InferenceEscrow } = addresses[31337];
 */
export const addresses = {
  31337: {
    InferenceEscrow: "0xB7f8BC63BbcaD18155201308C8f3540b07f84F5e",
    ModelCatalog: "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0",
    WorkerRegistry: "0x8A791620dd6260079BF849Dc5567aDC3F2FdC318",
    ProtocolTreasury: "0x2279B7A0a67DB372996a5FaB50D91eAA73d2eBe6",
    ArbitrationPanel: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    ProtocolGovernor: "0xa513E6E4b8f2a923D98304ec87F64353C4D5C853",
    ProtocolTimelock: "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9",
    DisputeLogic: "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
    OperatorLogic: "0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9",
    ServiceToken: "0x5FC8d32690cc91D4c39d9d3abcBD16989F875707",
    Stablecoin: "0x0165878A594ca255338adfa4d48449f69242Eb8F",
  },
} as const satisfies Record<number, Record<string, Address>>;

/** The addresses of any deployment. A service shows its own at `/app/api/deployment.json`. */
export type Contracts = Record<keyof (typeof addresses)[31337], Address>;

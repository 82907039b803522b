/** Who may do what after a deployment: every owner and role is read back and enumerated. */
import {
  type Address,
  type Hex,
  isAddressEqual,
  keccak256,
  type PublicClient,
  parseAbiItem,
  toBytes,
  zeroAddress,
  zeroHash,
} from "viem";
import type { ProtocolSettings } from "../../contracts/ignition/settings.ts";
import type { Contracts } from "../../protocol/deployment.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  protocolGovernorAbi,
  serviceTokenAbi,
} from "../../protocol/generated/abi.ts";

/** A holder of a right, in words that an operator understands. */
export type Grant = { right: string; holder: Address };

const ROLES = {
  admin: zeroHash,
  proposer: role("PROPOSER_ROLE"),
  executor: role("EXECUTOR_ROLE"),
  canceller: role("CANCELLER_ROLE"),
};
const OWNED = ["InferenceEscrow", "ModelCatalog", "WorkerRegistry", "ProtocolTreasury", "ArbitrationPanel"] as const;

/** Every right that exists after a deployment which began after `startBlock`. */
async function grantsOf(
  client: PublicClient,
  contracts: Contracts,
  startBlock: bigint,
  gateways: readonly Address[],
): Promise<Grant[]> {
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const panel = { address: contracts.ArbitrationPanel, abi: arbitrationPanelAbi } as const;
  const [owners, guardian, executor, set, roles] = await Promise.all([
    // `owner` is the same function everywhere.
    Promise.all(
      OWNED.map((name) => client.readContract({ ...escrow, address: contracts[name], functionName: "owner" })),
    ),
    client.readContract({ ...escrow, functionName: "guardian" }),
    client.readContract({ address: contracts.ProtocolGovernor, abi: protocolGovernorAbi, functionName: "timelock" }),
    client.readContract({ ...panel, functionName: "currentSet" }),
    timelockRoles(client, contracts.ProtocolTimelock, startBlock),
  ]);
  const [arbiters] = await client.readContract({ ...panel, functionName: "arbitersOf", args: [set] });
  return [
    ...OWNED.map((name, i): Grant => ({ right: `owner of ${name}`, holder: owners[i] as Address })),
    { right: "guardian", holder: guardian },
    { right: "executor of the governor", holder: executor },
    ...arbiters.map((holder): Grant => ({ right: "arbiter", holder })),
    ...gateways.map((holder): Grant => ({ right: "gateway", holder })),
    ...roles,
  ];
}

/** What differs from the rights that `settings` ask for; empty when all is as it must be. */
export async function wrongGrants(
  client: PublicClient,
  contracts: Contracts,
  startBlock: bigint,
  settings: ProtocolSettings,
): Promise<string[]> {
  const { ProtocolGovernor: governor, ProtocolTimelock: timelock } = contracts;
  const owner = settings.owner ?? timelock;
  const wanted: Grant[] = [
    ...OWNED.map((name): Grant => ({ right: `owner of ${name}`, holder: owner })),
    { right: "guardian", holder: settings.guardian },
    { right: "executor of the governor", holder: timelock },
    ...settings.arbiters.map((holder): Grant => ({ right: "arbiter", holder })),
    ...settings.gateways.map((holder): Grant => ({ right: "gateway", holder })),
    { right: "timelock admin", holder: timelock },
    { right: "timelock proposer", holder: governor },
    { right: "timelock executor", holder: zeroAddress },
    { right: "timelock canceller", holder: governor },
  ];
  const found = await grantsOf(client, contracts, startBlock, settings.gateways);
  const has = (list: Grant[], { right, holder }: Grant) =>
    list.some((one) => one.right === right && isAddressEqual(one.holder, holder));
  return [
    ...found.filter((grant) => !has(wanted, grant)).map(({ right, holder }) => `${holder} is ${right}`),
    ...wanted.filter((grant) => !has(found, grant)).map(({ right, holder }) => `${holder} is not ${right}`),
    ...(await deployerRights(client, contracts, found, settings)),
  ];
}

/** What the deployer still has, unless it was asked for by name. */
async function deployerRights(
  client: PublicClient,
  contracts: Contracts,
  found: Grant[],
  { deployer, owner, serviceTokenHolder }: ProtocolSettings,
) {
  const svc = { address: contracts.ServiceToken, abi: serviceTokenAbi } as const;
  const kept =
    owner !== null && isAddressEqual(owner, deployer)
      ? []
      : found.filter(({ holder }) => isAddressEqual(holder, deployer)).map(({ right }) => `the deployer is ${right}`);
  if (isAddressEqual(serviceTokenHolder, deployer)) return kept;
  const balance = await client.readContract({ ...svc, functionName: "balanceOf", args: [deployer] });
  return balance === 0n ? kept : [...kept, `the deployer holds ${balance} base units of SVC`];
}

/** Holders of the timelock's roles, from its events: AccessControl itself cannot list them. */
async function timelockRoles(client: PublicClient, timelock: Address, fromBlock: bigint): Promise<Grant[]> {
  const signature = "(bytes32 indexed role, address indexed account, address indexed sender)";
  const events = [
    parseAbiItem(`event RoleGranted${signature}`),
    parseAbiItem(`event RoleRevoked${signature}`),
  ] as const;
  const logs = await client.getLogs({ address: timelock, events, fromBlock });
  const held = new Map<string, Grant>();
  for (const { eventName, args } of logs) {
    const { role, account } = args as { role: Hex; account: Address };
    const name = Object.entries(ROLES).find(([, id]) => id === role)?.[0] ?? role;
    const key = `${role}${account}`;
    if (eventName === "RoleGranted") held.set(key, { right: `timelock ${name}`, holder: account });
    else held.delete(key);
  }
  return [...held.values()];
}

function role(name: string): Hex {
  return keccak256(toBytes(name));
}

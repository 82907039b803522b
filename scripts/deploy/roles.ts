/** Who may do what: every right is read from the chain, and held against the settings afterwards. */
import {
  type AbiEvent,
  type Address,
  decodeEventLog,
  getAbiItem,
  type Hex,
  isAddressEqual,
  keccak256,
  type PublicClient,
  toBytes,
  toEventSelector,
  zeroAddress,
  zeroHash,
} from "viem";
import type { ProtocolSettings } from "../../contracts/ignition/settings.ts";
import type { Contracts } from "../../protocol/deployment.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  protocolGovernorAbi,
  protocolTimelockAbi,
  serviceTokenAbi,
} from "../../protocol/generated/abi.ts";
import { LogReader } from "../../verify/chain.ts";

/** A holder of a right, in words that a person understands. */
type Grant = { right: string; holder: Address };

const ROLES = {
  admin: zeroHash,
  proposer: role("PROPOSER_ROLE"),
  executor: role("EXECUTOR_ROLE"),
  canceller: role("CANCELLER_ROLE"),
};
const OWNED = ["InferenceEscrow", "ModelCatalog", "WorkerRegistry", "ProtocolTreasury", "ArbitrationPanel"] as const;
/** Blocks whose events are asked for at once. */
const SPAN = 10_000n;

/** What differs from the rights that `settings` ask for; empty when all is as it must be. */
export async function wrongRights(
  client: PublicClient,
  contracts: Contracts,
  startBlock: bigint,
  settings: ProtocolSettings,
): Promise<string[]> {
  const found = await rightsOnChain(client, contracts, startBlock);
  const wanted = rightsWanted(contracts, settings);
  const has = (list: Grant[], { right, holder }: Grant) =>
    list.some((one) => one.right === right && isAddressEqual(one.holder, holder));
  return [
    ...found.filter((grant) => !has(wanted, grant)).map(({ right, holder }) => `${holder} is ${right}`),
    ...wanted.filter((grant) => !has(found, grant)).map(({ right, holder }) => `${holder} is not ${right}`),
    ...(await rightsOfDeployer(client, contracts, found, settings)),
  ];
}

/** Those of `admins` that administer no operator. */
export async function notAdmitted(
  client: PublicClient,
  escrow: Address,
  admins: readonly Address[],
): Promise<Address[]> {
  const operators = await operatorAdmins(client, escrow);
  return admins.filter((admin) => !operators.some(({ holder }) => isAddressEqual(holder, admin)));
}

/** Every right that exists on a deployment which began after `startBlock`. Nothing here is taken from the settings. */
async function rightsOnChain(client: PublicClient, contracts: Contracts, startBlock: bigint): Promise<Grant[]> {
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const panel = { address: contracts.ArbitrationPanel, abi: arbitrationPanelAbi } as const;
  const [owners, guardian, executor, set, operators, signers, roles] = await Promise.all([
    // `owner` is the same function everywhere.
    Promise.all(
      OWNED.map((name) => client.readContract({ ...escrow, address: contracts[name], functionName: "owner" })),
    ),
    client.readContract({ ...escrow, functionName: "guardian" }),
    client.readContract({ address: contracts.ProtocolGovernor, abi: protocolGovernorAbi, functionName: "timelock" }),
    client.readContract({ ...panel, functionName: "currentSet" }),
    operatorAdmins(client, escrow.address),
    readSigners(client, escrow.address, startBlock),
    timelockRoles(client, contracts.ProtocolTimelock, startBlock),
  ]);
  const [arbiters] = await client.readContract({ ...panel, functionName: "arbitersOf", args: [set] });
  return [
    ...OWNED.map((name, i): Grant => ({ right: `owner of ${name}`, holder: owners[i] as Address })),
    { right: "guardian", holder: guardian },
    { right: "executor of the governor", holder: executor },
    ...arbiters.map((holder): Grant => ({ right: "arbiter", holder })),
    ...operators,
    ...signers
      .filter(({ removedAt }) => removedAt === 0)
      .map(({ key, operator }): Grant => ({ right: `signer of operator ${operator}`, holder: key })),
    ...roles,
  ];
}

/** No signer is wanted: an operator's admin adds its own, later. */
function rightsWanted(contracts: Contracts, settings: ProtocolSettings): Grant[] {
  const { ProtocolGovernor: governor, ProtocolTimelock: timelock } = contracts;
  const owner = settings.owner ?? timelock;
  return [
    ...OWNED.map((name): Grant => ({ right: `owner of ${name}`, holder: owner })),
    { right: "guardian", holder: settings.guardian },
    { right: "executor of the governor", holder: timelock },
    ...settings.arbiters.map((holder): Grant => ({ right: "arbiter", holder })),
    ...settings.operators.map((holder, i): Grant => ({ right: `admin of operator ${i + 1}`, holder })),
    { right: "timelock admin", holder: timelock },
    { right: "timelock proposer", holder: governor },
    { right: "timelock executor", holder: zeroAddress },
    { right: "timelock canceller", holder: governor },
  ];
}

/** What the deployer still has, unless it was asked for by name. */
async function rightsOfDeployer(
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

async function operatorAdmins(client: PublicClient, address: Address): Promise<Grant[]> {
  const escrow = { address, abi: inferenceEscrowAbi } as const;
  const count = await client.readContract({ ...escrow, functionName: "operatorCount" });
  return await Promise.all(
    Array.from({ length: count }, async (_, i): Promise<Grant> => {
      const { admin } = await client.readContract({ ...escrow, functionName: "operatorOf", args: [i + 1] });
      return { right: `admin of operator ${i + 1}`, holder: admin };
    }),
  );
}

/** Every key that was ever added, with what the escrow says of it; removedAt is 0 while it is in office. */
export async function readSigners(client: PublicClient, address: Address, startBlock: bigint) {
  const escrow = { address, abi: inferenceEscrowAbi } as const;
  const events = await readEvents(client, address, [getAbiItem({ ...escrow, name: "SignerAdded" })], startBlock);
  const keys = [...new Set(events.map(({ args }) => args.signer))];
  return await Promise.all(
    keys.map(async (key) => {
      const [operator, removedAt] = await client.readContract({ ...escrow, functionName: "signerOf", args: [key] });
      return { key, operator, removedAt };
    }),
  );
}

/** Holders of the timelock's roles, from its events: AccessControl itself cannot list them. */
async function timelockRoles(client: PublicClient, address: Address, startBlock: bigint): Promise<Grant[]> {
  const abi = protocolTimelockAbi;
  const changes = [getAbiItem({ abi, name: "RoleGranted" }), getAbiItem({ abi, name: "RoleRevoked" })] as const;
  const held = new Map<string, Grant>();
  for (const { eventName, args } of await readEvents(client, address, changes, startBlock)) {
    const { role, account } = args;
    const name = Object.entries(ROLES).find(([, id]) => id === role)?.[0] ?? role;
    const key = `${role}${account}`;
    if (eventName === "RoleGranted") held.set(key, { right: `timelock ${name}`, holder: account });
    else held.delete(key);
  }
  return [...held.values()];
}

/** All events of these kinds since a block, decoded, in the order of the chain. */
async function readEvents<const E extends readonly AbiEvent[]>(
  client: PublicClient,
  address: Address,
  events: E,
  from: bigint,
) {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const topics = [events.map((event) => toEventSelector(event))];
  const logs = await new LogReader(client, SPAN).read({ address, topics }, from, head);
  return logs.map((log) =>
    decodeEventLog<E, undefined, Hex[], Hex, true>({
      abi: events,
      topics: log.topics as [Hex, ...Hex[]],
      data: log.data,
    }),
  );
}

function role(name: string): Hex {
  return keccak256(toBytes(name));
}

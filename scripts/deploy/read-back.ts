/** Reads a deployment back from the chain: what was sent is not yet what is there. */
import {
  type Address,
  domainSeparator,
  isAddressEqual,
  keccak256,
  numberToHex,
  type PublicClient,
  toBytes,
  zeroAddress,
  zeroHash,
} from "viem";
import type { Contracts, Deployment } from "../../protocol/deployment.ts";
import { escrowDomain } from "../../protocol/messages.ts";
import { type Protocol, protocolAt, readEvents, readSigners } from "./contracts.ts";
import { type History, holderLine, namedHolders, unexplained, wrongCreations } from "./history.ts";
import { LAUNCH_MODELS } from "./launch-models.ts";
import { type ProtocolSettings, windowsOf } from "./protocol-settings.ts";
import { linked, overwritten, type ReleasedContract, released } from "./released.ts";

/** The chain does not show what the deployment should have made. */
export class DeploymentMismatch extends Error {
  override name = "DeploymentMismatch";
}

/** The last block before the first transaction of a deployment. */
export type ChainMark = Pick<Deployment, "chainId" | "startBlock" | "startBlockHash">;

type Made = Pick<Deployment, "contracts" | "startBlock">;

/** The difference between the node's chain and the marked one; null if it is the same. */
export async function otherChain(client: PublicClient, mark: ChainMark): Promise<string | null> {
  if (mark.chainId !== (await client.getChainId())) return `it was of chain id ${mark.chainId}`;
  const block = await client.request({ method: "eth_getBlockByNumber", params: [numberToHex(mark.startBlock), false] });
  return block?.hash === mark.startBlockHash ? null : `block ${mark.startBlock} is another one`;
}

type Fact = readonly [what: string, is: unknown, wanted: unknown];

/** The facts that are not as wanted. Values are compared as text: addresses in any case, numbers in any type. */
async function wrongFacts(facts: readonly Fact[]): Promise<string[]> {
  const found = await Promise.all(facts.map(async ([what, is, wanted]) => ({ what, is: await is, wanted })));
  const text = (value: unknown) => String(value).toLowerCase();
  const wrong = found.filter(({ is, wanted }) => text(is) !== text(wanted));
  return wrong.map(({ what, is, wanted }) => `${what} is ${is}, wanted ${wanted}`);
}

function refuse(wrong: readonly string[]): void {
  if (wrong.length > 0) throw new DeploymentMismatch(wrong.join("; "));
}

/**
 * Checks what holds for the whole life of a deployment: the released code everywhere, contracts that the released creation code made,
 * and that know each other.
 */
export async function checkWiring(client: PublicClient, history: History, settings: ProtocolSettings): Promise<void> {
  const at = history.contracts;
  refuse([...(await wrongCode(client, at, settings.stablecoin === null)), ...wrongCreations(history)]);
  const { escrow, registry, panel, treasury, governor } = protocolAt(client, at);
  const domain = domainSeparator({ domain: escrowDomain(await client.getChainId(), escrow.address) });
  const facts = await wrongFacts([
    ["the escrow's token", escrow.read.token(), at.Stablecoin],
    ["the escrow's catalog", escrow.read.CATALOG(), at.ModelCatalog],
    ["the escrow's registry", escrow.read.REGISTRY(), at.WorkerRegistry],
    ["the escrow's panel", escrow.read.PANEL(), at.ArbitrationPanel],
    ["the registry's stake token", registry.read.STAKE_TOKEN(), at.ServiceToken],
    ["the governor's token", governor.read.token(), at.ServiceToken],
    ["the treasury's stablecoin", treasury.read.STABLECOIN(), at.Stablecoin],
    ["the registry's escrow", registry.read.escrow(), escrow.address],
    ["the panel's escrow", panel.read.escrow(), escrow.address],
    ["the treasury's escrow", treasury.read.escrow(), escrow.address],
    ["the escrow's domain of messages", escrow.read.domainSeparator(), domain],
  ]);
  refuse(facts);
}

/**
 * Contracts whose code is not that of contracts/release/, in words. What the constructors fill in is not compared: the views that
 * return it are. A stablecoin that existed before only has to be there.
 */
export async function wrongCode(client: PublicClient, at: Contracts, ownStablecoin: boolean): Promise<string[]> {
  const names = Object.keys(at) as (keyof Contracts)[];
  const found = await Promise.all(
    names.map(async (name) => {
      const address = at[name];
      const code = await client.getCode({ address });
      if (!code) return `no code at ${name} ${address}`;
      if (name === "Stablecoin" && !ownStablecoin) return null;
      const release = released(name === "Stablecoin" ? "TestStablecoin" : name);
      if (masked(code, release) === masked(linked(release, at).runtime, release)) return null;
      return `the code of ${name} ${address} is not that of contracts/release/${release.contractName}.json`;
    }),
  );
  return found.filter((finding) => finding !== null);
}

/** With zeros for everything that a constructor fills in. */
function masked(code: string, { immutables }: ReleasedContract): string {
  return immutables.reduce((text, { start, length }) => overwritten(text, start, "00".repeat(length)), code);
}

/**
 * Checks, right after a deployment, what governance and operators may change later: rights, figures, every event since the creation of
 * the contracts, and who has the votes.
 */
export async function checkSettings(
  client: PublicClient,
  made: Made,
  history: History,
  settings: ProtocolSettings,
): Promise<void> {
  const { serviceTokenHolder } = settings;
  const strangers = namedHolders(history).filter(({ account }) => !isAddressEqual(account, serviceTokenHolder));
  refuse([
    ...(await wrongRights(client, made, settings)),
    ...(await wrongFigures(client, made, settings)),
    ...(await unexplained(client, history, settings)),
    ...strangers.map((holder) => `${holderLine(holder)}, and no setting names it`),
  ]);
}

async function wrongFigures(client: PublicClient, made: Made, settings: ProtocolSettings): Promise<string[]> {
  const { governance, durations } = settings;
  const at = made.contracts;
  const { escrow, catalog, registry, panel, governor, timelock } = protocolAt(client, at);
  const windows = escrow.read.windows() as Promise<Record<string, number>>;
  const quorum = panel.read.currentSet().then((set) => panel.read.arbitersOf([set]));
  const modelCount = await catalog.read.modelCount();
  return await wrongFacts([
    ["the treasury", escrow.read.treasury(), at.ProtocolTreasury],
    ["the fee", escrow.read.feeBps(), settings.feeBps],
    ["the operators' share of the fee", escrow.read.operatorShare(), 0],
    ["the compensation cap", escrow.read.compensationCap(), settings.compensationCap],
    ["the pause", escrow.read.paused(), [false, false]],
    ["the bits of stopped operators", escrow.read.stoppedOperators(), 0n],
    ...Object.entries(windowsOf(durations)).map(
      ([name, seconds]): Fact => [`window ${name}`, windows.then((all) => all[name]), seconds],
    ),
    // Every model that is listed, or should be.
    ...Array.from({ length: Math.max(modelCount, LAUNCH_MODELS.length) }, (_, i): Fact => {
      const listed = i < modelCount ? catalog.read.modelAt([i + 1]) : null;
      return [`model ${i + 1}`, listed?.then(({ listing }) => fields(listing)) ?? "none", fields(LAUNCH_MODELS[i])];
    }),
    ["the minimum stake", registry.read.minimumStake(), settings.minimumStake],
    ["the worth of 1,000 SVC", registry.read.svcWorth(), settings.creditsPer1kSvc],
    ["the slash amount", registry.read.slashAmount(), settings.slashAmount],
    ["the unbonding period", registry.read.unbondingPeriod(), durations.unbonding],
    ["the notice of prices", catalog.read.priceNotice(), durations.priceNotice],
    ["the notice of retirements", catalog.read.retirementNotice(), durations.retirementNotice],
    ["the arbiters' quorum", quorum.then(([, votes]) => votes), settings.arbiterQuorum],
    ["the voting delay", governor.read.votingDelay(), governance.votingDelay],
    ["the voting period", governor.read.votingPeriod(), governance.votingPeriod],
    ["the proposal threshold", governor.read.proposalThreshold(), governance.proposalThreshold],
    ["the governor's quorum", governor.read.quorumNumerator(), governance.quorumPercent],
    ["the timelock's delay", timelock.read.getMinDelay(), governance.timelockDelay],
  ]);
}

/** A struct's fields in an order that does not depend on who wrote it. */
const fields = (value: object | undefined): string =>
  value === undefined ? "none" : JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

/** A holder of a right, in words that a person understands. */
type Grant = { right: string; holder: Address };

const role = (name: string) => keccak256(toBytes(name));
const ROLES = {
  admin: zeroHash,
  proposer: role("PROPOSER_ROLE"),
  executor: role("EXECUTOR_ROLE"),
  canceller: role("CANCELLER_ROLE"),
};
const OWNED = ["escrow", "catalog", "registry", "treasury", "panel"] as const;

/** The differences from the rights that `settings` ask for; empty if there are none. */
export async function wrongRights(client: PublicClient, made: Made, settings: ProtocolSettings): Promise<string[]> {
  const protocol = protocolAt(client, made.contracts);
  const found = await rightsOnChain(client, protocol, BigInt(made.startBlock));
  const wanted = rightsWanted(protocol, settings);
  const has = (list: Grant[], { right, holder }: Grant) =>
    list.some((one) => one.right === right && isAddressEqual(one.holder, holder));
  return [
    ...found.filter((grant) => !has(wanted, grant)).map(({ right, holder }) => `${holder} is ${right}`),
    ...wanted.filter((grant) => !has(found, grant)).map(({ right, holder }) => `${holder} is not ${right}`),
    ...(await rightsOfDeployer(protocol, found, settings)),
  ];
}

/** Those of `admins` that administer no operator. */
export async function notAdmitted(client: PublicClient, at: Contracts, admins: readonly Address[]): Promise<Address[]> {
  const operators = await operatorAdmins(protocolAt(client, at));
  return admins.filter((admin) => !operators.some(({ holder }) => isAddressEqual(holder, admin)));
}

/** Every right that exists on a deployment which began after `startBlock`. Nothing here is taken from the settings. */
async function rightsOnChain(client: PublicClient, protocol: Protocol, startBlock: bigint): Promise<Grant[]> {
  const { escrow, panel, governor, timelock } = protocol;
  const [owners, guardian, executor, set, operators, signers, changes] = await Promise.all([
    Promise.all(OWNED.map((name) => protocol[name].read.owner())),
    escrow.read.guardian(),
    governor.read.timelock(),
    panel.read.currentSet(),
    operatorAdmins(protocol),
    readSigners(client, escrow, startBlock),
    readEvents(client, timelock, ["RoleGranted", "RoleRevoked"], startBlock),
  ]);
  const [arbiters] = await panel.read.arbitersOf([set]);
  // Holders of the timelock's roles, from its events: AccessControl itself cannot list them.
  const roles = new Map<string, Grant>();
  for (const { eventName, args } of changes) {
    const name = Object.entries(ROLES).find(([, id]) => id === args.role)?.[0] ?? args.role;
    const key = `${args.role}${args.account}`;
    if (eventName === "RoleGranted") roles.set(key, { right: `timelock ${name}`, holder: args.account });
    else roles.delete(key);
  }
  return [
    ...OWNED.map((name, i): Grant => ({ right: `owner of ${protocol[name].name}`, holder: owners[i] as Address })),
    { right: "guardian", holder: guardian },
    { right: "executor of the governor", holder: executor },
    ...arbiters.map((holder): Grant => ({ right: "arbiter", holder })),
    ...operators,
    ...signers
      .filter(({ removedAt }) => removedAt === 0)
      .map(({ key, operator }): Grant => ({ right: `signer of operator ${operator}`, holder: key })),
    ...roles.values(),
  ];
}

/** No signer is wanted: an operator's admin adds its own, later. */
function rightsWanted(protocol: Protocol, settings: ProtocolSettings): Grant[] {
  const [governor, timelock] = [protocol.governor.address, protocol.timelock.address];
  const owner = settings.owner ?? timelock;
  return [
    ...OWNED.map((name): Grant => ({ right: `owner of ${protocol[name].name}`, holder: owner })),
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

/** The rights that the deployer still has, except those that were asked for by name. */
async function rightsOfDeployer(
  { serviceToken }: Protocol,
  found: Grant[],
  { deployer, owner, serviceTokenHolder }: ProtocolSettings,
): Promise<string[]> {
  const isOwner = owner !== null && isAddressEqual(owner, deployer);
  const held = isOwner ? [] : found.filter(({ holder }) => isAddressEqual(holder, deployer));
  const kept = held.map(({ right }) => `the deployer is ${right}`);
  if (isAddressEqual(serviceTokenHolder, deployer)) return kept;
  const balance = await serviceToken.read.balanceOf([deployer]);
  return balance === 0n ? kept : [...kept, `the deployer holds ${balance} base units of SVC`];
}

async function operatorAdmins({ escrow }: Protocol): Promise<Grant[]> {
  const count = await escrow.read.operatorCount();
  return await Promise.all(
    Array.from({ length: count }, async (_, i): Promise<Grant> => {
      const { admin } = await escrow.read.operatorOf([i + 1]);
      return { right: `admin of operator ${i + 1}`, holder: admin };
    }),
  );
}

/** The protocol as scripts/deploy.ts deploys it, with people in it. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { getAddress, type Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import {
  compactSignature,
  enrollmentTypes,
  escrowDomain,
  registryDomain,
  signerConsentTypes,
} from "../../../protocol/messages.ts";
import { decodePayee } from "../../../protocol/words.ts";
import { protocolModule } from "../../../scripts/deploy/protocol-module.ts";
import {
  DEFAULT_COMPENSATION_CAP,
  DEFAULT_CREDITS_PER_1K_SVC,
  DEFAULT_DURATIONS,
  DEFAULT_GOVERNANCE,
  DEFAULT_MINIMUM_STAKE,
  DEFAULT_SLASH_AMOUNT,
  type ProtocolSettings,
} from "../../../scripts/deploy/protocol-settings.ts";
import { signingKey, someAddress } from "./actors.ts";
import { ethers, ignition } from "./chain.ts";

export const CHAIN_ID = 31337;
/** Number of llama-3.3-70b-instruct: tier max, 40 credits a request, 20 per 1,000 tokens. */
export const MODEL = 1;
/** Number of qwen3-8b: tier standard, 8 and 4. */
export const OTHER_MODEL = 5;
/** Stake unit: a millionth of an SVC. */
export const STAKE_UNIT = 10n ** 12n;
/** The operator that the tests' wallets choose; `gateway` and `secondGateway` sign for it. */
export const OPERATOR = 1;
/** The operator of `otherGateway`. */
export const OTHER_OPERATOR = 2;
/** Credits of the client in a new world. */
export const CLIENT_CREDITS = 10_000;
/** Credits of the first operator's reserve in a new world; the other operator has none. */
export const RESERVE_CREDITS = 100_000;

/** A registered worker. */
export type Worker = { key: PrivateKeyAccount; owner: HardhatEthersSigner; payout: string; id: number };
export type World = Awaited<ReturnType<typeof deployWorld>>;

/** Deploys everything, with the signers of both operators; nobody has credits or stake yet. */
export async function deployBare(overrides: Partial<ProtocolSettings> = {}) {
  const [deployer, guardian, gateway, otherGateway, stranger, client, workerOwner, operatorAdmin, ...rest] =
    await ethers.getSigners();
  const [otherAdmin, secondGateway, ...others] = rest;
  if (!deployer || !guardian || !gateway || !otherGateway || !stranger || !client || !workerOwner)
    throw new Error("too few accounts");
  if (!operatorAdmin || !otherAdmin || !secondGateway) throw new Error("too few accounts");
  const arbiters = others.slice(-3);
  const settings: ProtocolSettings = {
    deployer: getAddress(deployer.address),
    owner: getAddress(deployer.address),
    guardian: getAddress(guardian.address),
    serviceTokenHolder: getAddress(deployer.address),
    stablecoin: null,
    operators: [getAddress(operatorAdmin.address), getAddress(otherAdmin.address)],
    feeBps: 1_000,
    compensationCap: DEFAULT_COMPENSATION_CAP,
    minimumStake: DEFAULT_MINIMUM_STAKE,
    slashAmount: DEFAULT_SLASH_AMOUNT,
    creditsPer1kSvc: DEFAULT_CREDITS_PER_1K_SVC,
    arbiters: arbiters.map(({ address }) => getAddress(address)),
    arbiterQuorum: 2,
    governance: DEFAULT_GOVERNANCE,
    durations: DEFAULT_DURATIONS,
    ...overrides,
  };
  const deployed = await ignition.deploy(protocolModule(settings));
  const world = {
    settings,
    owner: deployer,
    guardian,
    operatorAdmin,
    gateway,
    secondGateway,
    otherAdmin,
    otherGateway,
    stranger,
    client,
    workerOwner,
    others,
    arbiters,
    token: await ethers.getContractAt("TestStablecoin", deployed.stablecoin),
    svc: await ethers.getContractAt("ServiceToken", deployed.serviceToken),
    treasury: await ethers.getContractAt("ProtocolTreasury", deployed.treasury),
    panel: await ethers.getContractAt("ArbitrationPanel", deployed.panel),
    governor: await ethers.getContractAt("ProtocolGovernor", deployed.governor),
    timelock: await ethers.getContractAt("ProtocolTimelock", deployed.timelock),
    catalog: await ethers.getContractAt("ModelCatalog", deployed.catalog),
    registry: await ethers.getContractAt("WorkerRegistry", deployed.registry),
    escrow: await ethers.getContractAt("InferenceEscrow", deployed.escrow),
  };
  await addSigners(world, OPERATOR, operatorAdmin, [gateway, secondGateway]);
  await addSigners(world, OTHER_OPERATOR, otherAdmin, [otherGateway]);
  return world;
}

export type BareWorld = Awaited<ReturnType<typeof deployBare>>;
type Escrow = BareWorld["escrow"];

/** With a client of 10,000 credits, a reserve and two workers that host every launch model. */
export async function deployWorld(overrides: Partial<ProtocolSettings> = {}, reserve = RESERVE_CREDITS) {
  const bare = await deployBare(overrides);
  if (reserve > 0) await fundReserve(bare, reserve);
  await buyCredits(bare, bare.client, CLIENT_CREDITS);
  const worker = await registerWorker(bare, "first worker");
  const rival = await registerWorker(bare, "second worker");
  return { ...bare, worker, rival };
}

/** Adds signers to an operator, each with its consent. */
export async function addSigners(
  { escrow }: { escrow: Escrow },
  operator: number,
  admin: HardhatEthersSigner,
  added: readonly HardhatEthersSigner[],
) {
  const consents = await Promise.all(added.map((key) => consent({ escrow }, key, operator, admin.address)));
  return await escrow.connect(admin).rotateSigners(operator, [...added], consents, []);
}

/** The key's consent to sign for an operator. */
export async function consent(
  { escrow }: { escrow: Escrow },
  key: HardhatEthersSigner,
  operator: number,
  admin: string,
) {
  const domain = escrowDomain(CHAIN_ID, getAddress(await escrow.getAddress()));
  const types = { SignerConsent: [...signerConsentTypes.SignerConsent] };
  return compactSignature((await key.signTypedData(domain, types, { operator, admin })) as Hex);
}

/** Mints units for a wallet, which lets the escrow take them. */
export async function provide(
  { token, escrow }: Pick<BareWorld, "token" | "escrow">,
  wallet: HardhatEthersSigner,
  units: bigint,
  approved = units,
): Promise<void> {
  await token.mint(wallet.address, units);
  await token.connect(wallet).approve(escrow, approved);
}

/** Mints, approves and adds to the first operator's reserve. */
export async function fundReserve(world: BareWorld, credits: number, operator = OPERATOR): Promise<void> {
  const { escrow, operatorAdmin } = world;
  await provide(world, operatorAdmin, BigInt(credits) * 10_000n);
  await escrow.connect(operatorAdmin).fundReserve(operator, credits);
}

/** Mints, approves and deposits; the wallet chooses the operator. */
export async function buyCredits(
  world: BareWorld,
  wallet: HardhatEthersSigner,
  credits: number,
  operator = OPERATOR,
): Promise<void> {
  await provide(world, wallet, BigInt(credits) * 10_000n);
  await world.escrow.connect(wallet).deposit(credits, operator);
}

/** A model that the catalog does not have. */
export const LISTING = {
  id: "tiny",
  parameters: "1B",
  ownedBy: "someone",
  tier: 0,
  creditsPerRequest: 2,
  creditsPer1kTokens: 1,
  contextWindow: 4_096,
};

export type WorkerOptions = { stake?: bigint; models?: number[]; payout?: string };

/** Registers a worker of `workerOwner` with the minimum stake, hosting models 1 … 8. */
export async function registerWorker(world: BareWorld, name: string, options: WorkerOptions = {}): Promise<Worker> {
  const key = signingKey(name);
  const owner = world.workerOwner;
  const {
    stake = DEFAULT_MINIMUM_STAKE,
    models = [1, 2, 3, 4, 5, 6, 7, 8],
    payout = someAddress(`payout of ${name}`),
  } = options;
  await world.svc.transfer(owner.address, stake * STAKE_UNIT);
  await world.svc.connect(owner).approve(world.registry, stake * STAKE_UNIT);
  const enrollment = await enroll(world, key, owner.address);
  await world.registry
    .connect(owner)
    .register(key.address, payout, "https://worker.example", models, stake, enrollment);
  const id = decodePayee(await world.registry.payeeOf(key.address, 0))?.id ?? 0;
  return { key, owner, payout, id };
}

/** The key's consent to be registered by `owner`. */
export async function enroll(world: BareWorld, key: PrivateKeyAccount, owner: string) {
  const domain = registryDomain(CHAIN_ID, getAddress(await world.registry.getAddress()));
  const message = { owner: getAddress(owner) };
  return compactSignature(
    await key.signTypedData({ domain, types: enrollmentTypes, primaryType: "Enrollment", message }),
  );
}

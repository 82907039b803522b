/** The protocol as scripts/deploy.ts deploys it, with people in it. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { getAddress } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { protocolModule } from "../../../contracts/ignition/protocol.ts";
import {
  DEFAULT_DURATIONS,
  DEFAULT_GOVERNANCE,
  DEFAULT_MINIMUM_STAKE,
  DEFAULT_SLASH_AMOUNT,
  type ProtocolSettings,
} from "../../../contracts/ignition/settings.ts";
import { compactSignature, enrollmentTypes, registryDomain } from "../../../protocol/messages.ts";
import { signingKey, someAddress } from "./actors.ts";
import { ethers, ignition } from "./chain.ts";

export const CHAIN_ID = 31337;
/** Number of llama-3.3-70b-instruct: tier max, 40 credits a request, 20 per 1,000 tokens. */
export const MODEL = 1;
/** Number of qwen3-8b: tier standard, 8 and 4. */
export const OTHER_MODEL = 5;
/** Stake unit: a millionth of an SVC. */
export const STAKE_UNIT = 10n ** 12n;
/** Credits of the client in a new world. */
export const CLIENT_CREDITS = 10_000;

/** A registered worker. */
export type Worker = { key: PrivateKeyAccount; owner: HardhatEthersSigner; payout: string; id: number };
export type World = Awaited<ReturnType<typeof deployWorld>>;

/** Deploys everything; nobody has credits or stake yet. */
export async function deployBare(overrides: Partial<ProtocolSettings> = {}) {
  const [deployer, guardian, gateway, otherGateway, stranger, client, workerOwner, ...others] =
    await ethers.getSigners();
  if (!deployer || !guardian || !gateway || !otherGateway || !stranger || !client || !workerOwner)
    throw new Error("too few accounts");
  const arbiters = others.slice(-3);
  const settings: ProtocolSettings = {
    deployer: getAddress(deployer.address),
    owner: getAddress(deployer.address),
    guardian: getAddress(guardian.address),
    serviceTokenHolder: getAddress(deployer.address),
    stablecoin: null,
    gateways: [getAddress(gateway.address), getAddress(otherGateway.address)],
    feeBps: 1_000,
    minimumStake: DEFAULT_MINIMUM_STAKE,
    slashAmount: DEFAULT_SLASH_AMOUNT,
    arbiters: arbiters.map(({ address }) => getAddress(address)),
    arbiterQuorum: 2,
    governance: DEFAULT_GOVERNANCE,
    durations: DEFAULT_DURATIONS,
    ...overrides,
  };
  const deployed = await ignition.deploy(protocolModule(settings));
  return {
    settings,
    owner: deployer,
    guardian,
    gateway,
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
}

export type BareWorld = Awaited<ReturnType<typeof deployBare>>;

/** With a client of 10,000 credits and two workers that host every launch model. */
export async function deployWorld(overrides: Partial<ProtocolSettings> = {}) {
  const bare = await deployBare(overrides);
  await buyCredits(bare, bare.client, CLIENT_CREDITS);
  const worker = await registerWorker(bare, "first worker");
  const rival = await registerWorker(bare, "second worker");
  return { ...bare, worker, rival };
}

/** Mints, approves and deposits. */
export async function buyCredits(world: BareWorld, wallet: HardhatEthersSigner, credits: number): Promise<void> {
  const units = BigInt(credits) * 10_000n;
  await world.token.mint(wallet.address, units);
  await world.token.connect(wallet).approve(world.escrow, units);
  await world.escrow.connect(wallet).deposit(credits);
}

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
  const id = Number((await world.registry.payeeOf(key.address)).id);
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

import { decodeLogs, eventsOf, eventTopic } from "../../protocol/audit/event-log.ts";
import { positional, readAddress } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { propose } from "./proposals.ts";
import { submit } from "./transactions.ts";

/** Gateways with their right to lock. */
export async function listGateways(operator: Operator): Promise<Output> {
  const { escrow } = operator.contracts;
  const filter = { address: escrow.address, topics: [eventTopic("escrow", "GatewayAdded")] };
  const head = await operator.client.getBlockNumber({ cacheTime: 0 });
  const logs = await operator.logs.read(filter, BigInt(operator.deployment.startBlock), head);
  const signers = eventsOf(decodeLogs(logs, operator.addresses), "escrow", "GatewayAdded").map(
    ({ args }) => args.signer,
  );
  const list = await Promise.all(
    signers.map(async (signer) => {
      const [id, locks] = await operator.client.readContract({ ...escrow, functionName: "gatewayOf", args: [signer] });
      const balance = await operator.client.getBalance({ address: signer });
      return { id, signer, may_lock: locks, gas_wei: String(balance) };
    }),
  );
  const text = list.map(
    ({ id, signer, may_lock, gas_wei }) =>
      `${id}  ${signer}  ${may_lock ? "locks" : "disabled"}  ${gas_wei} wei for gas`,
  );
  return { text: text.join("\n") || "no gateways", json: list };
}

/** A vote adds a gateway, or gives one its right to lock back. */
export async function proposeGateway(
  operator: Operator,
  args: readonly string[],
  kind: "add" | "enable",
): Promise<Output> {
  const signer = readAddress(positional(args, 0, "address"), "<address>");
  const { escrow } = operator.contracts;
  return kind === "add"
    ? await propose(operator, { ...escrow, functionName: "addGateway", args: [signer] }, `Add gateway ${signer}`)
    : await propose(
        operator,
        { ...escrow, functionName: "setGatewayLocking", args: [signer, true] },
        `Enable gateway ${signer}`,
      );
}

/** The guardian takes a gateway's right to lock, at once. Its open jobs go on. */
export async function disableGateway(operator: Operator, args: readonly string[]): Promise<Output> {
  const signer = readAddress(positional(args, 0, "address"), "<address>");
  const call = { ...operator.contracts.escrow, functionName: "setGatewayLocking", args: [signer, false] };
  return await submit(operator, call, `Disable gateway ${signer}`);
}

/** The guardian stops or resumes deposits and locks; exits are never stopped. */
export async function setPaused(operator: Operator, paused: boolean): Promise<Output> {
  const call = { ...operator.contracts.escrow, functionName: "setPaused", args: [paused] };
  return await submit(operator, call, paused ? "Pause deposits and locks" : "Resume deposits and locks");
}

import { createParser } from "eventsource-parser";
import type { Hex } from "viem";
import type { HDAccount } from "viem/accounts";
import type { z } from "zod";
import {
  ASSIGNMENT_HEADER,
  acknowledgedEvent,
  type ChatRequest,
  completedEvent,
  deltaEvent,
  errorEvent,
  NO_JOB,
  type OutputRequest,
  outputAccessTypes,
  type WorkerOutput,
} from "../../../protocol/dispatch.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { type Assignment, compactSignature, escrowDomain, jobMessageTypes } from "../../../protocol/messages.ts";
import { client, gateway, type TestChain, type TestWorker } from "./chain.ts";

export type Job = { assignment: Assignment; signature: Hex; model: string; request: ChatRequest };
export type JobOptions = {
  prompt?: string;
  model?: string;
  request?: Partial<ChatRequest>;
  assignment?: Partial<Assignment>;
  jobId?: Hex;
  lockedTokens?: number;
  signer?: HDAccount;
  /** Seconds the worker has for its acknowledgement, from the end of the lock. */
  acknowledgeIn?: number;
};
type Streamed = {
  status: number;
  refusal: string | null;
  names: string[];
  text: string;
  acknowledgement: Hex | null;
  completed: z.infer<typeof completedEvent> | null;
  error: z.infer<typeof errorEvent> | null;
};

const MAX_TOKENS = 2_000;

/** Signs an assignment as a gateway does. */
export function signAssignment(chain: TestChain, message: Assignment, signer: HDAccount = gateway): Promise<Hex> {
  const domain = escrowDomain(chain.deployment.chainId, chain.deployment.contracts.InferenceEscrow);
  return signer.signTypedData({
    domain,
    types: { Assignment: jobMessageTypes.Assignment },
    primaryType: "Assignment",
    message,
  });
}

/** Prepares a job without locking it. */
export async function prepare(chain: TestChain, worker: TestWorker, options: JobOptions = {}): Promise<Job> {
  const { timestamp } = await chain.rpc.getBlock();
  const now = Math.max(Number(timestamp), Math.floor(Date.now() / 1000));
  const assignment: Assignment = {
    jobId: options.jobId ?? newJobId(),
    worker: worker.address,
    attempt: 1,
    acknowledgeBy: now + (options.acknowledgeIn ?? 120),
    ...options.assignment,
  };
  const signature = await signAssignment(chain, assignment, options.signer);
  const messages = [{ role: "user" as const, content: options.prompt ?? "What makes a settlement chain trustworthy?" }];
  const model = options.model ?? (worker.models[0] as string);
  return { assignment, signature, model, request: { messages, max_tokens: MAX_TOKENS, ...options.request } };
}

/** Locks a job on chain and prepares its dispatch. */
export async function lockJob(chain: TestChain, worker: TestWorker, options: JobOptions = {}): Promise<Job> {
  const jobId = newJobId();
  const model = await chain.modelNumber(worker.models[0] as string);
  const tokens = options.lockedTokens ?? options.request?.max_tokens ?? MAX_TOKENS;
  await chain.send(gateway, "lock", [client.address, model, jobId, tokens, 0xffffffff, 0xffffffffff]);
  // Only now: the time for the acknowledgement must not be spent on the lock.
  return await prepare(chain, worker, { ...options, jobId });
}

/** The header that a worker wants to see before it reads a job's body. */
export const ticketHeader = ({ assignment, signature }: Job) => ({
  [ASSIGNMENT_HEADER]: JSON.stringify({ assignment, signature }),
});

type Listener = { leaveAfter?: number; onDelta?: () => void };

/** Dispatches a job. `leaveAfter` closes the connection after so many deltas; `onDelta` hears of each. */
export async function dispatch(
  worker: TestWorker,
  job: Job,
  { leaveAfter = Number.POSITIVE_INFINITY, onDelta = () => {} }: Listener = {},
): Promise<Streamed> {
  const headers = { "content-type": "application/json", ...ticketHeader(job) };
  const response = await fetch(`${worker.endpoint}/jobs`, { method: "POST", headers, body: JSON.stringify(job) });
  const result: Streamed = {
    status: response.status,
    refusal: null,
    names: [],
    text: "",
    acknowledgement: null,
    completed: null,
    error: null,
  };
  if (response.status !== 200) {
    result.refusal = ((await response.json()) as { error: { code: string } }).error.code;
    return result;
  }
  const onEvent = ({ event, data }: { event?: string | undefined; data: string }): void => {
    take(result, event ?? "", JSON.parse(data));
    if (event === "delta") onDelta();
  };
  const parser = createParser({ onEvent });
  const decoder = new TextDecoder();
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    // Leaving the loop closes the connection.
    if (result.names.filter((name) => name === "delta").length >= leaveAfter) break;
  }
  return result;
}

function take(result: Streamed, name: string, data: unknown): void {
  result.names.push(name);
  if (name === "acknowledged") result.acknowledgement = acknowledgedEvent.parse(data).signature;
  else if (name === "delta") result.text += deltaEvent.parse(data).content;
  else if (name === "reasoning") deltaEvent.parse(data);
  else if (name === "completed") result.completed = completedEvent.parse(data);
  else if (name === "error") result.error = errorEvent.parse(data);
  else if (name !== "begun") throw new Error(`unknown event ${name}`);
}

/** Asks something of a job that was dispatched; `access` signs for it afresh, and without it the request is incomplete. */
async function askOfJob(chain: TestChain, worker: TestWorker, path: string, job: Job, access?: HDAccount) {
  const { assignment, signature } = job;
  const request: Omit<OutputRequest, "access"> & Partial<OutputRequest> = { assignment, signature };
  if (access !== undefined) {
    const message = { jobId: assignment.jobId, worker: worker.address, expiresAt: Math.floor(Date.now() / 1000) + 60 };
    const domain = escrowDomain(chain.deployment.chainId, chain.deployment.contracts.InferenceEscrow);
    const by = await access.signTypedData({ domain, types: outputAccessTypes, primaryType: "OutputAccess", message });
    request.access = { expiresAt: message.expiresAt, signature: by };
  }
  const headers = { "content-type": "application/json" };
  return fetch(`${worker.endpoint}${path}`, { method: "POST", headers, body: JSON.stringify(request) });
}

/** Asks for a finished job's output. */
export async function fetchOutput(
  chain: TestChain,
  worker: TestWorker,
  job: Job,
  access?: HDAccount,
): Promise<{ status: number; body: WorkerOutput & { error?: { code: string } } }> {
  const response = await askOfJob(chain, worker, "/jobs/output", job, access);
  return { status: response.status, body: (await response.json()) as WorkerOutput & { error?: { code: string } } };
}

/** Ends a job's answer where it is. */
export const endJob = async (chain: TestChain, worker: TestWorker, job: Job, access: HDAccount): Promise<number> =>
  (await askOfJob(chain, worker, "/jobs/end", job, access)).status;

/** Asks for a trial, signed by `by` for this worker. */
export async function askTrial(chain: TestChain, worker: TestWorker, by: HDAccount, model: string) {
  const message = { jobId: NO_JOB, worker: worker.address, expiresAt: Math.floor(Date.now() / 1000) + 60 };
  const domain = escrowDomain(chain.deployment.chainId, chain.deployment.contracts.InferenceEscrow);
  const signature = await by.signTypedData({ domain, types: outputAccessTypes, primaryType: "OutputAccess", message });
  const response = await fetch(`${worker.endpoint}/trial`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, access: { expiresAt: message.expiresAt, signature } }),
  });
  return { status: response.status, body: (await response.json()) as { text?: string; error?: { code: string } } };
}

/** Settles a job as its gateway; throws if the escrow refuses. */
export function complete(chain: TestChain, { completed }: Pick<Streamed, "completed">) {
  if (completed === null) throw new Error("no completion to settle");
  const { completion, signature } = completed;
  const args = [completion, completion.completionTokens, compactSignature(signature), client.address] as const;
  return chain.send(gateway, "complete", args);
}

/** Relays a worker's acknowledgement as anyone can. */
export function acknowledge(chain: TestChain, job: Job, byWorker: Hex) {
  const args = [job.assignment, compactSignature(job.signature), compactSignature(byWorker)] as const;
  return chain.send(gateway, "acknowledge", args);
}

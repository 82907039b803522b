/** A dispute request while the chain's node is away: it is recorded, and its client is told to come again. */
import { pino } from "pino";
import type { Address } from "viem";
import { expect, it } from "vitest";
import { connectRpc } from "../../../../api/chain/rpc.ts";
import type { DisputeContext } from "../../../../api/disputes/desk.ts";
import { DisputeDesk } from "../../../../api/disputes/desk.ts";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { answerHash } from "../../../../protocol/answer-hash.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ESCROW, fakeGateway, storedJob } from "../../../support/fake-gateway.ts";
import { noRequests } from "../../support/jobs.ts";

const WALLET: Address = `0x${"11".repeat(20)}`;

it("503, not a defect of ours", async () => {
  const jobs = fakeGateway({});
  const { client } = connectRpc("http://127.0.0.1:1");
  const request = { jobId: newJobId(), receivedHash: answerHash(""), wallet: WALLET, arrivedAt: new Date() };
  const recorded = { ...request, gateway: jobs.account.address };
  const context: DisputeContext = {
    jobs: { ...jobs, operator: { id: 1, inOffice: true, refresh: async () => {} } },
    rpc: { client },
    disputes: { ...noRequests, record: async () => recorded, find: async () => ({ ...recorded, outcome: null }) },
    waitMs: 0,
    registry: ESCROW,
    indexed: async () => null,
    lost: async () => 0,
    metrics: { disputes: { inc: () => {} } },
    signer: { held: true, left: async () => [] },
  };
  const stored = storedJob();
  const failure = await new DisputeDesk(context)
    .request({ ...request, stored, row: null }, request.receivedHash, request.arrivedAt)
    .catch((error) => error);
  expect(String(failure)).toContain("127.0.0.1:1");
  const answer: unknown[] = [];
  const response = {
    headersSent: false,
    removeHeader: () => {},
    setHeader: () => {},
    status: (status: number) => ({ json: (body: { error: { code: string } }) => answer.push(status, body.error.code) }),
  };
  errorHandler("https://docs", pino({ level: "silent" }))(
    failure,
    { originalUrl: "/" } as never,
    response as never,
    () => {},
  );
  expect(answer).toEqual([503, "service_unavailable"]);
});

import { erc20Abi, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { startWorkerCli, workerCli } from "../support/cli.ts";
import { acknowledge, dispatch, lockJob } from "../support/dispatch.ts";
import { chunk, stream, usageAndDone } from "../support/peer.ts";
import { freePort, until } from "../support/processes.ts";
import { PASSPHRASE, type World } from "./world.ts";

const PATIENCE = { timeout: 60_000, interval: 500 };
const HOURS_48 = 48 * 3_600;

/** Out again, with the stake and all pay. */
export function leaving(world: World): void {
  describe("leaving", { timeout: 120_000 }, () => {
    const secret = { WORKER_PASSPHRASE: PASSPHRASE };

    it("costs no pay: a worker that is unbonding starts, says so, and proves the answer that nobody has settled", async () => {
      const at = await freePort();
      const flags = ["--models", "qwen3-14b", "--port", String(at), "--endpoint", `http://127.0.0.1:${at}`, "--yes"];
      const worker = startWorkerCli(world.chain, "w", flags, secret);
      world.running.push(worker);
      await world.serves(at);
      world.peer.play(stream(chunk({ content: "Unpaid." }), chunk({}, "stop"), usageAndDone(3, 2)));
      const asked = { ...world.asWorker(["qwen3-14b"]), endpoint: `http://127.0.0.1:${at}` };
      const job = await lockJob(world.chain, asked);
      const { acknowledgement } = await dispatch(asked, job);
      await acknowledge(world.chain, job, acknowledgement as Hex);
      // A busy machine can keep the worker from answering `status` in time: then the number is not known.
      const waiting = async () => (await world.status("w", ["--port", String(at)])).unsettled;
      await expect.poll(waiting, PATIENCE).toBeGreaterThan(0);
      await worker.end("SIGKILL");
      expect(await world.status("w")).toMatchObject({ process: null, unsettled: expect.toSatisfy((n) => n > 0) });
      expect((await workerCli(world.chain, "w", ["unbond", "--yes"], secret)).code).toBe(0);

      const again = startWorkerCli(world.chain, "w", flags, { ...secret, WORKER_SELF_SETTLE_AFTER: "0" });
      world.running.push(again);
      await until(
        "the answer is proven",
        async () => (await world.chain.jobOf(job.assignment.jobId)).status === ChainStatus.Proven,
      );
      await expect.poll(again.output, PATIENCE).toMatch(/is unbonding.* gets no new jobs.*unbond --cancel/);
      await workerCli(world.chain, "w", ["drain"]);
      expect((await workerCli(world.chain, "w", ["unbond", "--cancel", "--yes"], secret)).code).toBe(0);
    });

    it("takes an unbonding, its time, and a withdrawal; each can be understood from its message", async () => {
      expect((await workerCli(world.chain, "w", ["withdraw", "--yes"], secret)).output).toMatch(
        /bonded: start with .*unbond/,
      );
      expect((await workerCli(world.chain, "w", ["unbond", "--yes"], secret)).output).toMatch(
        /done: unbond [\d,]+ SVC/,
      );
      expect(await world.status("w")).toMatchObject({ active: false, unbonds_at: expect.stringMatching(/^20/) });
      expect((await workerCli(world.chain, "w", ["unbond", "--cancel", "--yes"], secret)).code).toBe(0);
      expect(await world.status("w")).toMatchObject({ active: true, unbonds_at: null });

      await workerCli(world.chain, "w", ["unbond", "--yes"], secret);
      expect((await workerCli(world.chain, "w", ["withdraw", "--yes"], secret)).output).toMatch(/free from/);
      await world.chain.rpc.increaseTime({ seconds: HOURS_48 + 60 });
      await world.chain.rpc.mine({ blocks: 1 });
      const receiver = privateKeyToAccount(generatePrivateKey()).address;
      const paid = await workerCli(world.chain, "w", ["withdraw", "--to", receiver, "--yes"], secret);
      expect(paid).toMatchObject({ code: 0, output: expect.stringContaining("pay") });
      const { ServiceToken } = world.chain.deployment.contracts;
      const token = { address: ServiceToken, abi: erc20Abi } as const;
      expect(
        await world.chain.rpc.readContract({ ...token, functionName: "balanceOf", args: [receiver] }),
      ).toBeGreaterThan(0n);
      expect(await world.status("w")).toMatchObject({ active: false, stake: "0 SVC" });
    });
  });
}

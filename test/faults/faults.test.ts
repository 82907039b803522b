/** The bounded form of `npm run scenario -- faults`: FAULTS_SEED, FAULTS_COUNT and FAULTS_REQUESTS choose another run; FAULTS_KEEP a folder for its logs. */
import { expect, it } from "vitest";
import { FAULTS } from "./faults.ts";
import { run } from "./run.ts";

it("loses nothing: each job ends, each credit counts, each event is told once", async () => {
  const lines: string[] = [];
  const result = await run({
    seed: Number(process.env["FAULTS_SEED"] ?? 20_261_121),
    faults: Number(process.env["FAULTS_COUNT"] ?? 8),
    requests: Number(process.env["FAULTS_REQUESTS"] ?? 120),
    concurrency: 4,
    nodes: true,
    // Requests under way at each kill; as many as the machine can do would only keep it busy.
    rate: 6,
    // Less than the suite has: a run that does not come to its end must fail here, with what it found.
    within: 600_000,
    ...(process.env["FAULTS_KEEP"] ? { keep: process.env["FAULTS_KEEP"] } : {}),
    note: (line) => {
      const stamped = `${new Date().toISOString().slice(11, 19)}  ${line}`;
      lines.push(stamped);
      // Said as it happens: of a run that is killed, these lines are all there is.
      process.stderr.write(`${stamped}\n`);
    },
  });
  console.log(JSON.stringify(result));
  expect(result.problems, lines.join("\n")).toEqual([]);
  // A run in which nothing was asked, answered or killed would prove nothing.
  expect(result.settled).toBeGreaterThan(50);
  // It went on through nodes of at least four kinds.
  expect(result.nodes.length).toBeGreaterThanOrEqual(4);
  const kills = FAULTS.map(({ name }) => name).filter((name) => name.startsWith("kill -9"));
  expect(Object.keys(result.struck)).toEqual(expect.arrayContaining(kills));
}, 660_000);

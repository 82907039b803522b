/** Secrets of the configuration do not get into the log, whoever puts them into an error. */
import { expect, it } from "vitest";
import { createLogger } from "../../../../api/observe/log.ts";

const secrets = {
  RPC_URL: "https://node.example.com/v2/paid-key-of-the-node",
  DATABASE_URL: "postgres://gateway:pass%22word%2Fwith@db.example.com/inference",
  GATEWAY_PRIVATE_KEY: `0x${"a1".repeat(32)}` as const,
  MASTER_KEY: "b2".repeat(32),
  OTHER_MASTER_KEYS: ["c3".repeat(32)],
  METRICS_TOKEN: "token-of-the-metrics",
};

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  let text = "";
  write(
    createLogger("info", secrets, {
      write: (line) => {
        text += line;
      },
    }),
  );
  return text;
}

it("hides them in messages, fields, errors and their causes", () => {
  const text = logged((logger) => {
    const cause = new Error(`HTTP request failed. URL: ${secrets.RPC_URL}`);
    logger.error({ err: new Error(`no answer from ${secrets.RPC_URL}`, { cause }) }, `at ${secrets.DATABASE_URL}`);
    logger.info({ password: 'pass"word/with', key: secrets.GATEWAY_PRIVATE_KEY }, secrets.MASTER_KEY);
    logger.info(`and before: ${secrets.OTHER_MASTER_KEYS[0]}`);
    logger.info(secrets.METRICS_TOKEN);
  });
  expect(text).not.toMatch(/paid-key|pass\\"word|pass%22|a1a1a1|b2b2b2|c3c3c3|token-of/);
  for (const name of Object.keys(secrets)) expect(text).toContain(`[${name}]`);
});

it("leaves everything else, and every line is JSON", () => {
  const text = logged((logger) => logger.info({ jobId: "job_1", path: "/v1/jobs" }, "request"));
  expect(JSON.parse(text)).toMatchObject({ part: "api", jobId: "job_1", path: "/v1/jobs", msg: "request" });
});

it("shows a job's id as clients know it, in lines and in those of a child", () => {
  const jobId = "0x018f3b5c0a1b7c2d8e3f405162738495";
  const text = logged((logger) => {
    logger.info({ jobId }, "line");
    logger.child({ jobId }).info("line of a child");
    logger.info({ jobId: null }, "about no job");
  });
  const lines = text.trim().split("\n");
  const shown = "job_018f3b5c0a1b7c2d8e3f405162738495";
  expect(lines.map((line) => JSON.parse(line).jobId)).toEqual([shown, shown, undefined]);
});

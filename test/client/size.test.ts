import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { expect, it } from "vitest";

const MOST = 50_000;

it("is small: 50 kB compressed, without viem and what viem has anyway", async () => {
  const entry = fileURLToPath(new URL("../../client/index.ts", import.meta.url));
  const external = [/^node:/, /^viem/, /^@noble\//];
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: true,
      target: "es2023",
      lib: { entry, formats: ["es"] },
      rolldownOptions: { external },
    },
  });
  const chunks = [built].flat().flatMap((one) => ("output" in one ? one.output : []));
  const code = chunks.map((chunk) => (chunk.type === "chunk" ? chunk.code : "")).join("");
  expect(code).toContain("x-service-authorization");
  expect(gzipSync(code).length).toBeLessThan(MOST);
});

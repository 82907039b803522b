import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseDeployment } from "../../../../protocol/deployment.ts";
import type { Visitor } from "./visitor.ts";

/** What somebody needs who joins with a worker of their own. */
export function deployment(visitor: Visitor): void {
  describe("the deployment file", () => {
    it("is handed out to everyone, as workers read it", async () => {
      const response = await fetch(`${visitor.stack.info.app_url}/api/deployment.json`);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      const file = visitor.stack.deploymentFile;
      const own = parseDeployment(readFileSync(file, "utf8"), file);
      expect(parseDeployment(await response.text(), "deployment.json")).toEqual(own);
      expect(own.contracts.InferenceEscrow).toBe(visitor.stack.info.contracts.InferenceEscrow);
    });
  });
}

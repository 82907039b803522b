import { expect, it } from "vitest";
import { portsFromEnv } from "../../scripts/dev/ports.ts";

it("no usual port is one that Linux hands out to outgoing connections", () => {
  // net.ipv4.ip_local_port_range of a stock kernel begins there.
  for (const port of Object.values(portsFromEnv({}))) expect(port).toBeLessThan(32_768);
});

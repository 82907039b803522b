import { Hono } from "hono";

// Ponder wants an app; /ready, /health, /status and /metrics are its own. Clients read through the gateway, not here.
export default new Hono().get("/", (c) => c.text("The index of the protocol. See /ready, /status, /metrics.\n"));

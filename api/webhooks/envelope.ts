import { createHash, createHmac } from "node:crypto";
import { isoTime } from "../jobs/view.ts";
import { API_VERSION, type EventData, type EventName } from "./event-schemas.ts";

/**
 * Id of an event from what it is: the deployment, the key of its row in the index and its name. So it is the same after a
 * reorganisation, for an index built anew and in every gateway; one row can be two events (a settlement and `credit.low`).
 */
export function eventId(deployment: string, key: string, name: EventName): string {
  return `evt_${createHash("sha256").update(`${deployment}|${key}|${name}`).digest("hex").slice(0, 32)}`;
}

/** The same in SQL, for `${deployment}`, `${key}` and `${name}` as SQL expressions. */
export function eventIdSql(deployment: string, key: string, name: string): string {
  const digest = `sha256(convert_to(${deployment} || '|' || ${key} || '|' || ${name}, 'UTF8'))`;
  return `'evt_' || left(encode(${digest}, 'hex'), 32)`;
}

/** The body of an event's deliveries: written once, sent as it is. `blockTime` in Unix seconds. */
export function envelope<Name extends EventName>(
  id: string,
  name: Name,
  blockTime: number,
  data: EventData<Name>,
): string {
  return JSON.stringify({ id, event: name, created_at: isoTime(blockTime), api_version: API_VERSION, data });
}

/** Value of `Service-Signature` (specification, "Signature"). `timestamp` in Unix seconds. */
export function signatureHeader(secret: string, timestamp: number, body: string): string {
  const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return `t=${timestamp},v1=${mac}`;
}

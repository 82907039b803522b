/**
 * Loaded into every program the bootstrap starts. When the bootstrap disappears without a word (kill -9), its end of
 * the channel closes, and the program is told to stop as if by SIGTERM instead of running on as an orphan.
 */
import { isMainThread } from "node:worker_threads";

if (isMainThread && process.channel) {
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // The listener alone must not keep a finished program alive.
  process.channel.unref();
}

/** Something that the operator can set right; its message is all that the operator needs to see. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/** What the operator can correct; shown without a stack. Exit status 2. */
export class OperatorError extends Error {
  override name = "OperatorError";
}

/** What the bundle has in place of React (`vite.config.ts`): Preact, in a tenth of the bytes. Sources and types are React's. */
export * from "preact/compat";
export { default } from "preact/compat";

/** The router imports it for its loaders, which are not used here; Preact has none. */
export const useOptimistic = undefined;

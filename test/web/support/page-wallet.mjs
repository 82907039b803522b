/** Runs in every page before its own scripts: an EIP-1193 provider that asks test/web/support/wallet.ts, announced as of EIP-6963. */
const listeners = new Map();
const provider = {
  request: async (request) => {
    const reply = await window.__wallet(request);
    if ("thrown" in reply) throw reply.thrown;
    if ("error" in reply) throw Object.assign(new Error(reply.error.message), reply.error);
    return reply.result;
  },
  on: (event, listener) => listeners.set(event, (listeners.get(event) ?? new Set()).add(listener)),
  removeListener: (event, listener) => listeners.get(event)?.delete(listener),
};
window.__emit = (event, data) => {
  for (const listener of listeners.get(event) ?? []) listener(data);
};
const info = {
  uuid: "8d8b4f0e-93c1-4b53-9d0c-2f1d8a7c6e55",
  name: "Test Wallet",
  icon: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>",
  rdns: "test.wallet",
};
const announce = () => {
  const detail = Object.freeze({ info, provider });
  window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
};
/** `late`: when a test calls `__appear`. `silent`: it puts itself into the page as wallets did before EIP-6963, and tells nobody. */
const { late, silent } = window.__walletKind ?? { late: false, silent: false };
const appear = () => {
  if (silent) {
    window.ethereum = provider;
    return;
  }
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
};
if (late) window.__appear = appear;
else appear();

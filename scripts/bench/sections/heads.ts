/** The moments (`performance.now()`) at which the node announced its blocks. */
export type Heads = { find: (is: (at: number) => boolean) => number | undefined; stop: () => void };

/** Listens to the node's new blocks from now on. */
export async function watchHeads(wsUrl: string): Promise<Heads> {
  const socket = new WebSocket(wsUrl);
  const moments: number[] = [];
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("error", () => reject(new Error(`the node's WebSocket ${wsUrl} cannot be reached`)));
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] }));
    });
    socket.addEventListener("message", ({ data }) => {
      const at = performance.now();
      const { method } = JSON.parse(String(data)) as { method?: string };
      if (method === undefined) resolve();
      else moments.push(at);
    });
  });
  return { find: (is) => moments.find(is), stop: () => socket.close() };
}

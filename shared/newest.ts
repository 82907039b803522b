/** Entries that such a map keeps: of wallets, for example, of which anybody can make as many as they like. */
const MOST = 10_000;

/** Sets an entry of a map that keeps its newest entries: the one that was set longest ago is forgotten first. Maps iterate in the order of insertion. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST) map.delete(map.keys().next().value as K);
}

/** Sets an entry of a map that keeps its `most` newest entries. Maps iterate in the order of insertion, so the first one is the oldest. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value as K);
}

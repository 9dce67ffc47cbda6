/** The entries of an ABI as JSON: an array, or an object with one under `abi`; undefined for anything else. */
export function abiEntriesOf(json: unknown): unknown[] | undefined {
  const entries = typeof json === 'object' && json !== null && 'abi' in json ? json.abi : json;
  return Array.isArray(entries) ? entries : undefined;
}

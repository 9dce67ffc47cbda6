/** The id of a row as a caller wrote it, for a comparison with a `bigint`; `0`, which no row has, if it is no id. */
export function searchableId(text: string): string {
  return /^[1-9]\d{0,17}$/.test(text) ? text : '0';
}

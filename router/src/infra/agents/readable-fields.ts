const MAX_DEPTH = 4;
const MAX_ITEMS = 100;

/** JSON as lines for people, `gas used: 150000` for each field; fields of an object are indented, items of a list marked. */
export function readableFields(json: unknown): string[] {
  return fieldLines(json, 0);
}

function fieldLines(value: unknown, depth: number): string[] {
  if (value === undefined || value === null) return [];
  const indent = '  '.repeat(depth);
  if (typeof value !== 'object') return [`${indent}${scalarText(value)}`];
  if (depth >= MAX_DEPTH) return [`${indent}${JSON.stringify(value)}`];
  if (Array.isArray(value))
    return value.slice(0, MAX_ITEMS).flatMap((item) => bulleted(fieldLines(item, depth)));
  return Object.entries(value).flatMap(([key, item]) => {
    if (item === null || item === undefined) return [];
    const label = `${indent}${words(key)}:`;
    return typeof item === 'object'
      ? [label, ...fieldLines(item, depth + 1)]
      : [`${label} ${scalarText(item)}`];
  });
}

function bulleted([first, ...rest]: string[]): string[] {
  if (first === undefined) return [];
  return [first.replace(/^(\s*)/, '$1• '), ...rest.map((line) => `  ${line}`)];
}

function scalarText(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** `transactionHash` → `transaction hash`. */
function words(key: string): string {
  return key
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}

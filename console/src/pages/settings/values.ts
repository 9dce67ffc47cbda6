/** A value at a path of objects: `reply.maxChars` is `['reply', 'maxChars']`. */
export type Path = readonly string[];

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inside, key) => (isRecord(inside) ? inside[key] : undefined), value);
}

/** A copy with another value at the path; undefined removes it. */
export function withValue(value: unknown, [key, ...rest]: Path, next: unknown): unknown {
  if (key === undefined) return next;
  const record = isRecord(value) ? value : {};
  const { [key]: before, ...others } = record;
  const inside = withValue(before, rest, next);
  if (inside === undefined) return others;
  return Object.fromEntries([
    ...Object.entries(record).filter(([name]) => name !== key || before !== undefined),
    [key, inside],
  ]);
}

/** Without objects that have no value. */
export function withoutEmpty(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .map(([key, inside]) => [key, withoutEmpty(inside)] as const)
    .filter(([, inside]) => inside !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

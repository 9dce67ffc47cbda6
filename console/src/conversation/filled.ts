/** A text with its values: `{count} failed` with `{ count: 3 }` is `3 failed`. */
export function filled(text: string, values: Record<string, string | number> = {}): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

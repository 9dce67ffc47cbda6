import { z } from 'zod';

/** What responses show for a secret. A client that sends it back leaves the secret unchanged. */
export const MASK = '***';

/** A text in settings, found by the meta of its field. */
interface FoundText {
  /** Path within the settings: `['headers', 'Authorization']`. */
  path: string[];
  value: string;
}

type Format = 'password' | 'uri';

/** The texts in `settings` whose field has this format in the schema of its kind. */
export function textsOf(schema: z.ZodType, settings: unknown, format: Format): FoundText[] {
  const found: FoundText[] = [];
  mapTexts(schema, settings, format, ({ path, value }) => {
    found.push({ path, value });
    return value;
  });
  return found;
}

/**
 * A copy of the settings in which `change` has replaced each text of this format; `undefined` removes the field.
 * Settings that do not fit the schema are copied as they are where they differ.
 */
export function mapTexts(
  schema: z.ZodType,
  settings: unknown,
  format: Format,
  change: (text: FoundText) => string | undefined,
  path: string[] = [],
): unknown {
  const inner = unwrapped(schema);
  if (typeof settings === 'string' && isOf(inner, format)) return change({ path, value: settings });
  if (inner instanceof z.ZodUnion) {
    // Each option sees only what it can contain, so a value is changed once.
    return inner.options.reduce<unknown>(
      (value, option) => mapTexts(option as z.ZodType, value, format, change, path),
      settings,
    );
  }
  if (inner instanceof z.ZodArray && Array.isArray(settings)) {
    const items = settings.map((item, at) =>
      mapTexts(inner.element as z.ZodType, item, format, change, [...path, String(at)]),
    );
    return items.filter((item) => item !== undefined);
  }
  if (!isObject(settings)) return settings;
  const fieldOf = fieldsOf(inner);
  if (!fieldOf) return settings;
  const entries = Object.entries(settings).flatMap(([name, value]) => {
    const field = fieldOf(name);
    const mapped = field ? mapTexts(field, value, format, change, [...path, name]) : value;
    return mapped === undefined ? [] : [[name, mapped]];
  });
  return Object.fromEntries(entries);
}

function fieldsOf(schema: z.ZodType): ((name: string) => z.ZodType | undefined) | undefined {
  if (schema instanceof z.ZodObject) {
    const { shape } = schema;
    return (name) => (Object.hasOwn(shape, name) ? (shape[name] as z.ZodType) : undefined);
  }
  if (schema instanceof z.ZodRecord) return () => schema.valueType as z.ZodType;
  return undefined;
}

/** Without `optional`, `nullable` and `default` around it, unless it has a format itself. */
function unwrapped(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault) {
    inner = inner.unwrap() as z.ZodType;
  }
  return inner;
}

function isOf(schema: z.ZodType, format: Format): boolean {
  if (schema instanceof z.ZodUnion) return false;
  return schema.meta()?.format === format;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The parts of a JSON Schema that a form needs. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
  title?: string;
  description?: string;
  format?: string;
  enum?: readonly (string | number)[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: readonly JsonSchema[];
}

/** How a field of a form is entered. */
export type FieldKind =
  | 'text'
  | 'secret'
  | 'number'
  | 'boolean'
  | 'choice'
  | 'choices'
  | 'lines'
  | 'map'
  | 'record'
  | 'switch-or-text'
  | 'lines-or-text'
  | 'text-or-section'
  | 'section'
  | 'json';

/** The kind of field for a schema; `json` for what no other kind can show. */
export function fieldKindOf(schema: JsonSchema): FieldKind {
  const { type, items, anyOf, additionalProperties } = schema;
  if (anyOf) return kindOfUnion(anyOf);
  if (schema.enum) return 'choice';
  switch (type) {
    case 'string':
      return schema.format === 'password' ? 'secret' : 'text';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      if (items?.enum) return 'choices';
      return items?.type === 'string' ? 'lines' : 'json';
    case 'object': {
      if (schema.properties) return 'section';
      const entry = typeof additionalProperties === 'object' ? additionalProperties : {};
      return entry.properties ? 'record' : entry.type === 'string' ? 'map' : 'json';
    }
    default:
      return 'json';
  }
}

function kindOfUnion(schemas: readonly JsonSchema[]): FieldKind {
  const [first, second] = [...schemas].sort((one, other) =>
    String(one.type).localeCompare(String(other.type)),
  );
  switch (schemas.length === 2 && `${first?.type} ${second?.type}`) {
    case 'boolean string':
      return 'switch-or-text';
    case 'array string':
      return first?.items?.anyOf?.some(({ type }) => type === 'string') ? 'lines-or-text' : 'json';
    case 'object string':
      return first?.properties ? 'text-or-section' : 'json';
    default:
      return 'json';
  }
}

/** The name of a field in words: `appName` becomes `App name`. */
export function labelOf(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1).replace(/ (ms|mb|url)$/, (end) => ENDS[end] ?? end);
}

/** Amounts are entered with their unit. */
const ENDS: Record<string, string> = { ' ms': '', ' mb': '', ' url': ' URL' };

/** The hint with the longest end of the path as its name, or with the form and the name of the field. */
export function hintOf(
  hints: Readonly<Record<string, string>> | undefined,
  path: readonly string[],
): string | undefined {
  const ends = path.map((_, index) => path.slice(index).join('.'));
  const name = [...ends, `${path[0]}.${path.at(-1)}`].find((end) => hints?.[end] !== undefined);
  return name === undefined ? undefined : hints?.[name];
}

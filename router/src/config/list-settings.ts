import type { z } from 'zod';

/**
 * Where the value in force comes from: the environment of the process, a line of the file `.env`, a file that another
 * variable names, or the default.
 */
type SettingOrigin = 'environment' | 'env-file' | 'secret-file' | 'default';

/** A setting of the service. */
export interface Setting {
  /** Name of its variable. */
  name: string;
  /** Heading in docs/settings.md. */
  group: string;
  meaning: string;
  /** Values it takes, in words. */
  values?: string;
  /** As it would be written, or in words. Absent: none. */
  default?: string;
  /** As it is written. Absent: it is not set and has no default value, or it is a secret. */
  value?: string;
  isSecret: boolean;
  /** Whether it has a value that is not the default. */
  isSet: boolean;
  origin: SettingOrigin;
}

type Variables = Record<string, string | undefined>;

/**
 * Every setting with the value in force, in the order of the schema. Contains no secret.
 * @param fields the schema of each variable
 * @param written the variables that are set, trimmed
 * @param withSecrets the same with the secrets of files
 * @param fromFile names of the variables that only the file `.env` sets
 */
export function listSettings(
  fields: Record<string, z.ZodType>,
  written: Variables,
  withSecrets: Variables,
  fromFile: ReadonlySet<string>,
): Setting[] {
  return Object.entries(fields).map(([name, field]) => {
    const { group, description, values, shownDefault, secret } = metaOf(field);
    const defaultValue = prefaultOf(field);
    const shown = defaultValue ?? shownDefault?.replaceAll('`', '');
    const isSecret = secret === true;
    const value = withSecrets[name] ?? defaultValue;
    return {
      ...{ name, group: group ?? '', meaning: description ?? '' },
      ...(values !== undefined && { values: values.replaceAll('`', '') }),
      ...(shown !== undefined && { default: shown }),
      ...(value !== undefined && !isSecret && { value }),
      ...{ isSecret, isSet: withSecrets[name] !== undefined },
      origin: originOf(name, written, withSecrets, fromFile),
    };
  });
}

interface Meta {
  group?: string;
  description?: string;
  values?: string;
  shownDefault?: string;
  secret?: boolean;
}

/** Of a field and of what it wraps. */
function metaOf(field: z.ZodType): Meta {
  const { def } = field;
  const inner = 'innerType' in def ? metaOf(def.innerType as z.ZodType) : {};
  return { ...inner, ...field.meta() };
}

/** What an absent variable is read as. */
function prefaultOf(field: z.ZodType): string | undefined {
  const { def } = field;
  return 'defaultValue' in def && typeof def.defaultValue === 'string' ? def.defaultValue : undefined;
}

function originOf(
  name: string,
  written: Variables,
  withSecrets: Variables,
  fromFile: ReadonlySet<string>,
): SettingOrigin {
  if (written[name] === undefined) return withSecrets[name] === undefined ? 'default' : 'secret-file';
  return fromFile.has(name) ? 'env-file' : 'environment';
}

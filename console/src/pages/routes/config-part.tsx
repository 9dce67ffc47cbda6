import type { JsonSchema } from '../../schema-form/json-schema.ts';
import { isObject, withField } from './route-draft.ts';
import type { DraftProps } from './route-fields.tsx';
import { SchemaFields } from './schema-field.tsx';

/** What shows a part of the config gets: the schema of the fields that all agent kinds share. */
export type ConfigProps = DraftProps & { schema: JsonSchema };

/** Some fields of the config, or of a group in it such as `when`, in the order of their names. Those that it does not have are left out. */
export function ConfigPart(props: ConfigProps & { group?: string; names: readonly string[] }) {
  const { schema, group, names, draft, mistakes, onChange } = props;
  const { config } = draft;
  const all = group === undefined ? schema : (schema.properties?.[group] ?? {});
  const properties = Object.fromEntries(
    names.flatMap((name) => {
      const field = all.properties?.[name];
      return field ? [[name, field]] : [];
    }),
  );
  const change = (value: unknown) => {
    if (group === undefined) return onChange({ config: value as typeof config });
    const isSet = isObject(value) && Object.keys(value).length > 0;
    onChange({ config: withField(config, group, isSet ? value : undefined) });
  };
  return (
    <SchemaFields
      path={group === undefined ? 'config' : `config.${group}`}
      schema={{ ...all, properties }}
      value={group === undefined ? config : config[group]}
      mistakes={mistakes}
      onChange={change}
    />
  );
}

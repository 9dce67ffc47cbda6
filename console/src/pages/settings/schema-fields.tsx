import type { Problem } from '../../api/problem.ts';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import { fieldKindOf, type JsonSchema } from '../../schema-form/json-schema.ts';
import { RecordFields } from './record-fields.tsx';
import { SchemaField } from './schema-field.tsx';
import type { Path } from './values.ts';

export interface FieldsProps {
  /** Name of the form. */
  form: string;
  schema: JsonSchema;
  path: Path;
  /** Of the whole form. */
  values: Record<string, unknown>;
  inUse: Record<string, unknown>;
  /** What the service complains about. */
  details: Problem['details'];
  /** Undefined: the default applies again. */
  change(path: Path, next: unknown): void;
}

/** The fields of an object, by its schema. */
export function SchemaFields(props: FieldsProps) {
  const { label } = useFieldTexts();
  const parts = Object.entries(props.schema.properties ?? {});
  return (
    <div class="fields">
      {parts.map(([key, schema]) => {
        const inside = { ...props, schema, path: [...props.path, key] };
        const kind = fieldKindOf(schema);
        if (kind === 'record') return <RecordFields key={key} name={key} {...inside} />;
        if (kind !== 'section') {
          const isRequired = props.schema.required?.includes(key) ?? false;
          return <SchemaField key={key} name={key} isRequired={isRequired} {...inside} />;
        }
        return (
          <fieldset key={key} class="wide">
            <legend>{label(key)}</legend>
            <SchemaFields {...inside} />
          </fieldset>
        );
      })}
    </div>
  );
}

import { useState } from 'preact/hooks';
import { useTexts } from '../../app/language.ts';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import { fieldKindOf } from '../../schema-form/json-schema.ts';
import { useSectionTitle } from '../../schema-form/section-titles.ts';
import { MapField } from './map-field.tsx';
import { isObject, mistakeAt, withField } from './route-draft.ts';
import {
  BooleanField,
  ChoiceField,
  ChoiceOrText,
  ChoicesField,
  JsonField,
  LinesField,
  LinesOrTextField,
  NumberField,
  PlainField,
  type SchemaFieldProps,
  SecretField,
  SwitchOrTextField,
} from './schema-inputs.tsx';

/** The field, or the section of fields, for a schema. */
function SchemaField(props: SchemaFieldProps) {
  switch (fieldKindOf(props.schema)) {
    case 'section':
      return <Section {...props} />;
    case 'secret':
      return <SecretField {...props} />;
    case 'number':
      return <NumberField {...props} />;
    case 'boolean':
      return <BooleanField {...props} />;
    case 'choice':
      return <ChoiceField {...props} />;
    case 'choices':
      return <ChoicesField {...props} />;
    case 'lines':
      return <LinesField {...props} />;
    case 'map':
      return <MapField {...props} />;
    case 'switch-or-text':
      return <SwitchOrTextField {...props} />;
    case 'lines-or-text':
      return <LinesOrTextField {...props} />;
    case 'text-or-section':
      return <TextOrFields {...props} />;
    case 'json':
    case 'record':
      return <JsonField {...props} />;
    default:
      return <PlainField {...props} />;
  }
}

/** The fields of an object. */
export function SchemaFields(props: Omit<SchemaFieldProps, 'name' | 'isRequired'>) {
  const { path, schema, value, mistakes, onChange } = props;
  const values = isObject(value) ? value : {};
  return (
    <div class="fields">
      {Object.entries(schema.properties ?? {}).map(([name, field]) => (
        <SchemaField
          key={name}
          path={`${path}.${name}`}
          name={name}
          schema={field}
          value={values[name]}
          isRequired={schema.required?.includes(name) ?? false}
          mistakes={mistakes}
          onChange={(next) => onChange(withField(values, name, next))}
        />
      ))}
    </div>
  );
}

/** A text, the fields of an object, or the default. */
function TextOrFields(props: SchemaFieldProps) {
  const { path, schema, value, mistakes, onChange } = props;
  const text = useTexts('routes');
  const { label } = useFieldTexts();
  const fields = schema.anyOf?.find(({ properties }) => properties !== undefined);
  const isFields = isObject(value);
  return (
    <div class={isFields ? 'stack wide' : 'stack'}>
      <ChoiceOrText
        {...props}
        choice={isFields ? 'fields' : undefined}
        choices={[{ value: 'fields', label: label(fields?.title ?? 'fields') }]}
        textLabel={text.asText}
        onChoice={() => onChange({})}
      />
      {isFields && fields && (
        <SchemaFields path={path} schema={fields} value={value} mistakes={mistakes} onChange={onChange} />
      )}
    </div>
  );
}

function Section(props: SchemaFieldProps) {
  const { path, name, schema, value, mistakes, onChange } = props;
  const text = useTexts('routes');
  const hasMistake = mistakeAt(mistakes, path) !== undefined;
  const [isOpen, setOpen] = useState(false);
  const titleOf = useSectionTitle();
  const { hint } = useFieldTexts();
  const count = isObject(value) ? Object.keys(value).length : 0;
  const change = (next: unknown) =>
    onChange(isObject(next) && Object.keys(next).length > 0 ? next : undefined);
  return (
    <details
      class="section"
      open={isOpen || hasMistake}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        {titleOf(name)}
        {count > 0 && <span class="badge good">{text.set.replace('{count}', String(count))}</span>}
      </summary>
      {schema.description && <p class="hint">{hint(path.split('.'), schema)}</p>}
      {(isOpen || hasMistake) && (
        <SchemaFields path={path} schema={schema} value={value} mistakes={mistakes} onChange={change} />
      )}
    </details>
  );
}

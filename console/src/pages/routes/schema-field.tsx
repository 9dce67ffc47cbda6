import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { SelectField, TextArea, TextField } from '../../components/form.tsx';
import { fieldKindOf, type JsonSchema, labelOf } from './json-schema.ts';
import { isObject, MASK, mistakeAt, type mistakesOf, withField } from './route-draft.ts';
import { useText } from './texts.ts';

/** A value of the config with its schema. */
export interface SchemaFieldProps {
  /** Path in the route, such as `config.adk.appName`. */
  path: string;
  name: string;
  schema: JsonSchema;
  value: unknown;
  isRequired: boolean;
  /** It is a value of a map, which has its own button to remove it. */
  isEntry?: true;
  mistakes: ReturnType<typeof mistakesOf>;
  onChange: (value: unknown) => void;
}

/** The field, or the section of fields, for a schema. */
export function SchemaField(props: SchemaFieldProps) {
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
    case 'json':
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

function Section(props: SchemaFieldProps) {
  const { path, name, schema, value, mistakes, onChange } = props;
  const text = useText();
  const hasMistake = mistakeAt(mistakes, path) !== undefined;
  const [isOpen, setOpen] = useState(false);
  const titles: Record<string, string> = text.sections;
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
        {titles[name] ?? labelOf(name)}
        {count > 0 && <span class="badge good">{text.set.replace('{count}', String(count))}</span>}
      </summary>
      {schema.description && <p class="hint">{plain(schema.description)}</p>}
      {(isOpen || hasMistake) && (
        <SchemaFields path={path} schema={schema} value={value} mistakes={mistakes} onChange={change} />
      )}
    </details>
  );
}

function useCommon({ path, name, schema, isRequired, mistakes }: SchemaFieldProps) {
  const text = useText();
  const error = mistakeAt(mistakes, path);
  const label = labelOf(name);
  return {
    label: isRequired ? `${label} (${text.required})` : label,
    ...(schema.description && { hint: plain(schema.description) }),
    ...(error !== undefined && { error }),
  };
}

function PlainField(props: SchemaFieldProps) {
  const common = useCommon(props);
  const value = textOf(props.value);
  const onInput = (next: string) => props.onChange(next === '' ? undefined : next);
  const isLong = /text|system|notice/i.test(props.name) && !/context/i.test(props.name);
  if (isLong) return <TextArea {...common} rows={3} value={value} onInput={onInput} />;
  return <TextField {...common} value={value} onInput={onInput} />;
}

/** A stored secret is kept unless a person writes another one or removes it. */
function SecretField(props: SchemaFieldProps) {
  const text = useText();
  const common = useCommon(props);
  const [wasStored] = useState(props.value === MASK);
  const kept = wasStored ? MASK : undefined;
  return (
    <div class="secret">
      <TextField
        {...common}
        type="password"
        autocomplete="new-password"
        {...(props.value === MASK && { placeholder: text.kept })}
        value={props.value === MASK ? '' : textOf(props.value)}
        onInput={(next) => props.onChange(next === '' ? kept : next)}
      />
      {props.value === MASK && !props.isEntry && (
        <Button
          onClick={() => props.onChange(undefined)}
        >{`${text.removeSecret} ${labelOf(props.name)}`}</Button>
      )}
    </div>
  );
}

function NumberField(props: SchemaFieldProps) {
  const common = useCommon(props);
  const [shown, setShown] = useState(textOf(props.value));
  const change = (next: string) => {
    setShown(next);
    // What is no number goes to the service as it is, which says what is wrong.
    const number = Number(next);
    props.onChange(next.trim() === '' ? undefined : Number.isNaN(number) ? next : number);
  };
  return <TextField {...common} value={shown} onInput={change} />;
}

function BooleanField(props: SchemaFieldProps) {
  const text = useText();
  const common = useCommon(props);
  const value = props.value === undefined ? '' : String(props.value);
  return (
    <SelectField
      {...common}
      value={value}
      onInput={(next) => props.onChange(next === '' ? undefined : next === 'true')}
      options={[
        { value: '', label: text.byDefault },
        { value: 'true', label: text.yes },
        { value: 'false', label: text.no },
      ]}
    />
  );
}

function ChoiceField(props: SchemaFieldProps) {
  const text = useText();
  const common = useCommon(props);
  const choices = (props.schema.enum ?? []).map(String);
  const known = choices.map((value) => ({ value, label: value }));
  return (
    <SelectField
      {...common}
      value={textOf(props.value)}
      onInput={(next) => props.onChange(next === '' ? undefined : next)}
      options={[{ value: '', label: text.byDefault }, ...known]}
    />
  );
}

function ChoicesField(props: SchemaFieldProps) {
  const { label, hint, error } = useCommon(props);
  const chosen = Array.isArray(props.value) ? props.value.map(String) : [];
  const choices = (props.schema.items?.enum ?? []).map(String);
  const change = (choice: string, isChosen: boolean) => {
    const next = choices.filter((each) => (each === choice ? isChosen : chosen.includes(each)));
    props.onChange(next.length === 0 ? undefined : next);
  };
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      {choices.map((choice) => (
        <label key={choice}>
          <input
            type="checkbox"
            checked={chosen.includes(choice)}
            onInput={({ currentTarget }) => change(choice, currentTarget.checked)}
          />
          {choice}
        </label>
      ))}
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="field-error">{error}</p>}
    </fieldset>
  );
}

function LinesField(props: SchemaFieldProps) {
  const text = useText();
  const { hint, ...common } = useCommon(props);
  const [shown, setShown] = useState(Array.isArray(props.value) ? props.value.join('\n') : '');
  const change = (next: string) => {
    setShown(next);
    const lines = next.split('\n').filter((line) => line.trim() !== '');
    props.onChange(lines.length === 0 ? undefined : lines);
  };
  return (
    <TextArea
      {...common}
      hint={[hint, text.oneALine].filter(Boolean).join(' ')}
      rows={2}
      value={shown}
      onInput={change}
    />
  );
}

function MapField(props: SchemaFieldProps) {
  const text = useText();
  const { label, hint } = useCommon(props);
  const { path, mistakes, schema } = props;
  const [rows, setRows] = useState(() => rowsOf(props.value));
  const change = (next: MapRow[]) => {
    setRows(next);
    const named = next.filter(({ name }) => name !== '');
    const value = Object.fromEntries(named.map((row) => [row.name, row.value]));
    props.onChange(named.length === 0 ? undefined : value);
  };
  const replace = (row: MapRow) => change(rows.map((each) => (each.id === row.id ? row : each)));
  const add = () =>
    setRows([...rows, { id: Math.max(0, ...rows.map(({ id }) => id)) + 1, name: '', value: '' }]);
  const own = mistakes.find((each) => each.field === path)?.message;
  return (
    <fieldset class="map">
      <legend>{label}</legend>
      {hint && <p class="hint">{hint}</p>}
      {rows.map((row, index) => (
        <div class="map-row" key={row.id}>
          <TextField
            label={`${text.entryName} ${index + 1}`}
            value={row.name}
            onInput={(name) => replace({ ...row, name })}
          />
          <SchemaField
            path={`${path}.${row.name}`}
            name={`${text.entryValue} ${index + 1}`}
            schema={{ ...(schema.additionalProperties as JsonSchema), description: '' }}
            value={row.value}
            isRequired={false}
            isEntry
            mistakes={mistakes}
            onChange={(value) => replace({ ...row, value: value ?? '' })}
          />
          <Button
            icon="close"
            label={`${text.removeEntry} ${row.name || index + 1}`}
            onClick={() => change(rows.filter(({ id }) => id !== row.id))}
          />
        </div>
      ))}
      {own && <p class="field-error">{own}</p>}
      <Button icon="plus" onClick={add}>{`${text.addEntry}: ${label}`}</Button>
    </fieldset>
  );
}

interface MapRow {
  id: number;
  name: string;
  value: unknown;
}

function rowsOf(value: unknown): MapRow[] {
  return Object.entries(isObject(value) ? value : {}).map(([name, each], id) => ({ id, name, value: each }));
}

function SwitchOrTextField(props: SchemaFieldProps) {
  const text = useText();
  const common = useCommon(props);
  const { value } = props;
  const choice = value === undefined ? '' : typeof value === 'string' ? 'text' : String(value);
  const choose = (next: string) =>
    props.onChange(next === '' ? undefined : next === 'text' ? '' : next === 'true');
  return (
    <div class="stack">
      <SelectField
        {...common}
        value={choice}
        onInput={choose}
        options={[
          { value: '', label: text.byDefault },
          { value: 'true', label: text.yes },
          { value: 'false', label: text.no },
          { value: 'text', label: text.ownText },
        ]}
      />
      {choice === 'text' && (
        <TextArea
          label={`${labelOf(props.name)}: ${text.ownText}`}
          rows={2}
          value={textOf(value)}
          onInput={props.onChange}
        />
      )}
    </div>
  );
}

/** JSON, or a text where the value is no JSON: the service says what it takes. */
function JsonField(props: SchemaFieldProps) {
  const text = useText();
  const { hint, ...common } = useCommon(props);
  const { value } = props;
  const [shown, setShown] = useState(
    value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  );
  const change = (next: string) => {
    setShown(next);
    props.onChange(next.trim() === '' ? undefined : (parsed(next) ?? next));
  };
  return (
    <TextArea
      {...common}
      isCode
      rows={3}
      hint={[hint, text.asJson].filter(Boolean).join(' ')}
      value={shown}
      onInput={change}
    />
  );
}

/** The value of a JSON text; undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  return value === undefined || value === null
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
}

/** Descriptions mark code with backticks. */
function plain(description: string): string {
  return description.replaceAll('`', '');
}

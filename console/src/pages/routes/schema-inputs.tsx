import { useState } from 'preact/hooks';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { SelectField, TextArea, TextField } from '../../components/form.tsx';
import { AmountField } from '../../schema-form/amount-field.tsx';
import { amountsOf } from '../../schema-form/amounts.ts';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import type { JsonSchema } from '../../schema-form/json-schema.ts';
import { MASK, mistakeAt, type mistakesOf } from './route-draft.ts';

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

/** Label, hint and mistake of a field. */
export function useCommon({ path, name, schema, isRequired, mistakes }: SchemaFieldProps) {
  const text = useTexts('routes');
  const error = mistakeAt(mistakes, path);
  const texts = useFieldTexts();
  const label = texts.label(name, path.split('.'));
  const hint = texts.hint(path.split('.'), schema);
  return {
    label: isRequired ? `${label} (${text.required})` : label,
    ...(hint !== undefined && { hint }),
    ...(error !== undefined && { error }),
  };
}

/** A text. */
export function PlainField(props: SchemaFieldProps) {
  const common = useCommon(props);
  const value = textOf(props.value);
  const onInput = (next: string) => props.onChange(next === '' ? undefined : next);
  const isLong = /text|system|notice/i.test(props.name) && !/context/i.test(props.name);
  if (isLong) return <TextArea {...common} rows={3} value={value} onInput={onInput} />;
  return <TextField {...common} value={value} onInput={onInput} />;
}

/** A stored secret is kept unless a person writes another one or removes it. */
export function SecretField(props: SchemaFieldProps) {
  const text = useTexts('routes');
  const { label } = useFieldTexts();
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
        >{`${text.removeSecret} ${label(props.name)}`}</Button>
      )}
    </div>
  );
}

/** A number; times and sizes with their unit. */
export function NumberField(props: SchemaFieldProps) {
  const common = useCommon(props);
  const [shown, setShown] = useState(textOf(props.value));
  const amounts = amountsOf(props.name);
  if (amounts) return <AmountField {...common} amounts={amounts} value={props.value} set={props.onChange} />;
  const change = (next: string) => {
    setShown(next);
    // What is not a number goes to the service as it is, which says what is wrong.
    const number = Number(next);
    props.onChange(next.trim() === '' ? undefined : Number.isNaN(number) ? next : number);
  };
  return <TextField {...common} value={shown} onInput={change} />;
}

/** Yes, no, or the default. */
export function BooleanField(props: SchemaFieldProps) {
  const text = useTexts('routes');
  const common = useCommon(props);
  const value = props.value === undefined ? '' : String(props.value);
  return (
    <SelectField
      {...common}
      value={value}
      onInput={(next) => props.onChange(next === '' ? undefined : next === 'true')}
      options={[
        { value: '', label: props.path.startsWith('config.when.') ? text.any : text.byDefault },
        { value: 'true', label: text.yes },
        { value: 'false', label: text.no },
      ]}
    />
  );
}

/** One of several values, or the default. */
export function ChoiceField(props: SchemaFieldProps) {
  const text = useTexts('routes');
  const common = useCommon(props);
  const texts = useFieldTexts();
  const choices = (props.schema.enum ?? []).map(String);
  const known = choices.map((value) => ({ value, label: texts.value(value) }));
  return (
    <SelectField
      {...common}
      value={textOf(props.value)}
      onInput={(next) => props.onChange(next === '' ? undefined : next)}
      options={[{ value: '', label: text.byDefault }, ...known]}
    />
  );
}

/** Some of several values. */
export function ChoicesField(props: SchemaFieldProps) {
  const { label, hint, error } = useCommon(props);
  const texts = useFieldTexts();
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
          {texts.value(choice)}
        </label>
      ))}
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="field-error">{error}</p>}
    </fieldset>
  );
}

/** A list of texts. */
export function LinesField(props: SchemaFieldProps) {
  const text = useTexts('routes');
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

/** Yes, no, a text, or the default. */
export function SwitchOrTextField(props: SchemaFieldProps) {
  const text = useTexts('routes');
  const { value, onChange } = props;
  return (
    <ChoiceOrText
      {...props}
      choice={value === undefined || typeof value === 'string' ? undefined : String(value)}
      choices={[
        { value: 'true', label: text.yes },
        { value: 'false', label: text.no },
      ]}
      textLabel={text.ownText}
      onChoice={(choice) => onChange(choice === 'true')}
    />
  );
}

/** The default, one of some choices, or a text, which gets an area. */
export function ChoiceOrText({
  choice,
  choices,
  textLabel,
  onChoice,
  ...props
}: SchemaFieldProps & {
  /** The choice that the value is; undefined: the default or a text. */
  choice: string | undefined;
  choices: ReadonlyArray<{ value: string; label: string }>;
  textLabel: string;
  onChoice: (choice: string) => void;
}) {
  const text = useTexts('routes');
  const common = useCommon(props);
  const { value, onChange } = props;
  const chosen = choice ?? (value === undefined ? '' : 'text');
  const choose = (next: string) => {
    if (next === '') onChange(undefined);
    else if (next === 'text') onChange('');
    else onChoice(next);
  };
  const options = [{ value: '', label: text.byDefault }, ...choices, { value: 'text', label: textLabel }];
  return (
    <div class="stack">
      <SelectField {...common} value={chosen} onInput={choose} options={options} />
      {chosen === 'text' && (
        <TextArea label={`${common.label}: ${textLabel}`} rows={2} value={textOf(value)} onInput={onChange} />
      )}
    </div>
  );
}

/** A list with one text per line, an address, or JSON for what no line can say. */
export function LinesOrTextField(props: SchemaFieldProps) {
  const { linesOrJson } = useTexts('routes');
  return <CodeField {...props} moreHint={linesOrJson} shown={linesOf(props.value)} otherwise={linesOrUrl} />;
}

function linesOf(value: unknown): string {
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === 'string');
  return isTexts ? value.join('\n') : jsonOf(value);
}

/** One line that begins as a URL is a URL; everything else is a list. */
function linesOrUrl(text: string): string | string[] {
  const lines = text.split('\n').flatMap((line) => line.trim() || []);
  const [first = '', ...others] = lines;
  return others.length === 0 && /^https?:/i.test(first) ? first : lines;
}

/** JSON, or a text where the value is not JSON: the service says what it takes. */
export function JsonField(props: SchemaFieldProps) {
  const { asJson } = useTexts('routes');
  return <CodeField {...props} moreHint={asJson} shown={jsonOf(props.value)} otherwise={(text) => text} />;
}

function jsonOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** An area for JSON, or for what `otherwise` makes of a text that is no JSON. */
function CodeField({
  moreHint,
  shown: first,
  otherwise,
  ...props
}: SchemaFieldProps & { moreHint: string; shown: string; otherwise: (text: string) => unknown }) {
  const { hint, ...common } = useCommon(props);
  const [shown, setShown] = useState(first);
  const change = (next: string) => {
    setShown(next);
    props.onChange(next.trim() === '' ? undefined : (parsed(next) ?? otherwise(next)));
  };
  return (
    <TextArea
      {...common}
      isCode
      rows={3}
      hint={[hint, moreHint].filter(Boolean).join(' ')}
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

import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { CheckField, SelectField, TextArea, TextField } from '../../components/form.tsx';
import { AmountField } from '../../schema-form/amount-field.tsx';
import { amountsOf } from '../../schema-form/amounts.ts';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import { fieldKindOf, type JsonSchema } from '../../schema-form/json-schema.ts';
import type { FieldsProps } from './schema-fields.tsx';
import { valueAt } from './values.ts';

interface FieldProps {
  name: string;
  label: string;
  hint?: string;
  error?: string;
  schema: JsonSchema;
  value: unknown;
  /** What applies without an own value. */
  fallback: unknown;
  set(next: unknown): void;
}

/** One value, edited by its schema. An empty field means the default. */
export function SchemaField(props: FieldsProps & { name: string; isRequired: boolean }) {
  const { form, name, schema, path, values, inUse, details, change, isRequired } = props;
  const value = valueAt(values, path);
  const texts = useFieldTexts();
  const text = useTexts('settings');
  const shownDefault = texts.value(wordsOf(valueAt(inUse, path)));
  const hint = withoutDefault(texts.hint([form, ...path], schema), text.defaultIs(''), shownDefault);
  const at = path.join('.');
  const error = details.find(({ field }) => field === at || field.startsWith(`${at}.`))?.message;
  const field: FieldProps = {
    name,
    label: texts.label(name, path),
    ...(hint && { hint }),
    ...(error && { error }),
    schema,
    value,
    fallback: value === undefined ? valueAt(inUse, path) : undefined,
    set: (next) => change(path, next),
  };
  return (
    <div class={value === undefined || isRequired ? 'setting' : 'setting own'} data-setting={at}>
      <Editor {...field} isRoute={/routeId$/i.test(name)} isRequired={isRequired} />
    </div>
  );
}

/** The form shows the value that applies: a last sentence that says the same adds nothing. */
function withoutDefault(hint: string | undefined, defaultIs: string, shownDefault: string) {
  const at = hint?.lastIndexOf(defaultIs) ?? -1;
  if (at < 0) return hint;
  const said = hint?.slice(at + defaultIs.length, -1) ?? '';
  return said === shownDefault || !said.includes(' ') ? hint?.slice(0, at).trim() || undefined : hint;
}

function Editor({ isRequired, isRoute, ...field }: FieldProps & { isRequired: boolean; isRoute: boolean }) {
  const text = useTexts('settings');
  const { schema, value, set } = field;
  const kind = fieldKindOf(schema);
  if (kind === 'boolean' && isRequired)
    return <CheckField {...shown(field)} value={value === true} onInput={set} />;
  if (kind === 'choice' || kind === 'boolean') return <Choice {...field} />;
  if (kind === 'switch-or-text') return <SwitchOrText {...field} />;
  if (kind === 'choices') return <Choices {...field} />;
  if (kind === 'lines') return <Lines {...field} />;
  if (kind === 'json' || kind === 'map') return <Json {...field} />;
  if (isRoute) return <RouteChoice {...field} />;
  const isNumber = kind === 'number';
  const amounts = isNumber ? amountsOf(field.name) : undefined;
  const written =
    amounts && typeof field.fallback === 'number' ? amounts.written(field.fallback) : wordsOf(field.fallback);
  const placeholder = written === '' ? '' : text.defaultIs(written);
  if (amounts) return <AmountField {...shown(field)} {...{ amounts, value, placeholder, set }} />;
  return (
    <TextField
      {...shown(field)}
      type={isNumber ? 'number' : 'text'}
      value={value === undefined ? '' : String(value)}
      placeholder={placeholder}
      onInput={(typed) => set(typed === '' ? undefined : isNumber ? Number(typed) : typed)}
    />
  );
}

function Choice(field: FieldProps) {
  const { schema, value, fallback, set } = field;
  const text = useTexts('settings');
  const texts = useFieldTexts();
  const words = (each: unknown) =>
    each === true ? text.yes : each === false ? text.no : texts.value(wordsOf(each));
  const values = schema.enum ?? [true, false];
  return (
    <SelectField
      {...shown(field)}
      value={value === undefined ? '' : String(value)}
      onInput={(chosen) => set(values.find((each) => String(each) === chosen))}
      options={[
        { value: '', label: fallback === undefined ? text.noValue : text.defaultIs(words(fallback)) },
        ...values.map((each) => ({ value: String(each), label: words(each) })),
      ]}
    />
  );
}

function SwitchOrText(field: FieldProps) {
  const { label, value, fallback, set } = field;
  const text = useTexts('settings');
  const words = (each: unknown) => (each === true ? text.yes : each === false ? text.no : wordsOf(each));
  const chosen = typeof value === 'string' ? 'text' : value === undefined ? '' : String(value);
  return (
    <div class="stack">
      <SelectField
        {...shown(field)}
        value={chosen}
        onInput={(next) => set({ '': undefined, text: '', true: true, false: false }[next])}
        options={[
          { value: '', label: fallback === undefined ? text.noValue : text.defaultIs(words(fallback)) },
          { value: 'true', label: text.yes },
          { value: 'false', label: text.no },
          { value: 'text', label: text.ownText },
        ]}
      />
      {typeof value === 'string' && (
        <TextArea label={text.text(label)} value={value} rows={2} onInput={set} />
      )}
    </div>
  );
}

function Choices(field: FieldProps) {
  const { label, hint, error, schema, value, set } = field;
  const chosen = Array.isArray(value) ? (value as string[]) : [];
  const texts = useFieldTexts();
  const all = (schema.items?.enum ?? []).map(String);
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      {hint && <p class="hint">{hint}</p>}
      {all.map((each) => (
        <CheckField
          key={each}
          label={texts.value(each)}
          value={chosen.includes(each)}
          onInput={(isOn) => {
            const next = all.filter((other) => (other === each ? isOn : chosen.includes(other)));
            set(next.length === 0 ? undefined : next);
          }}
        />
      ))}
      {error && <p class="field-error">{error}</p>}
    </fieldset>
  );
}

function Lines(field: FieldProps) {
  const { value, set } = field;
  const text = useTexts('settings');
  const [typed, setTyped] = useState<string>();
  const stored = Array.isArray(value) ? value.join('\n') : '';
  const isSame = typed !== undefined && linesOf(typed).join('\n') === stored;
  return (
    <TextArea
      {...shown(field)}
      hint={`${field.hint ?? ''} ${text.perLine}`.trim()}
      rows={3}
      value={isSame ? typed : stored}
      onInput={(next) => {
        setTyped(next);
        const lines = linesOf(next);
        set(lines.length === 0 ? undefined : lines);
      }}
    />
  );
}

function linesOf(typed: string): string[] {
  return typed
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

function Json(field: FieldProps) {
  const { value, set } = field;
  const text = useTexts('settings');
  const [typed, setTyped] = useState<string>();
  const isWrong = typed !== undefined && typed.trim() !== '' && parsed(typed) === undefined;
  return (
    <TextArea
      {...shown(field)}
      hint={`${field.hint ?? ''} ${text.asJson}`.trim()}
      {...(isWrong && { error: text.notJson })}
      isCode
      value={isWrong ? typed : value === undefined ? '' : JSON.stringify(value, null, 2)}
      onInput={(next) => {
        setTyped(next);
        if (next.trim() === '') set(undefined);
        else if (parsed(next) !== undefined) set(parsed(next));
      }}
    />
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function RouteChoice(field: FieldProps) {
  const { value, set } = field;
  const text = useTexts('settings');
  const routes = useQuery('GET /api/routes', { query: { limit: 500 } }, ['route']).data?.data ?? [];
  return (
    <SelectField
      {...shown(field)}
      value={typeof value === 'string' ? value : ''}
      onInput={(chosen) => set(chosen === '' ? undefined : chosen)}
      options={[
        { value: '', label: text.noRoute },
        ...routes.map(({ id, name, channelId }) => ({ value: id, label: name ?? `${channelId} (${id})` })),
      ]}
    />
  );
}

function shown({ label, hint, error }: FieldProps): Pick<FieldProps, 'label' | 'hint' | 'error'> {
  return { label, ...(hint && { hint }), ...(error && { error }) };
}

function wordsOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

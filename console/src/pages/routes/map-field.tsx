import { useState } from 'preact/hooks';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/form.tsx';
import { fieldKindOf, type JsonSchema } from '../../schema-form/json-schema.ts';
import { isObject } from './route-draft.ts';
import { PlainField, type SchemaFieldProps, SecretField, useCommon } from './schema-inputs.tsx';

/** Names with their texts, such as headers. */
export function MapField(props: SchemaFieldProps) {
  const text = useTexts('routes');
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
  const entry = schema.additionalProperties as JsonSchema;
  const Entry = fieldKindOf(entry) === 'secret' ? SecretField : PlainField;
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
          <Entry
            path={`${path}.${row.name}`}
            name={`${text.entryValue} ${index + 1}`}
            schema={{ ...entry, description: '' }}
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

import { useState } from 'preact/hooks';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/form.tsx';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import { type FieldsProps, SchemaFields } from './schema-fields.tsx';
import { isRecord, valueAt } from './values.ts';

/** Objects of one schema by name, such as the settings of single accounts. */
export function RecordFields(props: FieldsProps & { name: string }) {
  const { form, name, schema, path, values, change } = props;
  const text = useTexts('settings');
  const { label, hint } = useFieldTexts();
  const [added, setAdded] = useState<string[]>([]);
  const [wanted, setWanted] = useState('');
  const stored = valueAt(values, path);
  const names = [...new Set([...Object.keys(isRecord(stored) ? stored : {}), ...added])];
  const inside = schema.additionalProperties;
  if (typeof inside !== 'object') return null;
  return (
    <fieldset class="wide">
      <legend>{label(name)}</legend>
      <p class="faint">{hint([form, ...path], schema)}</p>
      {names.map((each) => (
        <fieldset key={each} class="entry">
          <legend>{each}</legend>
          <SchemaFields {...props} schema={inside} path={[...path, each]} inUse={{}} />
          <Button
            kind="danger"
            label={`${text.remove}: ${each}`}
            onClick={() => {
              setAdded(added.filter((other) => other !== each));
              change([...path, each], undefined);
            }}
          >
            {text.remove}
          </Button>
        </fieldset>
      ))}
      <div class="add-entry">
        <TextField
          label={text.addEntry(label(name).toLowerCase())}
          hint={text.entryName}
          value={wanted}
          onInput={setWanted}
        />
        <Button
          icon="plus"
          isDisabled={wanted.trim() === ''}
          onClick={() => {
            setAdded([...added, wanted.trim()]);
            setWanted('');
          }}
        >
          {text.add}
        </Button>
      </div>
    </fieldset>
  );
}

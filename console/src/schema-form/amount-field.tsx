import { useState } from 'preact/hooks';
import { useTexts } from '../app/language.ts';
import { TextField } from '../components/form.tsx';
import type { Amounts } from './amounts.ts';

/** A time or a size, written with its unit, such as `30s`. What is not one goes to the service as it is, which refuses it. */
export function AmountField(props: {
  label: string;
  hint?: string;
  error?: string;
  amounts: Amounts;
  value: unknown;
  placeholder?: string;
  set(next: number | string | undefined): void;
}) {
  const { amounts, value, set, ...field } = props;
  const text = useTexts('form');
  const [typed, setTyped] = useState<string>();
  const readAs = (written: string) =>
    written.trim() === '' ? undefined : (amounts.read(written) ?? written);
  const written = typeof value === 'number' ? amounts.written(value) : typeof value === 'string' ? value : '';
  const error = typeof value === 'string' ? text.amount(amounts.units.join(', ')) : field.error;
  return (
    <TextField
      {...field}
      {...(error && { error })}
      value={typed !== undefined && readAs(typed) === value ? typed : written}
      onInput={(next) => {
        setTyped(next);
        set(readAs(next));
      }}
    />
  );
}

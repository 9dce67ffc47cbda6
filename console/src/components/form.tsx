import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { Problem } from '../api/problem.ts';
import { useUnsaved } from '../app/location.ts';

interface FieldProps {
  label: string;
  hint?: string;
  /** What is wrong with the value. */
  error?: string;
}

function Field(props: FieldProps & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={props.id}>{props.label}</label>
      {props.children}
      {props.hint && (
        <p class="hint" id={`${props.id}-hint`}>
          {props.hint}
        </p>
      )}
      {props.error && (
        <p class="field-error" id={`${props.id}-error`}>
          {props.error}
        </p>
      )}
    </div>
  );
}

function describedBy(id: string, { hint, error }: FieldProps): Record<string, string | boolean | undefined> {
  const ids = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return { 'aria-describedby': ids || undefined, 'aria-invalid': error ? true : undefined };
}

/** One line of text. */
export function TextField(
  props: FieldProps & {
    value: string;
    onInput: (value: string) => void;
    type?: 'text' | 'number' | 'password' | 'url' | 'tel' | 'search' | 'datetime-local';
    placeholder?: string;
    isRequired?: boolean;
    autocomplete?: 'off' | 'current-password' | 'new-password' | 'username';
    /** What Enter does, instead of sending the form around the field. */
    onEnter?: () => void;
    /** It gets the focus when it appears. */
    takesFocus?: boolean;
  },
) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (props.takesFocus) input.current?.focus();
  }, []);
  return (
    <Field {...props} id={id}>
      <input
        ref={input}
        id={id}
        {...inputType(props.type)}
        value={props.value}
        placeholder={props.placeholder}
        required={props.isRequired}
        autocomplete={props.autocomplete ?? 'off'}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !props.onEnter) return;
          event.preventDefault();
          props.onEnter();
        }}
        onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
        {...describedBy(id, props)}
      />
    </Field>
  );
}

/** Preact's types want a literal. */
function inputType(type = 'text'): { type: 'text' } {
  return { type: type as 'text' };
}

/** Several lines of text. */
export function TextArea(
  props: FieldProps & { value: string; onInput: (value: string) => void; rows?: number; isCode?: boolean },
) {
  const id = useId();
  return (
    <Field {...props} id={id}>
      <textarea
        id={id}
        class={props.isCode ? 'code' : undefined}
        rows={props.rows ?? 4}
        spellcheck={!props.isCode}
        value={props.value}
        onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
        {...describedBy(id, props)}
      />
    </Field>
  );
}

/** One of several values. */
export function SelectField(
  props: FieldProps & {
    value: string;
    onInput: (value: string) => void;
    options: ReadonlyArray<{ value: string; label: string }>;
  },
) {
  const id = useId();
  return (
    <Field {...props} id={id}>
      <select
        id={id}
        value={props.value}
        onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
        {...describedBy(id, props)}
      >
        {props.options.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** Yes or no. */
export function CheckField(props: FieldProps & { value: boolean; onInput: (value: boolean) => void }) {
  const id = useId();
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={props.value}
        onInput={({ currentTarget }) => props.onInput(currentTarget.checked)}
        {...describedBy(id, props)}
      />
      <div>
        <label for={id}>{props.label}</label>
        {props.hint && (
          <p class="hint" id={`${id}-hint`}>
            {props.hint}
          </p>
        )}
      </div>
    </div>
  );
}

/** A form: Enter sends it; the service's complaint stands above its buttons. */
export function Form(props: {
  onSubmit: () => void;
  problem?: Problem;
  /** Whether it has something that would be lost. Default: what a person wrote since the form was sent without a problem. */
  isUnsaved?: () => boolean;
  /** What people call a field of the API: mistakes then name it instead of the field. */
  nameOf?: (field: string) => string;
  actions: ComponentChildren;
  children: ComponentChildren;
}) {
  const isWritten = useRef(false);
  useUnsaved(props.isUnsaved ?? (() => isWritten.current));
  useEffect(() => {
    if (props.problem) isWritten.current = true;
  }, [props.problem]);
  return (
    <form
      class="form"
      onInput={() => {
        isWritten.current = true;
      }}
      onSubmit={(event) => {
        event.preventDefault();
        isWritten.current = false;
        props.onSubmit();
      }}
    >
      {props.children}
      {props.problem && (
        <div class="notice bad" role="alert">
          {(!props.nameOf || props.problem.details.length === 0) && <p>{props.problem.message}</p>}
          {props.problem.details.map(({ field, message }) => (
            <p key={field + message}>
              {props.nameOf ? <strong>{props.nameOf(field)}</strong> : <code>{field}</code>} {message}
            </p>
          ))}
        </div>
      )}
      <div class="actions end">{props.actions}</div>
    </form>
  );
}

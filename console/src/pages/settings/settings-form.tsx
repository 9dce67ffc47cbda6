import { useEffect, useState } from 'preact/hooks';
import { callAny, etagOf } from '../../api/call.ts';
import { onLiveEvent } from '../../api/live.ts';
import { type Problem, problemOf } from '../../api/problem.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { useUnsaved } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Card } from '../../components/page.tsx';
import { ErrorState, Loading } from '../../components/states.tsx';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import { fieldKindOf, type JsonSchema } from '../../schema-form/json-schema.ts';
import { useSectionTitle } from '../../schema-form/section-titles.ts';
import { type FormName, RARE } from './forms.ts';
import { schemaOf } from './schema.ts';
import { SchemaFields } from './schema-fields.tsx';
import { isRecord, withoutEmpty, withValue } from './values.ts';

interface Known {
  schema: JsonSchema;
  /** What is stored: absent values are the defaults. */
  stored: Record<string, unknown>;
  /** What applies, with the defaults. */
  inUse: Record<string, unknown>;
  etag: string | undefined;
}

/** Shows and changes the settings under `/api/settings/NAME` by the schema of its body. */
export function SettingsForm({ name }: { name: FormName }) {
  const text = useTexts('settings');
  const titleOf = useSectionTitle();
  const { hint } = useFieldTexts();
  const [known, setKnown] = useState<Known>();
  const [problem, setProblem] = useState<Problem>();
  const [draft, setDraft] = useState<Record<string, unknown>>();
  // Of the settings that the draft began with.
  const [first, setFirst] = useState<string>();
  const [isAsked, setAsked] = useState(false);
  useUnsaved(() => draft !== undefined);
  const load = async () => {
    try {
      const [schema, answer] = await Promise.all([
        schemaOf(name),
        callAny(`GET /api/settings/${name}`) as Promise<{ data: Record<string, unknown> }>,
      ]);
      setKnown({ ...knownOf(schema, answer.data), etag: etagOf(answer) });
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  useEffect(() => {
    void load();
    return onLiveEvent(({ type }) => {
      if (type === 'setting' || type === 'reset') void load();
    });
  }, []);
  const store = useAction(async (body: unknown, ifMatch: string | undefined) => {
    try {
      await callAny(`PUT /api/settings/${name}`, { body: body as never, ifMatch });
    } finally {
      await load();
    }
    setDraft(undefined);
  }, text.saved);

  if (!known) return problem ? <ErrorState problem={problem} retry={() => void load()} /> : <Loading />;
  const { schema, stored, inUse, etag } = known;
  const isOutdated = draft !== undefined && first !== etag && !store.isRunning;
  const values = draft ?? stored;
  const required = schema.required ?? [];
  const change = (path: readonly string[], next: unknown) => {
    if (!draft) setFirst(etag);
    setDraft(withValue(values, path, next) as Record<string, unknown>);
  };
  const save = (ifMatch: string | undefined) => void store.run(withoutEmpty(values) ?? {}, ifMatch);
  const details = store.problem?.details ?? [];
  const sections = sectionsOf(schema, { general: text.general, titleOf, rare: RARE[name] ?? [] });
  const rare = sections.filter(({ isRare }) => isRare);
  const rareFields = rare.flatMap(({ key, section }) =>
    key === undefined ? Object.keys(section.properties ?? {}) : [key],
  );
  const used = [...Object.keys(stored), ...details.map(({ field }) => field.split('.')[0] ?? '')];
  const shown = ({ key, title, section }: Section) => (
    <Card
      key={title}
      title={title}
      actions={
        key !== undefined &&
        !required.includes(key) &&
        withoutEmpty(values[key]) !== undefined && (
          <Button label={`${text.reset}: ${title}`} onClick={() => change([key], undefined)}>
            {text.reset}
          </Button>
        )
      }
    >
      {key !== undefined && <p class="faint section-hint">{hint([name, key], schema.properties?.[key])}</p>}
      <SchemaFields
        form={name}
        schema={section}
        path={key === undefined ? [] : [key]}
        values={values}
        inUse={inUse}
        details={details}
        change={change}
      />
    </Card>
  );
  return (
    <form
      class="settings-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save(first);
      }}
    >
      {sections.filter(({ isRare }) => !isRare).map(shown)}
      {rare.length > 0 && (
        <details class="card" open={used.some((each) => rareFields.includes(each))}>
          <summary>
            <h2>{text.advanced}</h2>
            <p class="faint">{rare.map(({ title }) => title).join(' · ')}</p>
          </summary>
          <div class="stack">{rare.map(shown)}</div>
        </details>
      )}
      <footer class="save-bar">
        <p role="status">{isOutdated ? text.changedMeanwhile : draft ? text.changed : ''}</p>
        {store.problem && (
          <p class="field-error" role="alert">
            {store.problem.message}
          </p>
        )}
        <div class="actions">
          {required.length === 0 && (
            <Button onClick={() => setAsked(true)} isDisabled={withoutEmpty(stored) === undefined}>
              {text.resetAll}
            </Button>
          )}
          {isOutdated && <Button onClick={() => save(etag)}>{text.saveAnyway}</Button>}
          <Button onClick={() => setDraft(undefined)} isDisabled={!draft}>
            {isOutdated ? text.loadAgain : text.undo}
          </Button>
          <Button type="submit" kind="main" isBusy={store.isRunning} isDisabled={!draft}>
            {text.save}
          </Button>
        </div>
      </footer>
      {isAsked && (
        <ConfirmDialog
          title={text.resetAll}
          action={text.resetAll}
          confirm={() => store.run({}, etag)}
          onClose={() => setAsked(false)}
        >
          <p>{text.resetAsk}</p>
        </ConfirmDialog>
      )}
    </form>
  );
}

/** Some endpoints show the stored settings beside those in use, others the settings in use only. */
function knownOf(schema: JsonSchema, data: Record<string, unknown>): Omit<Known, 'etag'> {
  if (isRecord(data.stored) && isRecord(data.inUse)) {
    return { schema, stored: data.stored, inUse: data.inUse };
  }
  const own = Object.keys(schema.properties ?? {});
  const stored = Object.fromEntries(Object.entries(data).filter(([key]) => own.includes(key)));
  return { schema, stored, inUse: {} };
}

interface Section {
  /** Of its group; undefined: it has values without one. */
  key?: string;
  title: string;
  section: JsonSchema;
  isRare: boolean;
}

/** Single values stand together, each group in its own card; groups by name come last. */
function sectionsOf(
  schema: JsonSchema,
  { general, titleOf, rare }: { general: string; titleOf: (name: string) => string; rare: readonly string[] },
): Section[] {
  const parts = Object.entries(schema.properties ?? {});
  const only = (wanted: Array<[string, JsonSchema]>) => ({
    ...schema,
    properties: Object.fromEntries(wanted),
  });
  const groups = parts.filter(([, part]) => fieldKindOf(part) === 'section');
  const records = parts.filter(([, part]) => fieldKindOf(part) === 'record');
  const single = parts.filter((part) => !groups.includes(part) && !records.includes(part));
  return [
    ...(single.length > 0 ? [{ title: general, section: only(single), isRare: rare.includes('') }] : []),
    ...groups.map(([key, section]) => ({ key, title: titleOf(key), section, isRare: rare.includes(key) })),
    ...records.map((part) => ({ title: titleOf(part[0]), section: only([part]), isRare: false })),
  ];
}

import { useRef, useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useTexts } from '../../app/language.ts';
import { SelectField, TextField } from '../../components/form.tsx';
import { Card } from '../../components/page.tsx';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import type { JsonSchema } from '../../schema-form/json-schema.ts';
import type { FoundAgent } from './find-agent.tsx';
import { isObject, type Json, kindOf, mistakeAt, withField, withKind } from './route-draft.ts';
import type { DraftProps } from './route-fields.tsx';
import { SchemaFields } from './schema-field.tsx';

/** Settings of each kind that most routes need, besides those that it requires; the others are folded. */
const MAIN: Readonly<Record<string, readonly string[]>> = {
  npc: ['apiKey'],
  a2a: ['apiKey'],
  openai: ['apiKey', 'system'],
  shell: ['image', 'token'],
  hosted: ['image', 'command', 'profile'],
  abi: ['function', 'args', 'output'],
  echo: ['prefix'],
  webhook: ['secret'],
};

/** The agent kind of a route, its address and its settings. */
export function AgentFields({
  kinds,
  draft,
  mistakes,
  onChange,
  found,
}: DraftProps & { kinds: readonly Schemas['AgentKind'][]; found?: FoundAgent }) {
  const text = useTexts('routes');
  const titles: Readonly<Record<string, string>> = text.kinds;
  const { hint } = useFieldTexts();
  // What was written for a kind comes back with it.
  const written = useRef(new Map<string, Json>());
  const { config } = draft;
  const name = kindOf(config, kinds);
  const kind = kinds.find((each) => each.name === name);
  const description = hint([name ?? ''], kind);
  const choose = (next: string) => {
    const settings = config[name ?? ''];
    if (name !== undefined && isObject(settings)) written.current.set(name, settings);
    onChange({ config: withKind(config, name, next, written.current.get(next)) });
  };
  const ofAddress = mistakeAt(mistakes, 'agentEndpoint');
  const ofKind = mistakes.find(({ field }) => field === 'config' || field === `config.${name}`)?.message;
  return (
    <Card title={text.whichAgent}>
      <div class="stack">
        <div class="fields">
          <SelectField
            label={text.kind}
            {...(description !== undefined && { hint: description })}
            value={name ?? ''}
            onInput={choose}
            options={kinds.map((each) => ({ value: each.name, label: titles[each.name] ?? each.name }))}
            {...(ofKind !== undefined && { error: ofKind })}
          />
          {kind?.hasEndpoint !== false && (
            <TextField
              label={text.address}
              {...(kind?.isForOneChat && { hint: text.forOneChat })}
              value={draft.agentEndpoint}
              onInput={(agentEndpoint) => onChange({ agentEndpoint })}
              placeholder="http://localhost:8000"
              {...(ofAddress !== undefined && { error: ofAddress })}
            />
          )}
        </div>
        {kind && (
          <KindFields
            key={kind.name}
            kind={kind}
            value={config[kind.name]}
            names={found?.names ?? {}}
            mistakes={mistakes}
            onChange={(value) => onChange({ config: withField(config, kind.name, value) })}
          />
        )}
      </div>
    </Card>
  );
}

/** The settings of an agent kind: those that most routes need, and the others below a fold. */
function KindFields(props: {
  kind: Schemas['AgentKind'];
  value: unknown;
  names: FoundAgent['names'];
  mistakes: DraftProps['mistakes'];
  onChange: (value: unknown) => void;
}) {
  const { kind, value, names, mistakes, onChange } = props;
  const text = useTexts('routes');
  const schema = kind.schema as JsonSchema;
  const isMain = (name: string) => schema.required?.includes(name) || (MAIN[kind.name] ?? []).includes(name);
  // The address of the route says the same.
  const isHidden = (name: string) => name === 'baseUrl' && !(isObject(value) && name in value);
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    if (isHidden(name)) return [];
    const known = names[name] ?? [];
    return [[name, known.length > 0 ? { ...field, enum: known } : field] as const];
  });
  const others = fields.filter(([name]) => !isMain(name));
  const isSet = others.some(([name]) => isObject(value) && name in value);
  const hasMistake = others.some(
    ([name]) => mistakeAt(mistakes, `config.${kind.name}.${name}`) !== undefined,
  );
  const [wasSet] = useState(isSet);
  const shown = (some: typeof fields) => (
    <SchemaFields
      path={`config.${kind.name}`}
      schema={{ ...schema, properties: Object.fromEntries(some) }}
      value={value}
      mistakes={mistakes}
      onChange={onChange}
    />
  );
  return (
    <>
      {shown(fields.filter(([name]) => isMain(name)))}
      {others.length > 0 && (
        <details class="section" open={wasSet || hasMistake}>
          <summary>{text.moreSettings}</summary>
          {shown(others)}
        </details>
      )}
    </>
  );
}

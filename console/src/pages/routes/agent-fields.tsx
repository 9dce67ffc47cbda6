import { useRef } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useTexts } from '../../app/language.ts';
import { SelectField, TextField } from '../../components/form.tsx';
import { Card } from '../../components/page.tsx';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import type { JsonSchema } from '../../schema-form/json-schema.ts';
import { isObject, type Json, kindOf, mistakeAt, withField, withKind } from './route-draft.ts';
import type { DraftProps } from './route-fields.tsx';
import { SchemaFields } from './schema-field.tsx';

/** The agent kind of a route, its address and its settings. */
export function AgentFields({
  kinds,
  draft,
  mistakes,
  onChange,
}: DraftProps & { kinds: readonly Schemas['AgentKind'][] }) {
  const text = useTexts('routes');
  const { hint } = useFieldTexts();
  // What was written for a kind comes back with it.
  const written = useRef(new Map<string, Json>());
  const { config } = draft;
  const name = kindOf(config, kinds);
  const kind = kinds.find((each) => each.name === name);
  const description = hint([name ?? ''], kind?.description);
  const choose = (next: string) => {
    const settings = config[name ?? ''];
    if (name !== undefined && isObject(settings)) written.current.set(name, settings);
    onChange({ config: withKind(config, name, next, written.current.get(next)) });
  };
  const ofAddress = mistakeAt(mistakes, 'agentEndpoint');
  const ofKind = mistakes.find(({ field }) => field === 'config' || field === `config.${name}`)?.message;
  return (
    <Card title={text.agent}>
      <div class="stack">
        <div class="fields">
          <SelectField
            label={text.kind}
            {...(description !== undefined && { hint: description })}
            value={name ?? ''}
            onInput={choose}
            options={kinds.map((each) => ({ value: each.name, label: each.name }))}
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
          <SchemaFields
            key={kind.name}
            path={`config.${kind.name}`}
            schema={kind.schema as JsonSchema}
            value={config[kind.name]}
            mistakes={mistakes}
            onChange={(value) => onChange({ config: withField(config, kind.name, value) })}
          />
        )}
      </div>
    </Card>
  );
}

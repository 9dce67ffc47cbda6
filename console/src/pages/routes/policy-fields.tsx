import { useTexts } from '../../app/language.ts';
import { Card } from '../../components/page.tsx';
import { fieldKindOf, type JsonSchema } from '../../schema-form/json-schema.ts';
import { withField } from './route-draft.ts';
import type { DraftProps } from './route-fields.tsx';
import { SchemaField, SchemaFields } from './schema-field.tsx';

/** The settings that all agent kinds share: how wa2ai converses, and what it does on failure. */
export function PolicyFields({ schema, draft, mistakes, onChange }: DraftProps & { schema: JsonSchema }) {
  const text = useTexts('routes');
  const { config } = draft;
  const fields = Object.entries(schema.properties ?? {});
  const isSection = ([, field]: (typeof fields)[number]) => fieldKindOf(field) === 'section';
  const others = { ...schema, properties: Object.fromEntries(fields.filter((each) => !isSection(each))) };
  const change = (name: string, value: unknown) => onChange({ config: withField(config, name, value) });
  return (
    <Card title={text.policies}>
      <p class="hint">{text.policiesHint}</p>
      {fields.filter(isSection).map(([name, field]) => (
        <SchemaField
          key={name}
          path={`config.${name}`}
          name={name}
          schema={field}
          value={config[name]}
          isRequired={false}
          mistakes={mistakes}
          onChange={(value) => change(name, value)}
        />
      ))}
      <details class="section" open={Object.keys(others.properties).some((name) => name in config)}>
        <summary>{text.moreSettings}</summary>
        <SchemaFields
          path="config"
          schema={others}
          value={config}
          mistakes={mistakes}
          onChange={(value) => onChange({ config: value as typeof config })}
        />
      </details>
    </Card>
  );
}

import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { CheckField, SelectField, TextField } from '../../components/form.tsx';
import { Card } from '../../components/page.tsx';
import { ConfigPart, type ConfigProps } from './config-part.tsx';
import { mistakeAt, type mistakesOf, type RouteDraft } from './route-draft.ts';

/** What parts of the form get. */
export interface DraftProps {
  draft: RouteDraft;
  mistakes: ReturnType<typeof mistakesOf>;
  onChange: (change: Partial<RouteDraft>) => void;
}

/** Whose messages a route takes. `schema` absent: the config is edited as JSON. */
export function WhoFields({ schema, ...props }: DraftProps & { schema?: ConfigProps['schema'] }) {
  const { draft, mistakes, onChange } = props;
  const text = useTexts('routes');
  const accounts = useQuery('GET /api/accounts', {}, ['account']);
  const ids = accounts.data?.data.map(({ id }) => id) ?? [];
  const accountIds = [...new Set([...ids, ...(draft.accountId === '' ? [] : [draft.accountId])])];
  return (
    <Card title={text.who}>
      <div class="stack">
        <div class="fields">
          <TextField
            label={text.name}
            value={draft.name}
            onInput={(name) => onChange({ name })}
            {...errorAt(mistakes, 'name')}
          />
          <TextField
            label={text.chat}
            hint={text.chatHint}
            value={draft.channelId}
            onInput={(channelId) => onChange({ channelId })}
            {...errorAt(mistakes, 'channelId')}
          />
          <SelectField
            label={text.account}
            value={draft.accountId}
            onInput={(accountId) => onChange({ accountId })}
            options={[
              { value: '', label: text.byDefault },
              ...accountIds.map((value) => ({ value, label: value })),
            ]}
            {...errorAt(mistakes, 'accountId')}
          />
          <CheckField
            label={text.enabled}
            value={draft.enabled}
            onInput={(enabled) => onChange({ enabled })}
          />
        </div>
        {schema && (
          <ConfigPart
            {...props}
            schema={schema}
            group="when"
            names={['tags', 'languages', 'isGroup', 'isFirstContact']}
          />
        )}
      </div>
    </Card>
  );
}

/** When a route takes them, and which of their messages. */
export function WhenFields({ schema, ...props }: DraftProps & { schema?: ConfigProps['schema'] }) {
  const { draft, mistakes, onChange } = props;
  const text = useTexts('routes');
  return (
    <Card title={text.whenWhich}>
      <div class="stack">
        {schema && (
          <ConfigPart
            {...props}
            schema={schema}
            group="when"
            names={['days', 'hours', 'timeZone', 'kinds', 'isMentioned', 'quotesUs']}
          />
        )}
        <div class="fields">
          <TextField
            label={text.pattern}
            hint={text.patternHint}
            value={draft.regexFilter}
            onInput={(regexFilter) => onChange({ regexFilter })}
            {...errorAt(mistakes, 'regexFilter')}
          />
        </div>
      </div>
    </Card>
  );
}

/** What few routes need; the order of the table sets the priority. */
export function RareFields({ draft, mistakes, onChange }: DraftProps) {
  const text = useTexts('routes');
  const [priority, setPriority] = useState(String(draft.priority));
  return (
    <div class="fields">
      <TextField
        type="number"
        label={text.priority}
        hint={text.priorityHint}
        value={priority}
        onInput={(next) => {
          setPriority(next);
          if (/^-?\d+$/.test(next)) onChange({ priority: Number(next) });
        }}
        {...errorAt(mistakes, 'priority')}
      />
      <SelectField
        label={text.environment}
        value={draft.environment}
        onInput={(environment) => onChange({ environment: environment as RouteDraft['environment'] })}
        options={[
          { value: '', label: text.byDefault },
          { value: 'lab', label: 'lab' },
          { value: 'prod', label: 'prod' },
        ]}
        {...errorAt(mistakes, 'environment')}
      />
    </div>
  );
}

function errorAt(mistakes: DraftProps['mistakes'], field: string): { error?: string } {
  const error = mistakeAt(mistakes, field);
  return error === undefined ? {} : { error };
}

import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { CheckField, SelectField, TextField } from '../../components/form.tsx';
import { Card } from '../../components/page.tsx';
import { mistakeAt, type mistakesOf, type RouteDraft } from './route-draft.ts';

/** What parts of the form get. */
export interface DraftProps {
  draft: RouteDraft;
  mistakes: ReturnType<typeof mistakesOf>;
  onChange: (change: Partial<RouteDraft>) => void;
}

/** Which messages a route takes. */
export function RouteFields({ draft, mistakes, onChange }: DraftProps) {
  const text = useTexts('routes');
  const accounts = useQuery('GET /api/accounts', {}, ['account']);
  const [priority, setPriority] = useState(String(draft.priority));
  const errorOf = (field: string) => {
    const error = mistakeAt(mistakes, field);
    return error === undefined ? {} : { error };
  };
  const ids = accounts.data?.data.map(({ accountId }) => accountId) ?? [];
  const accountIds = [...new Set([...ids, ...(draft.accountId === '' ? [] : [draft.accountId])])];
  return (
    <Card title={text.which}>
      <div class="fields">
        <TextField
          label={text.name}
          value={draft.name}
          onInput={(name) => onChange({ name })}
          {...errorOf('name')}
        />
        <TextField
          label={text.chat}
          hint={text.chatHint}
          value={draft.channelId}
          onInput={(channelId) => onChange({ channelId })}
          {...errorOf('channelId')}
        />
        <TextField
          label={text.pattern}
          hint={text.patternHint}
          value={draft.regexFilter}
          onInput={(regexFilter) => onChange({ regexFilter })}
          {...errorOf('regexFilter')}
        />
        <TextField
          type="number"
          label={text.priority}
          hint={text.priorityHint}
          value={priority}
          onInput={(next) => {
            setPriority(next);
            if (/^-?\d+$/.test(next)) onChange({ priority: Number(next) });
          }}
          {...errorOf('priority')}
        />
        <SelectField
          label={text.account}
          value={draft.accountId}
          onInput={(accountId) => onChange({ accountId })}
          options={[
            { value: '', label: text.byDefault },
            ...accountIds.map((value) => ({ value, label: value })),
          ]}
          {...errorOf('accountId')}
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
          {...errorOf('environment')}
        />
        <CheckField label={text.enabled} value={draft.enabled} onInput={(enabled) => onChange({ enabled })} />
      </div>
    </Card>
  );
}

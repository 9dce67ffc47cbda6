import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { CheckField, SelectField, TextField } from '../../components/form.tsx';
import { Card } from '../../components/page.tsx';
import { ConfigPart, type ConfigProps } from './config-part.tsx';
import { FoldCard } from './fold-card.tsx';
import { RouteConditions } from './route-conditions.tsx';
import { isObject, mistakeAt, type mistakesOf, type RouteDraft } from './route-draft.ts';

/** What parts of the form get. */
export interface DraftProps {
  draft: RouteDraft;
  mistakes: ReturnType<typeof mistakesOf>;
  onChange: (change: Partial<RouteDraft>) => void;
}

/** Conditions of `when` on the chat, and on the time and the message. */
export const WHO = ['tags', 'languages', 'isGroup', 'isFirstContact'];
export const WHEN = ['days', 'hours', 'timeZone', 'kinds', 'isMentioned', 'quotesUs'];

/** Whose messages a route takes. `schema` absent: the config is edited as JSON. */
export function WhoFields({ schema, ...props }: DraftProps & { schema?: ConfigProps['schema'] }) {
  const { draft, mistakes, onChange } = props;
  const text = useTexts('routes');
  const accounts = useQuery('GET /api/accounts', {}, ['account']);
  const ids = accounts.data?.data.map(({ id }) => id) ?? [];
  const { when } = draft.config;
  const [wasSet] = useState(isObject(when) && WHO.some((name) => name in when));
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
          <SelectField
            label={text.chat}
            value={draft.channelId === '*' ? '*' : ''}
            onInput={(channelId) => onChange({ channelId })}
            options={[
              { value: '*', label: text.allChats },
              { value: '', label: text.oneChat },
            ]}
            {...(draft.channelId === '*' && errorAt(mistakes, 'channelId'))}
          />
          {draft.channelId !== '*' && (
            <TextField
              label={text.chatAddress}
              hint={text.chatHint}
              value={draft.channelId}
              onInput={(channelId) => onChange({ channelId })}
              isRequired
              {...errorAt(mistakes, 'channelId')}
            />
          )}
          {accountIds.length > 1 && (
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
          )}
          <CheckField
            label={text.enabled}
            value={draft.enabled}
            onInput={(enabled) => onChange({ enabled })}
          />
        </div>
        {schema && (
          <details class="section" open={wasSet || hasMistakeIn(mistakes, WHO)}>
            <summary>{text.someChats}</summary>
            <ConfigPart {...props} schema={schema} group="when" names={WHO} />
          </details>
        )}
      </div>
    </Card>
  );
}

/** When a route takes them, and which of their messages. */
export function WhenFields({ schema, ...props }: DraftProps & { schema?: ConfigProps['schema'] }) {
  const { draft, mistakes, onChange } = props;
  const text = useTexts('routes');
  const { regexFilter, config } = draft;
  const { when } = config;
  const shown = isObject(when) ? Object.entries(when).filter(([name]) => WHEN.includes(name)) : [];
  const summary =
    shown.length === 0 && regexFilter === '' ? (
      <span class="faint">{text.always}</span>
    ) : (
      <RouteConditions route={{ regexFilter, config: { when: Object.fromEntries(shown) } }} />
    );
  const hasMistake = hasMistakeIn(mistakes, WHEN) || mistakeAt(mistakes, 'regexFilter') !== undefined;
  return (
    <FoldCard title={text.whenWhich} summary={summary} hasMistake={hasMistake}>
      {schema && <ConfigPart {...props} schema={schema} group="when" names={WHEN} />}
      <div class="fields">
        <TextField
          label={text.pattern}
          hint={text.patternHint}
          value={draft.regexFilter}
          onInput={(regexFilter) => onChange({ regexFilter })}
          {...errorAt(mistakes, 'regexFilter')}
        />
      </div>
    </FoldCard>
  );
}

/** What few routes need; the order of the table sets the priority. */
export function RareFields({ draft, mistakes, onChange }: DraftProps) {
  const text = useTexts('routes');
  const [priority, setPriority] = useState(String(draft.priority));
  // Where all routes have the same environment, there is nothing to choose.
  const routes = useQuery('GET /api/routes', {}, ['route']);
  const environments = new Set(routes.data?.data.map(({ environment }) => environment));
  const error = mistakeAt(mistakes, 'environment');
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
      {(environments.size > 1 || error !== undefined) && (
        <SelectField
          label={text.environment}
          value={draft.environment}
          onInput={(environment) => onChange({ environment: environment as RouteDraft['environment'] })}
          options={[
            { value: '', label: text.byDefault },
            { value: 'lab', label: 'lab' },
            { value: 'prod', label: 'prod' },
          ]}
          {...(error !== undefined && { error })}
        />
      )}
    </div>
  );
}

function hasMistakeIn(mistakes: DraftProps['mistakes'], names: readonly string[]): boolean {
  return names.some((name) => mistakeAt(mistakes, `config.when.${name}`) !== undefined);
}

function errorAt(mistakes: DraftProps['mistakes'], field: string): { error?: string } {
  const error = mistakeAt(mistakes, field);
  return error === undefined ? {} : { error };
}

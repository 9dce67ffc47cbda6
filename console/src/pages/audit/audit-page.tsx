import './audit.css';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { baseUrl } from '../../api/base-url.ts';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { SelectField, TextField } from '../../components/form.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Reason } from '../../translation/service-text.tsx';

type Entry = Schemas['AuditEntry'];

const NO_FILTER = {
  caller: '',
  keyId: '',
  user: '',
  action: '',
  object: '',
  outcome: '',
  since: '',
  until: '',
};
type Filter = typeof NO_FILTER;

/** The audit log, newest first: filters, pages, and the names of keys and objects. */
export function AuditPage() {
  const text = useTexts('audit');
  const [filter, setFilter] = useState(NO_FILTER);
  const [cursor, setCursor] = useState<string>();
  const names = useNames();
  const change = (part: Partial<Filter>) => {
    setFilter({ ...filter, ...part });
    setCursor(undefined);
  };
  const { caller, since, until, ...exact } = filter;
  const query = {
    ...{ ...exact, limit: 100, cursor },
    ...(isCaller(caller, text.callers) && { caller }),
    ...{ since: timeOf(since), until: timeOf(until) },
  };
  const entries = useQuery(
    'GET /api/audit',
    { query },
    cursor === undefined ? ['key', 'route', 'account'] : [],
  );
  return (
    <PageFrame title={text.title} lead={text.lead}>
      <Filters filter={filter} onChange={change} keys={names.keys} />
      <Loaded query={entries}>
        {({ data, next }) => (
          <>
            {data.length === 0 ? (
              <EmptyState icon="list" title={text.none} />
            ) : (
              <div class="audit-entries">
                <Card>
                  <Table
                    caption={text.title}
                    rows={data}
                    keyOf={({ seq }) => seq}
                    columns={[
                      { title: text.at, cell: ({ at }) => <Time at={at} /> },
                      {
                        title: text.caller,
                        cell: ({ caller: by, keyId, user }) => (
                          <div>
                            {user ?? (keyId && (names.keys.get(keyId) ?? keyId)) ?? text.callers[by]}
                            {(user ?? keyId) !== undefined && <p class="faint">{text.callers[by]}</p>}
                          </div>
                        ),
                      },
                      { title: text.action, cell: (entry) => <Action entry={entry} /> },
                      { title: text.object, cell: (entry) => <AuditObject entry={entry} names={names} /> },
                      {
                        title: text.outcome,
                        cell: ({ outcome }) => <Outcome outcome={outcome} />,
                      },
                    ]}
                  />
                </Card>
              </div>
            )}
            <div class="actions end">
              {cursor !== undefined && <Button onClick={() => setCursor(undefined)}>{text.newest}</Button>}
              {next !== undefined && <Button onClick={() => setCursor(next)}>{text.older}</Button>}
            </div>
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

function Filters(props: {
  filter: Filter;
  onChange: (part: Partial<Filter>) => void;
  keys: ReadonlyMap<string, string>;
}) {
  const { filter, onChange, keys } = props;
  const text = useTexts('audit');
  const all = { value: '', label: text.all };
  const actions = Object.entries(text.actions)
    .map(([value, label]) => ({ value, label }))
    .sort((one, other) => one.label.localeCompare(other.label));
  return (
    <fieldset class="audit-filters">
      <legend class="hidden">{text.filters}</legend>
      <SelectField
        label={text.caller}
        value={filter.caller}
        onInput={(caller) => onChange({ caller })}
        options={[all, ...Object.entries(text.callers).map(([value, label]) => ({ value, label }))]}
      />
      {keys.size > 0 && (
        <SelectField
          label={text.key}
          value={filter.keyId}
          onInput={(keyId) => onChange({ keyId })}
          options={[all, ...[...keys].map(([value, label]) => ({ value, label }))]}
        />
      )}
      <SelectField
        label={text.action}
        value={filter.action}
        onInput={(action) => onChange({ action })}
        options={[all, ...actions]}
      />
      <TextField
        type="search"
        label={text.object}
        placeholder={text.objectHint}
        value={filter.object}
        onInput={(object) => onChange({ object })}
      />
      <details>
        <summary>{text.more}</summary>
        <div class="audit-filters">
          <TextField
            type="search"
            label={text.user}
            value={filter.user}
            onInput={(user) => onChange({ user })}
          />
          <TextField
            type="search"
            label={text.outcome}
            placeholder={text.outcomeHint}
            value={filter.outcome}
            onInput={(outcome) => onChange({ outcome })}
          />
          <TextField
            type="datetime-local"
            label={text.since}
            value={filter.since}
            onInput={(since) => onChange({ since })}
          />
          <TextField
            type="datetime-local"
            label={text.until}
            value={filter.until}
            onInput={(until) => onChange({ until })}
          />
        </div>
      </details>
    </fieldset>
  );
}

/** What was done in words, with the name of the operation and the protocol of the call. */
function Action({ entry: { action, face } }: { entry: Entry }) {
  const text = useTexts('audit');
  const actions: Readonly<Record<string, string>> = text.actions;
  const inWords =
    actions[action] ?? (/^(get|list|show|open|stream|download)[A-Z]/.test(action) ? text.read : undefined);
  return (
    <div>
      {inWords ?? action}
      <p class="faint">
        {face.toUpperCase()} {inWords !== undefined && <code>{action}</code>}
      </p>
    </div>
  );
}

/** What came of it; of a failure the code, with its entry in the documentation. */
function Outcome({ outcome }: { outcome: string }) {
  const text = useTexts('audit');
  const outcomes: Readonly<Record<string, string>> = text.outcomes;
  const inWords = outcomes[outcome];
  if (inWords !== undefined) return <Badge mood={outcome === 'ok' ? 'good' : 'quiet'}>{inWords}</Badge>;
  return (
    <div>
      <Badge mood="bad">{text.failed}</Badge>
      <p class="faint">
        <a href={`${baseUrl}docs/troubleshooting.md#${outcome.toLowerCase()}`}>
          <Reason code={outcome} />
        </a>
      </p>
    </div>
  );
}

/** What an entry is about: by its name and with a link, where the console knows it. */
function AuditObject({
  entry: { action, object },
  names,
}: {
  entry: Entry;
  names: Names;
}): ComponentChildren {
  const tabs: Readonly<Record<string, string>> = useTexts('settings').tabs;
  if (object === undefined) return '–';
  const tab = /^put\w+Settings$/.test(action) ? tabs[object] : undefined;
  if (tab !== undefined) return <a href={hrefOf(`/settings/${object}`)}>{tab}</a>;
  if (/^(put|start|stop|restart|sendTo)HostedAgent$/.test(action))
    return <a href={hrefOf(`/agents/hosted/${encodeURIComponent(object)}`)}>{object}</a>;
  const found = names.objects.get(object);
  if (found) return <a href={hrefOf(found.path)}>{found.name}</a>;
  if (action.includes('Chat') && /^\d+$/.test(object))
    return <a href={hrefOf(`/chats/${object}`)}>{names.chats.get(object) ?? object}</a>;
  return object;
}

interface NamedObject {
  name: string;
  path: string;
}

interface Names {
  /** Names of keys, by id. */
  keys: ReadonlyMap<string, string>;
  objects: ReadonlyMap<string, NamedObject>;
  /** Names of chats, by id. */
  chats: ReadonlyMap<string, string>;
}

/** The names of what entries have ids of, as far as it still exists. */
function useNames(): Names {
  const keys = useQuery('GET /api/keys', { query: { limit: 500 } }, ['key']).data?.data ?? [];
  const routes = useQuery('GET /api/routes', { query: { limit: 500 } }, ['route']).data?.data ?? [];
  const accounts = useQuery('GET /api/accounts', {}, ['account']).data?.data ?? [];
  const webhooks = useQuery('GET /api/webhooks', {}, ['webhook']).data?.data ?? [];
  const chats = useQuery('GET /api/chats', { query: { limit: 500 } }).data?.data ?? [];
  return {
    chats: new Map(chats.flatMap(({ id, name }) => (name === undefined ? [] : [[id, name] as const]))),
    keys: new Map(keys.map(({ id, name }) => [id, name])),
    objects: new Map<string, NamedObject>([
      ...keys.map(({ id, name }) => [id, { name, path: '/keys' }] as const),
      ...routes.map(
        ({ id, name, channelId }) => [id, { name: name ?? channelId, path: `/routes/${id}` }] as const,
      ),
      ...accounts.map(({ id }) => [id, { name: id, path: '/accounts' }] as const),
      ...webhooks.map(({ id, url }) => [id, { name: url, path: '/webhooks' }] as const),
    ]),
  };
}

function isCaller(value: string, callers: Record<Entry['caller'], string>): value is Entry['caller'] {
  return Object.hasOwn(callers, value);
}

/** The time of a field, which has none of a zone: this one's. */
function timeOf(local: string): string | undefined {
  return local === '' ? undefined : new Date(local).toISOString();
}

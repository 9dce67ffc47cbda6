import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Schemas } from '../api/call.ts';
import type { LiveType } from '../api/live.ts';
import type { Problem } from '../api/problem.ts';
import { type Query, useQuery } from '../api/use-query.ts';
import { useMay } from './caller.tsx';

/** Something that waits for the person at the console. `key`: the same as long as it waits. */
export type Need = { key: string } & (
  | { kind: 'account'; account: Schemas['Account'] }
  | { kind: 'draft'; draft: Schemas['Draft'] }
  | { kind: 'stranger'; chat: Schemas['Chat'] }
  | { kind: 'question'; chat: Schemas['Chat'] }
  | { kind: 'letters'; group: Schemas['DeadLetterGroup'] }
  | { kind: 'webhook'; webhook: Schemas['Webhook'] }
);

/** What waits for the person, of that about which this person may do something. */
export interface Needs {
  /** Whether the service has ever received a message: before, nothing waits. Undefined: not known yet. */
  isBegun: boolean | undefined;
  /** Undefined: not known yet. */
  all: Need[] | undefined;
  /** Why a part is not known. */
  problem: Problem | undefined;
  /** Asks again for what is of the kind of `need`. `isAnswered`: it is not shown any more until the answer comes. */
  reload(need: Need, isAnswered: boolean): void;
}

/** Of each kind; the rest follows when these are answered. */
const LIMIT = 100;
/** From so many failures in a row on a webhook pauses. */
const FAILURES = 5;
/** Connecting again takes a moment; an account that waits for longer needs somebody. */
const LASTS_MS = 5 * 60_000;
const TICK_MS = 60_000;

/** States of an account that end when a person does something. */
const STATES: ReadonlySet<string> = new Set([
  ...['pairing', 'passkey-required', 'proxy-failed', 'logged-out', 'replaced', 'outdated'],
]);

const NeedsContext = createContext<Needs>({
  isBegun: undefined,
  all: undefined,
  problem: undefined,
  reload: () => undefined,
});

/** What waits for the person, asked for once for the navigation and the page Start. */
export function useNeeds(): Needs {
  return useContext(NeedsContext);
}

/** Asks the service for what waits, and again when it changes. */
export function NeedsProvider({ children }: { children: ComponentChildren }) {
  const may = useMay();
  const nowMs = useMinutes();
  const [answered, setAnswered] = useState<ReadonlyMap<string, unknown>>(new Map());
  const { has: isBegun, problem } = useHasMessages(may('messages:read') ? {} : null, 'message');
  const ofChats = isBegun && may('messages:send') ? { query: { limit: LIMIT } } : null;
  const drafts = useQuery('GET /api/drafts', ofChats, ['draft']);
  const waiting = useQuery(
    'GET /api/chats',
    ofChats && { query: { ...ofChats.query, access: 'pending', waiting: 'true' } },
    ['chat'],
  );
  const asked = useQuery('GET /api/chats', ofChats && { query: { ...ofChats.query, asked: 'true' } }, [
    'chat',
  ]);
  // No event says that a question was asked: it waits for the operator only when the person was reminded.
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) asked.reload();
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [asked.reload]);
  const letters = useQuery('GET /api/dead-letters/groups', ofChats && {}, ['dead-letter']);
  const accounts = useQuery('GET /api/accounts', isBegun && may('accounts:manage') ? {} : null, ['account']);
  const webhooks = useQuery('GET /api/webhooks', isBegun && may('webhooks:manage') ? {} : null, ['webhook']);
  const queries = {
    account: accounts,
    draft: drafts,
    stranger: waiting,
    question: asked,
    letters,
    webhook: webhooks,
  };

  const found: Need[] = [
    ...of(accounts, (account) => needsAct(account, nowMs) && { kind: 'account', key: account.id, account }),
    ...of(drafts, (draft) => ({ kind: 'draft', key: draft.id, draft })),
    ...of(waiting, (chat) => ({ kind: 'stranger', key: chat.id, chat })),
    ...of(asked, (chat) => chat.needs?.includes('question') && { kind: 'question', key: chat.id, chat }),
    ...of(letters, (group) => ({ kind: 'letters', key: group.reason, group })),
    ...of(webhooks, (webhook) => fails(webhook) && { kind: 'webhook', key: webhook.id, webhook }),
  ];
  const all = Object.values(queries);
  const isLoaded = isBegun !== undefined && all.every(({ data, isLoading }) => data || !isLoading);
  const needs: Needs = {
    isBegun,
    all: isLoaded ? found.filter(({ kind, key }) => answered.get(key) !== queries[kind].data) : undefined,
    problem: problem ?? all.find((query) => query.problem)?.problem,
    reload: ({ kind, key }, isAnswered) => {
      const { data, reload } = queries[kind];
      if (isAnswered) setAnswered((before) => new Map(before).set(key, data));
      reload();
    },
  };
  return <NeedsContext.Provider value={needs}>{children}</NeedsContext.Provider>;
}

/** Whether there is a message of a state, and why that is not known. @param on the live event that may change it */
export function useHasMessages(
  query: { state?: 'answered' } | null,
  on: LiveType,
): { has: boolean | undefined; problem: Problem | undefined } {
  const has = useRef(false);
  const { data, problem } = useQuery(
    'GET /api/messages',
    query && { query: { ...query, limit: 1 } },
    ({ type }) => type === on && !has.current,
  );
  has.current = (data?.data.length ?? 0) > 0;
  return { has: data && has.current, problem };
}

/** The entries of a list that wait, each with a key that no other list has. */
function of<Entry>(
  { data }: Query<{ data: Entry[] }>,
  needOf: (entry: Entry) => Need | false | undefined,
): Need[] {
  return (data?.data ?? []).flatMap((entry) => {
    const need = needOf(entry);
    return need ? [{ ...need, key: `${need.kind} ${need.key}` }] : [];
  });
}

function needsAct({ provider, state, since }: Schemas['Account'], nowMs: number): boolean {
  const isLong = nowMs - Date.parse(since) > LASTS_MS;
  return provider === undefined && (STATES.has(state) || (state === 'waiting' && isLong));
}

function fails({ failures, disabledReason, enabled }: Schemas['Webhook']): boolean {
  return enabled ? failures >= FAILURES : disabledReason !== undefined;
}

/** The time, once a minute. */
function useMinutes(): number {
  const [nowMs, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}

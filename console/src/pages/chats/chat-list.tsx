import { useEffect, useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useMay } from '../../app/caller.tsx';
import { useTexts } from '../../app/language.ts';
import { TickView } from '../../conversation/bubble-view.tsx';
import type { Chat } from '../../conversation/chat-types.ts';
import { addressOf, tickOf } from '../../conversation/conversation.ts';
import { kindKey, useText as useShared } from '../../conversation/texts.ts';
import { useTimes } from '../../conversation/times.ts';
import { plainOf } from '../../conversation/whatsapp-marks.ts';
import { OptionList } from './option-list.tsx';
import { useText } from './texts.ts';
import { type ChatFilter, useChatList } from './use-chat-list.ts';

/** Height of a row of the list. */
const ROW_PX = 68;
/** A search begins when the person has not typed for so long. */
const TYPING_MS = 250;

const FILTERS = {
  all: {},
  needsYou: { needsYou: 'true' },
  unanswered: { unanswered: 'true' },
  failed: { failed: 'true' },
  paused: { paused: 'true' },
  locked: { locked: 'true' },
  pending: { waiting: 'true' },
} satisfies Record<string, ChatFilter>;

type Filter = keyof typeof FILTERS;

/** The account of invented chats. */
const PLAYGROUND = 'playground';

/** The list of chats, with search and filters. @param props.show the filter at first, as in the address */
export function ChatList(props: { selected?: string; show: string | null; onOpen(chat: Chat): void }) {
  const { selected, show, onOpen } = props;
  const t = useText();
  const [typed, setTyped] = useState('');
  const [text, setText] = useState('');
  const [filter, setFilter] = useState<Filter>(
    Object.keys(FILTERS).find((each): each is Filter => each === show) ?? 'all',
  );
  useEffect(() => {
    const timer = setTimeout(() => setText(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const [account, setAccount] = useState('');
  const [routeId, setRouteId] = useState('');
  const accounts = useAccounts();
  const routes = useRoutes(account);
  const pages = useTexts('pages');
  const list = useChatList({
    ...FILTERS[filter],
    ...(account === '' ? { playground: 'false' } : { accountId: account }),
    ...(routeId && { routeId }),
    ...(text && { text }),
  });
  const { chats, isLoading, error, more } = list;
  const isFiltered = filter !== 'all' || text !== '' || account !== '' || routeId !== '';

  return (
    <section class="chat-list" aria-label={t('title')}>
      <div class="chat-filters">
        <input
          type="search"
          aria-label={t('search')}
          placeholder={t('search')}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        {accounts.length > 1 && (
          <select
            aria-label={t('account')}
            value={account}
            onChange={(event) => {
              setAccount(event.currentTarget.value);
              setRouteId('');
            }}
          >
            <option value="">{t('allAccounts')}</option>
            {accounts.map(({ id }) => (
              <option key={id} value={id}>
                {isReal(id) ? id : pages.playground}
              </option>
            ))}
          </select>
        )}
        {routes.length > 1 && (
          <select
            aria-label={t('route')}
            value={routeId}
            onChange={(event) => setRouteId(event.currentTarget.value)}
          >
            <option value="">{t('allRoutes')}</option>
            {routes.map(({ id, name, channelId }) => (
              <option key={id} value={id}>
                {name ?? channelId}
              </option>
            ))}
          </select>
        )}
        <select
          aria-label={t('filter')}
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value as Filter)}
        >
          {(Object.keys(FILTERS) as Filter[]).map((each) => (
            <option key={each} value={each}>
              {t(each)}
            </option>
          ))}
        </select>
      </div>
      <p class="chat-status" role="status">
        {error ?? (isLoading ? t('loading') : chats.length === 0 ? t(isFiltered ? 'noneMatch' : 'none') : '')}
      </p>
      {chats.length > 0 && (
        <OptionList
          label={t('list')}
          items={chats}
          rowPx={ROW_PX}
          keyOf={({ id }) => id}
          selected={selected}
          onOpen={onOpen}
          onNearEnd={() => void more()}
          row={(chat) => (
            <ChatRow
              chat={chat}
              isAccountShown={account === '' && accounts.filter(({ id }) => isReal(id)).length > 1}
              isOwn={accounts.some(
                ({ id, phone }) => phone !== undefined && phone === chat.phone && id === chat.accountId,
              )}
            />
          )}
        />
      )}
    </section>
  );
}

/** The accounts, the playground last; none for those who may not see accounts. */
function useAccounts(): Array<Schemas['Account']> {
  const isAllowed = useMay()('accounts:read');
  const { data } = useQuery('GET /api/accounts', isAllowed ? {} : null, ['account']);
  const all = data?.data ?? [];
  return [...all.filter(({ id }) => isReal(id)), ...all.filter(({ id }) => !isReal(id))];
}

/** The routes that may take messages of the chats shown; none for those who may not see routes. */
function useRoutes(account: string) {
  const isAllowed = useMay()('routes:read');
  const { data } = useQuery('GET /api/routes', isAllowed ? { query: { limit: 500 } } : null, ['route']);
  return (data?.data ?? []).filter(({ accountId }) =>
    account === '' ? accountId === undefined || isReal(accountId) : (accountId ?? account) === account,
  );
}

function isReal(accountId: string): boolean {
  return accountId !== PLAYGROUND;
}

/** @param props.isOwn the chat of the account owner with themselves */
function ChatRow(props: { chat: Chat; isAccountShown: boolean; isOwn: boolean }) {
  const { chat, isAccountShown, isOwn } = props;
  const t = useText();
  const shared = useShared();
  const { short } = useTimes();
  const { lastMessage: last, unanswered, failed, pause, access, isLocked, tags = [], needs = [] } = chat;
  const isUnanswered = needs.includes('unanswered');
  const words = last && (isLocked ? t('lockedHint') : plainOf(last.text) || shared(kindKey(last.kind)));
  const name = nameOf(chat);
  return (
    <>
      <span class="chat-row-line">
        <span class="chat-name">{isOwn ? t('ownChat', { name }) : name}</span>
        <span class="chat-time">{short(last?.at ?? chat.activeAt)}</span>
      </span>
      <span class="chat-row-line">
        <span class="chat-last">
          {last?.direction === 'outgoing' && !isLocked && (
            // What the owner wrote on the phone is stored as a message received.
            <TickView tick={last.state === 'ignored' ? 'sent' : tickOf(last.state)} />
          )}{' '}
          {words ?? shared('noMessages')}
        </span>
        <span class="chat-badges">
          {needs.includes('draft') && <span class="badge busy">{t('draftWaits')}</span>}
          {needs.includes('question') && <span class="badge busy">{t('questionWaits')}</span>}
          {access === 'pending' && <span class="badge busy">{t('pending')}</span>}
          {isLocked && <span class="badge">{t('locked')}</span>}
          {pause && !needs.includes('draft') && <span class="badge">{t('paused')}</span>}
          {failed > 0 && <span class="badge bad">{t('failedCount', { count: failed })}</span>}
          {unanswered > 0 ? (
            <span class={`badge ${isUnanswered ? 'bad' : 'good'}`}>
              {t('unansweredCount', { count: unanswered })}
            </span>
          ) : (
            isUnanswered && <span class="badge bad">{t('unanswered')}</span>
          )}
          {tags.slice(0, 2).map((tag) => (
            <span key={tag} class="badge">
              {tag}
            </span>
          ))}
          {isAccountShown && <span class="chat-account">{chat.accountId}</span>}
        </span>
      </span>
    </>
  );
}

/** The name of a chat: of the person or group, else the address. */
export function nameOf(chat: Chat): string {
  return chat.name ?? addressOf(chat);
}

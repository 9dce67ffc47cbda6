import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { hrefOf, navigate } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { ErrorState, Loading } from '../../components/states.tsx';
import type { PageProps } from '../../pages.ts';
import '../../conversation/conversation.css';
import './playground.css';
import { FirstAnswer } from './first-answer.tsx';
import { NewChat } from './new-chat.tsx';
import type { PlayChat } from './people.ts';
import { PlayConversation } from './play-conversation.tsx';
import { ScenariosView } from './scenarios-view.tsx';
import { useText } from './texts.ts';

/** The page Playground: invented chats, and beside them the one of the address or the scenarios. */
export function PlaygroundPage({ parts: [id] }: PageProps) {
  const t = useText();
  const chats = useQuery('GET /api/playground/chats', {}, ['chat', 'account', 'message']);
  const [isAdding, setAdding] = useState(false);
  const list: readonly PlayChat[] = chats.data?.data ?? [];
  const open = (chat: PlayChat) => {
    setAdding(false);
    chats.reload();
    navigate(`/playground/${chat.id}`);
  };
  const chat = list.find((each) => each.id === id);
  return (
    <div class={id === undefined ? 'chats playground' : 'chats playground open'}>
      {chat && (
        <h1 class="hidden" tabIndex={-1}>
          {t('title')}
        </h1>
      )}
      <section class="chat-list" aria-label={t('list')}>
        <div class="play-actions">
          <Button icon="plus" onClick={() => setAdding(true)}>
            {t('newChat')}
          </Button>
          <a class="button" href={hrefOf('/playground/scenarios')}>
            {t('scenarios')}
          </a>
        </div>
        {chats.problem && <ErrorState problem={chats.problem} retry={chats.reload} />}
        <ul class="play-list">
          {list.map((each) => (
            <li key={each.id}>
              <a
                href={hrefOf(`/playground/${each.id}`)}
                aria-current={each.id === id ? 'page' : undefined}
                class="play-chat"
              >
                <span class="chat-name">{each.name}</span>
                <span class="chat-last">
                  {each.kind === 'group'
                    ? each.people.map(({ name }) => name).join(', ')
                    : `+${each.channelId}`}
                </span>
              </a>
            </li>
          ))}
        </ul>
      </section>
      {id === 'scenarios' ? (
        <ScenariosView onBack={() => navigate('/playground')} />
      ) : chat ? (
        <PlayConversation
          key={chat.id}
          chat={chat}
          onBack={() => navigate('/playground')}
          onReplaced={open}
          onDeleted={() => {
            chats.reload();
            navigate('/playground');
          }}
        />
      ) : chats.data === undefined ? (
        <div class="play-start">{!chats.problem && <Loading />}</div>
      ) : (
        <FirstAnswer hasChats={list.length > 0} onReady={open} onChooseRoute={() => setAdding(true)} />
      )}
      {isAdding && <NewChat onClose={() => setAdding(false)} onCreated={open} />}
    </div>
  );
}

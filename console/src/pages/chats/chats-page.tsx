import { navigate } from '../../app/location.ts';
import type { PageProps } from '../../pages.ts';
import { ChatList } from './chat-list.tsx';
import { ConversationView } from './conversation-view.tsx';
import { useText } from './texts.ts';
import '../../conversation/conversation.css';

/** The page Chats: the list, and beside it the chat of the address; on a narrow screen one of both. */
export function ChatsPage({ parts: [id], query }: PageProps) {
  const t = useText();
  return (
    <div class={id === undefined ? 'chats' : 'chats open'}>
      <h1 class="hidden" tabIndex={-1}>
        {t('title')}
      </h1>
      <ChatList
        show={query.get('show')}
        {...(id !== undefined && { selected: id })}
        onOpen={(chat) => navigate(`/chats/${chat.id}`)}
      />
      {id === undefined ? (
        <p class="chat-choose hint">{t('choose')}</p>
      ) : (
        <ConversationView key={id} id={id} onBack={() => navigate('/chats')} />
      )}
    </div>
  );
}

import { useEffect, useId, useState } from 'preact/hooks';
import { call, urlOf } from '../../api/call.ts';
import { problemOf } from '../../api/problem.ts';
import { Allowed } from '../../app/caller.tsx';
import { useUnsaved } from '../../app/location.ts';
import type { Chat } from '../../conversation/chat-types.ts';
import { useText } from './texts.ts';

/** What an operator can change about a chat: pause, tags, notes; and its export. */
export function ChatDetails({ chat, onChanged }: { chat: Chat; onChanged(): void }) {
  const t = useText();
  const path = { id: chat.id };
  const [message, setMessage] = useState('');
  const act = async (work: () => Promise<unknown>) => {
    setMessage('');
    try {
      await work();
      setMessage(t('saved'));
      onChanged();
    } catch (error) {
      setMessage(t('failedAction', { error: problemOf(error).message }));
    }
  };
  return (
    <div class="chat-details">
      <p class="hint">
        {chat.channelId}
        {chat.username === undefined ? '' : ` · @${chat.username}`} · {t(chat.isGroup ? 'group' : 'person')} ·{' '}
        {chat.accountId}
      </p>
      <Allowed scope="messages:send">
        <PauseForm
          chat={chat}
          onPause={(body) => void act(() => call('POST /api/chats/{id}/pause', { path, body }))}
        />
        {chat.access !== undefined && chat.access !== 'pending' && (
          <button
            type="button"
            class="button"
            onClick={() =>
              void act(() =>
                call(
                  chat.access === 'approved' ? 'POST /api/chats/{id}/refuse' : 'POST /api/chats/{id}/approve',
                  { path },
                ),
              )
            }
          >
            {t(chat.access === 'approved' ? 'refuse' : 'approve')}
          </button>
        )}
        <TextForm
          key={`tags ${chat.id}`}
          label={t('tags')}
          hint={t('tagsHint')}
          value={(chat.tags ?? []).join(', ')}
          onSave={(text) => {
            const tags = text
              .split(',')
              .map((tag) => tag.trim().toLowerCase())
              .filter(Boolean);
            void act(() => call('PUT /api/chats/{id}/tags', { path, body: { tags } }));
          }}
        />
        <TextForm
          key={`notes ${chat.id}`}
          label={t('notes')}
          hint={t('notesHint')}
          value={chat.notes ?? ''}
          isLong
          onSave={(notes) => void act(() => call('PUT /api/chats/{id}/notes', { path, body: { notes } }))}
        />
      </Allowed>
      <p>
        <a href={urlOf('GET /api/chats/{id}/export', { path })} download={`chat-${chat.id}.jsonl`}>
          {t('export')}
        </a>
      </p>
      <p role="status">{message}</p>
    </div>
  );
}

type PauseMode = 'listen-only' | 'approve';

function PauseForm({
  chat,
  onPause,
}: {
  chat: Chat;
  onPause(body: { minutes?: number; mode: PauseMode }): void;
}) {
  const t = useText();
  const [minutes, setMinutes] = useState('30');
  const [mode, setMode] = useState<PauseMode>('listen-only');
  if (chat.pause) return null;
  return (
    <form
      class="pause-form"
      onSubmit={(event) => {
        event.preventDefault();
        onPause({ mode, ...(minutes !== '' && { minutes: Number(minutes) }) });
      }}
    >
      <label>
        {t('pauseFor')}
        <select value={minutes} onChange={(event) => setMinutes(event.currentTarget.value)}>
          <option value="30">{t('minutes30')}</option>
          <option value="120">{t('hours2')}</option>
          <option value="">{t('untilResumed')}</option>
        </select>
      </label>
      <label>
        {t('pauseMode')}
        <select value={mode} onChange={(event) => setMode(event.currentTarget.value as PauseMode)}>
          <option value="listen-only">{t('listenOnly')}</option>
          <option value="approve">{t('approveMode')}</option>
        </select>
      </label>
      <button type="submit" class="button">
        {t('pause')}
      </button>
    </form>
  );
}

interface TextFormProps {
  label: string;
  hint: string;
  value: string;
  isLong?: boolean;
  onSave(text: string): void;
}

function TextForm({ label, hint, value, isLong = false, onSave }: TextFormProps) {
  const t = useText();
  const id = useId();
  const [text, setText] = useState(value);
  const [isTyping, setIsTyping] = useState(false);
  useUnsaved(() => isTyping && text !== value);
  // Another operator's change is shown unless this one is typing.
  useEffect(() => {
    if (!isTyping) setText(value);
  }, [value]);
  const field = {
    value: text,
    onInput: (event: { currentTarget: { value: string } }) => {
      setIsTyping(true);
      setText(event.currentTarget.value);
    },
  };
  return (
    <form
      class="text-form"
      onSubmit={(event) => {
        event.preventDefault();
        setIsTyping(false);
        onSave(text);
      }}
    >
      <label for={id}>{label}</label>
      {isLong ? <textarea id={id} rows={3} maxLength={2000} {...field} /> : <input id={id} {...field} />}
      <span class="hint">{hint}</span>
      <button type="submit" class="button" disabled={text === value}>
        {t('save')}
      </button>
    </form>
  );
}

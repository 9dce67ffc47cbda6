import { useRef, useState } from 'preact/hooks';
import { useUnsaved } from '../../app/location.ts';
import type { Chat } from '../../conversation/chat-types.ts';
import { nameOf } from './chat-list.tsx';
import { newKey, sendByHand } from './send-by-hand.ts';
import { useText } from './texts.ts';

/** Writes to a chat as a person, which pauses its agent. */
export function Composer({ chat, onSent }: { chat: Chat; onSent(): void }) {
  const t = useText();
  const [text, setText] = useState('');
  const [file, setFile] = useState<File>();
  const [error, setError] = useState<string>();
  const [isSending, setIsSending] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  // The same for a repeat of this message, so that it is sent once.
  const key = useRef(newKey());

  useUnsaved(() => text.trim() !== '' || file !== undefined);

  const send = async () => {
    if (isSending || (text.trim() === '' && !file)) return;
    setIsSending(true);
    setError(undefined);
    try {
      await sendByHand(chat, key.current, text, file);
      key.current = newKey();
      setText('');
      setFile(undefined);
      if (input.current) input.current.value = '';
      onSent();
    } catch (cause) {
      setError((cause as Error).message);
    } finally {
      setIsSending(false);
    }
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {error && (
        <p class="error" role="alert">
          {t('failedAction', { error })}
        </p>
      )}
      {file && (
        <p class="composer-file">
          {file.name}{' '}
          <button type="button" class="link" onClick={() => setFile(undefined)}>
            {t('removeFile')}
          </button>
        </p>
      )}
      <textarea
        rows={2}
        aria-label={t('write', { name: nameOf(chat) })}
        aria-describedby="write-hint"
        placeholder={t('write', { name: nameOf(chat) })}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div class="composer-actions">
        <span id="write-hint" class="hint">
          {t('writeHint')}
        </span>
        <label class="button">
          {t('attach')}
          <input
            ref={input}
            type="file"
            class="hidden"
            onChange={(event) => setFile(event.currentTarget.files?.[0])}
          />
        </label>
        <button type="submit" class="button main" disabled={isSending || (text.trim() === '' && !file)}>
          {t('send')}
        </button>
      </div>
    </form>
  );
}

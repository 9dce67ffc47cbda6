import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useAction } from '../../api/use-action.ts';
import { useUnsaved } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import type { PlayChat } from './people.ts';
import { useText } from './texts.ts';
import { useRecorder } from './use-recorder.ts';
import { WhoAnswers } from './who-answers.tsx';
import { fileOf, MAX_FILE_BYTES, write, writeVoice } from './write.ts';

/** What the next text is about: a message that it quotes, or one that it replaces. */
export interface About {
  kind: 'quote' | 'edit';
  /** Id of the message. */
  id: string;
  text: string;
  /** The person who wrote it; absent: the account did. */
  as?: string;
}

/** Writes as an invented person: text, files, voice messages. */
export function PlayComposer(props: {
  chat: PlayChat;
  as: string;
  onAs(name: string): void;
  about: About | undefined;
  onDone(): void;
}) {
  const { chat, as, onAs, about, onDone } = props;
  const t = useText();
  const [text, setText] = useState('');
  const [file, setFile] = useState<File>();
  const [isMention, setMention] = useState(chat.kind === 'group');
  const [problem, setProblem] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const recorder = useRecorder();
  const writerId = useId();
  useEffect(() => {
    if (about?.kind === 'edit') setText(about.text);
    area.current?.focus();
  }, [about, chat.id]);

  useUnsaved(() => (text.trim() !== '' && text !== about?.text) || file !== undefined);

  const clearFile = () => {
    setFile(undefined);
    if (input.current) input.current.value = '';
  };
  const send = useAction(async () => {
    if (about?.kind === 'edit') {
      await write(chat.id, { as: about.as ?? as, edit: about.id, text });
    } else {
      await write(chat.id, {
        as,
        ...(text.trim() !== '' && { text }),
        ...(file && { file: await fileOf(file, file.name) }),
        ...(about && { quote: about.id }),
        ...(isMention && chat.kind === 'group' && { mention: true }),
      });
    }
    setText('');
    clearFile();
    onDone();
  });
  const record = useAction(async () => {
    setProblem(undefined);
    await recorder.start().catch(() => setProblem(t('noMicrophone')));
  });
  const sendVoice = useAction(async () => {
    await writeVoice(chat.id, as, await recorder.stop());
    onDone();
  });
  const isEmpty = text.trim() === '' && !file;
  const submit = () => {
    if (!isEmpty && !send.isRunning) void send.run();
  };
  const shown = problem ?? send.problem?.message ?? sendVoice.problem?.message;

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <WhoAnswers
        chat={chat}
        as={as}
        text={text}
        isMention={isMention}
        quotesUs={about?.kind === 'quote' && about.as === undefined}
      />
      {shown && (
        <p class="error" role="alert">
          {t('failedAction', { error: shown })}
        </p>
      )}
      {about && (
        <p class="composer-file">
          {t(about.kind === 'quote' ? 'replyTo' : 'editing', { text: about.text.slice(0, 60) })}{' '}
          <button type="button" class="link" onClick={onDone}>
            {t('cancel')}
          </button>
        </p>
      )}
      {file && (
        <p class="composer-file">
          {file.name}{' '}
          <button type="button" class="link" onClick={clearFile}>
            {t('removeFile')}
          </button>
        </p>
      )}
      <textarea
        ref={area}
        rows={2}
        aria-label={t('write', { name: as })}
        placeholder={t('write', { name: as })}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      {recorder.seconds === undefined ? (
        <div class="composer-actions">
          {chat.kind === 'group' && (
            <>
              <span class="play-as">
                <label for={writerId}>{t('writeAs')}</label>
                <select id={writerId} value={as} onInput={({ currentTarget }) => onAs(currentTarget.value)}>
                  {chat.people.map(({ name }) => (
                    <option key={name} value={name}>
                      {name}
                    </option>
                  ))}
                </select>
              </span>
              <label class="play-as">
                <input
                  type="checkbox"
                  checked={isMention}
                  onInput={({ currentTarget }) => setMention(currentTarget.checked)}
                />{' '}
                {t('mention')}
              </label>
            </>
          )}
          <span class="play-space" />
          <label class="button">
            {t('attach')}
            <input
              ref={input}
              type="file"
              class="hidden"
              onChange={({ currentTarget }) => {
                const chosen = currentTarget.files?.[0];
                const isTooLarge = (chosen?.size ?? 0) > MAX_FILE_BYTES;
                setProblem(isTooLarge ? t('tooLarge') : undefined);
                setFile(isTooLarge ? undefined : chosen);
              }}
            />
          </label>
          {recorder.isAvailable && (
            <Button icon="microphone" label={t('record')} onClick={() => void record.run()} />
          )}
          <Button type="submit" kind="main" isBusy={send.isRunning} isDisabled={isEmpty}>
            {t('send')}
          </Button>
        </div>
      ) : (
        <div class="composer-actions" role="status">
          <span class="play-space">{t('recording', { seconds: recorder.seconds })}</span>
          <Button onClick={recorder.cancel}>{t('cancel')}</Button>
          <Button kind="main" isBusy={sendVoice.isRunning} onClick={() => void sendVoice.run()}>
            {t('stop')}
          </Button>
        </div>
      )}
    </form>
  );
}

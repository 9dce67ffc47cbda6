import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { Allowed } from '../../app/caller.tsx';
import { useUnsaved } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import type { Draft } from '../../conversation/chat-types.ts';
import { useText } from './texts.ts';

/** The text of all parts of a draft. */
function textOfDraft({ replies }: Draft): string {
  return replies
    .map(({ text }) => text)
    .filter(Boolean)
    .join('\n\n');
}

/** Sends a draft as it is or with another text, or drops it. */
export function DraftActions({ draft, onChanged }: { draft: Draft; onChanged(): void }) {
  const t = useText();
  const given = textOfDraft(draft);
  const [text, setText] = useState<string>();
  useUnsaved(() => text !== undefined && text !== given);
  const path = { id: draft.id };
  const send = useAction(async () => {
    const isChanged = text !== undefined && text !== given;
    await call('POST /api/drafts/{id}/approve', { path, body: isChanged ? { text } : {} });
    onChanged();
  });
  const drop = useAction(async () => {
    await call('POST /api/drafts/{id}/drop', { path });
    onChanged();
  });
  return (
    <Allowed scope="messages:send">
      <form
        class="draft-actions"
        aria-label={t('draftFor', { text: draft.question.slice(0, 60) })}
        onSubmit={(event) => {
          event.preventDefault();
          void send.run();
        }}
      >
        {text !== undefined && (
          <textarea
            rows={4}
            aria-label={t('draftText')}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        <Button type="submit" kind="main" isBusy={send.isRunning} isDisabled={text?.trim() === ''}>
          {t('sendDraft')}
        </Button>
        {text === undefined && <Button onClick={() => setText(given)}>{t('changeDraft')}</Button>}
        <Button isBusy={drop.isRunning} onClick={() => void drop.run()}>
          {t('dropDraft')}
        </Button>
      </form>
    </Allowed>
  );
}

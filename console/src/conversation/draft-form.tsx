import { useId, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { Allowed } from '../app/caller.tsx';
import { useTexts } from '../app/language.ts';
import { useUnsaved } from '../app/location.ts';
import { Button } from '../components/button.tsx';
import type { Draft } from './chat-types.ts';
import { filled } from './filled.ts';
import { kindKey, useText } from './texts.ts';

/** A draft: its text, which can be changed, and what to do with it. `act` runs the decision. */
export function DraftForm(props: {
  draft: Draft;
  isBusy?: boolean;
  act(work: () => Promise<unknown>, decision: 'sent' | 'dropped'): void;
}) {
  const { draft, isBusy = false, act } = props;
  const text = useTexts('chats');
  const shared = useText();
  const id = useId();
  const given = draft.replies
    .map((reply) => reply.text)
    .filter(Boolean)
    .join('\n\n');
  const [written, setWritten] = useState(given);
  useUnsaved(() => written !== given);
  const path = { id: draft.id };
  const files = draft.replies.flatMap(({ media }) => (media ? [shared(kindKey(media.kind))] : []));
  return (
    <form
      class="notice draft"
      onSubmit={(event) => {
        event.preventDefault();
        const body = written === given ? {} : { text: written };
        act(() => call('POST /api/drafts/{id}/approve', { path, body }), 'sent');
      }}
    >
      <p id={id}>{filled(text.draftFor, { text: draft.question.slice(0, 120) })}</p>
      <textarea
        rows={3}
        aria-label={text.draftText}
        aria-describedby={id}
        value={written}
        onInput={(event) => setWritten(event.currentTarget.value)}
      />
      {files.length > 0 && <p class="hint">{files.join(', ')}</p>}
      <Allowed scope="messages:send">
        <div class="actions">
          <Button type="submit" kind="main" isBusy={isBusy}>
            {text.sendDraft}
          </Button>
          <Button
            isDisabled={isBusy}
            onClick={() => act(() => call('POST /api/drafts/{id}/drop', { path }), 'dropped')}
          >
            {text.dropDraft}
          </Button>
        </div>
      </Allowed>
    </form>
  );
}

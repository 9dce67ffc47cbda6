import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { Badge } from '../../components/page.tsx';
import { ErrorState } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { addressOf } from '../../conversation/conversation.ts';
import { Reason } from '../../translation/service-text.tsx';
import { createBody, patchBody } from './route-bodies.ts';
import type { RouteDraft } from './route-draft.ts';
import { TryPart } from './try-part.tsx';

/** What a route as it is written would have changed for the last messages. */
export function RoutePreview(props: { draft: RouteDraft; before?: Schemas['Route']; isDisabled: boolean }) {
  const { draft, before } = props;
  const text = useTexts('routes');
  const [found, setFound] = useState<Schemas['RoutePreview']>();
  const preview = useAction(async () => {
    setFound(undefined);
    const body = before
      ? { change: { id: before.id, patch: patchBody(before, draft) } }
      : { create: createBody(draft) };
    setFound((await call('POST /api/routes/preview', { body })).data);
  });
  return (
    <TryPart
      title={text.preview}
      hint={text.previewHint}
      action={
        <Button isBusy={preview.isRunning} isDisabled={props.isDisabled} onClick={() => void preview.run()}>
          {text.previewNow}
        </Button>
      }
    >
      <div aria-live="polite" class="stack">
        {preview.problem && <ErrorState problem={preview.problem} />}
        {found && <PreviewView preview={found} />}
      </div>
    </TryPart>
  );
}

/** How many messages would get another route, and which. */
export function PreviewView({ preview }: { preview: Schemas['RoutePreview'] }) {
  const text = useTexts('routes');
  const { checked, isComplete, changed, groups, messages } = preview;
  const differing = groups.filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
  return (
    <>
      <p>
        <Badge mood={changed === 0 ? 'good' : 'busy'}>{`${changed} / ${checked}`}</Badge>{' '}
        {checked === 0 ? text.noMessages : changed === 0 ? text.nothingDiffers : text.differ}
      </p>
      {!isComplete && <p class="notice busy">{text.timeOver}</p>}
      {differing.length > 0 && (
        <ul>
          {differing.map(({ before, after, messages: count }) => (
            <li key={JSON.stringify([before, after])}>
              {count} × <Choice choice={before} /> → <Choice choice={after} />
            </li>
          ))}
        </ul>
      )}
      {messages.length > 0 && (
        <details>
          <summary>{text.messagesThatDiffer}</summary>
          <Table
            caption={text.messagesThatDiffer}
            rows={messages}
            keyOf={({ id }) => id}
            columns={[
              {
                title: text.chat,
                cell: ({ chatId, channelId, username }) => (
                  <a href={hrefOf(`/chats/${chatId}`)}>
                    {channelId === undefined ? chatId : addressOf({ channelId, username })}
                  </a>
                ),
              },
              { title: text.when, cell: ({ receivedAt }) => <Time at={receivedAt} /> },
              { title: text.message, cell: ({ text: words }) => <span>{words}</span> },
              { title: text.before, cell: ({ before }) => <Choice choice={before} /> },
              { title: text.after, cell: ({ after }) => <Choice choice={after} /> },
            ]}
          />
        </details>
      )}
    </>
  );
}

function Choice({ choice }: { choice: Schemas['PreviewChoice'] }) {
  const text = useTexts('routes');
  const { routeId, isNew, name, reason } = choice;
  if (reason !== undefined) {
    return (
      <span>
        {text.noRoute} (<Reason code={reason} />)
      </span>
    );
  }
  return <strong>{name ?? (isNew ? text.thisRoute : routeId)}</strong>;
}

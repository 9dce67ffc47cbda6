import './webhooks.css';
import { useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import type { PageProps } from '../../pages.ts';
import { ServiceText } from '../../translation/service-text.tsx';
import { WebhookActions } from './webhook-actions.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookLog } from './webhook-log.tsx';

export type Webhook = Schemas['Webhook'];

/** Webhooks: add, edit, test, and the delivery log of each. */
export function WebhooksPage({ parts: [opened] }: PageProps) {
  const text = useTexts('webhooks');
  const webhooks = useQuery('GET /api/webhooks', {}, ['webhook']);
  const [isAdding, setAdding] = useState(false);
  const shown = webhooks.data?.data.find(({ id }) => id === opened);
  if (opened !== undefined && shown) return <WebhookLog webhook={shown} reload={webhooks.reload} />;
  return (
    <PageFrame
      title={text.title}
      lead={text.lead}
      actions={
        <Button kind="main" icon="plus" scope="webhooks:manage" onClick={() => setAdding(true)}>
          {text.add}
        </Button>
      }
    >
      <Loaded query={webhooks}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon="hook" title={text.none}>
              <p>{text.noneHint}</p>
            </EmptyState>
          ) : (
            <Card>
              <Table
                caption={text.title}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    title: text.url,
                    cell: ({ id, url, accountId }) => (
                      <div class="webhook-url">
                        <a href={hrefOf(`/webhooks/${id}`)}>{url}</a>
                        <p class="faint">{accountId ?? text.allAccounts}</p>
                      </div>
                    ),
                  },
                  { title: text.events, cell: ({ events }) => <Events events={events} /> },
                  { title: text.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
                  {
                    title: text.actions,
                    isTitleHidden: true,
                    cell: (webhook) => <WebhookActions webhook={webhook} reload={webhooks.reload} />,
                  },
                ]}
              />
            </Card>
          )
        }
      </Loaded>
      {isAdding && <WebhookForm onClose={() => setAdding(false)} reload={webhooks.reload} />}
    </PageFrame>
  );
}

/** The names of events. */
export function Events({ events }: { events: Webhook['events'] }) {
  return (
    <span class="badges">
      {events.map((event) => (
        <Badge key={event} mood="quiet">
          {event}
        </Badge>
      ))}
    </span>
  );
}

/** Whether events are sent, and whether they arrive. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  const text = useTexts('webhooks');
  const { enabled, failures, disabledReason, disabledPhrase, pausedUntil, waiting } = webhook;
  const queue = (
    <>
      {waiting > 0 && <p class="faint">{text.waiting(waiting)}</p>}
      {enabled && pausedUntil !== undefined && (
        <p class="faint">
          {text.paused} {Date.parse(pausedUntil) > Date.now() ? <Time at={pausedUntil} /> : text.now}
        </p>
      )}
    </>
  );
  if (!enabled) {
    return (
      <div>
        <Badge mood={disabledReason === undefined ? 'quiet' : 'bad'}>{text.off}</Badge>
        {disabledReason !== undefined && (
          <p class="faint">
            <ServiceText text={disabledReason} phrase={disabledPhrase} />
          </p>
        )}
        {queue}
      </div>
    );
  }
  return (
    <div>
      {failures > 0 ? (
        <>
          <Badge mood="busy">{text.failing}</Badge>
          <p class="faint">{text.failures(failures)}</p>
        </>
      ) : (
        <Badge mood="good">{text.on}</Badge>
      )}
      {queue}
    </div>
  );
}

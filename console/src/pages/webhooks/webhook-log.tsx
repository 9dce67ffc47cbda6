import { useEffect, useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { SelectField } from '../../components/form.tsx';
import { Badge, Card, type Mood, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { ServiceText } from '../../translation/service-text.tsx';
import { WebhookActions } from './webhook-actions.tsx';
import { Events, type Webhook, WebhookState } from './webhooks-page.tsx';

type Delivery = Schemas['WebhookDelivery'];

/** While events wait. */
const RELOAD_EVERY_MS = 3_000;

const MOODS: Record<Delivery['state'], Mood> = { pending: 'busy', delivered: 'good', dead: 'bad' };

/** One webhook, and what became of its events. */
export function WebhookLog({ webhook, reload }: { webhook: Webhook; reload: () => void }) {
  const text = useTexts('webhooks');
  const [state, setState] = useState('');
  const [cursor, setCursor] = useState<string>();
  const path = { id: webhook.id };
  const query = { limit: 50, ...(state !== '' && { state: state as Delivery['state'] }), cursor };
  const log = useQuery('GET /api/webhooks/{id}/deliveries', { path, query }, [
    'webhook',
    'delivery',
    'message',
  ]);
  const isWaiting = log.data?.data.some((each) => each.state === 'pending') ?? false;
  useEffect(() => {
    // Attempts are not live events.
    if (!isWaiting) return;
    const timer = setInterval(() => {
      if (document.hidden) return;
      log.reload();
      reload();
    }, RELOAD_EVERY_MS);
    return () => clearInterval(timer);
  }, [isWaiting, log.reload, reload]);
  const retry = useAction(async (deliveryId: string) => {
    const id = webhook.id;
    await call('POST /api/webhooks/{id}/deliveries/{deliveryId}/retry', { path: { id, deliveryId } });
    log.reload();
  }, text.retried);
  const choose = (next: string) => {
    setCursor(undefined);
    setState(next);
  };
  const options = ['', ...Object.keys(MOODS)].map((value) => ({
    value,
    label: value === '' ? text.all : text.states[value as Delivery['state']],
  }));
  return (
    <PageFrame
      title={webhook.url}
      back={{ href: hrefOf('/webhooks'), title: text.back }}
      actions={<WebhookActions webhook={webhook} reload={reload} />}
    >
      <div class="webhook-facts">
        <WebhookState webhook={webhook} />
        <Events events={webhook.events} />
        <span class="faint">{webhook.accountId ?? text.allAccounts}</span>
      </div>
      <Card title={text.log}>
        <div class="stack">
          <div class="webhook-state">
            <SelectField label={text.show} value={state} onInput={choose} options={options} />
          </div>
          <Loaded query={log}>
            {({ data, next }) => (
              <>
                {data.length === 0 ? (
                  <EmptyState icon="hook" title={text.logNone}>
                    <p>{text.logNoneHint}</p>
                  </EmptyState>
                ) : (
                  <Table
                    caption={text.log}
                    rows={data}
                    keyOf={({ id }) => id}
                    columns={[
                      { title: text.event, cell: ({ event }) => <code>{event}</code> },
                      { title: text.when, cell: ({ createdAt }) => <Time at={createdAt} /> },
                      {
                        title: text.result,
                        cell: (delivery) => <Result delivery={delivery} webhook={webhook} />,
                      },
                      { title: text.attempts, isNumber: true, cell: ({ attempts }) => attempts },
                      {
                        title: text.actions,
                        isTitleHidden: true,
                        cell: ({ id, state: now }) =>
                          now === 'dead' && (
                            <div class="actions">
                              <Button isDisabled={retry.isRunning} onClick={() => void retry.run(id)}>
                                {text.retry}
                              </Button>
                            </div>
                          ),
                      },
                    ]}
                  />
                )}
                <div class="actions end">
                  {cursor !== undefined && (
                    <Button onClick={() => setCursor(undefined)}>{text.newest}</Button>
                  )}
                  {next !== undefined && <Button onClick={() => setCursor(next)}>{text.more}</Button>}
                </div>
              </>
            )}
          </Loaded>
        </div>
      </Card>
    </PageFrame>
  );
}

function Result({ delivery, webhook }: { delivery: Delivery; webhook: Webhook }) {
  const text = useTexts('webhooks');
  const { state, status, error, phrase, dueAt, waitsFor } = delivery;
  return (
    <div>
      <Badge mood={MOODS[state]}>{text.states[state]}</Badge>{' '}
      {status !== undefined && <span class="faint">{text.status(String(status))}</span>}
      {error !== undefined && state !== 'delivered' && (
        <p class="faint">
          <ServiceText text={error} phrase={phrase} />
        </p>
      )}
      {dueAt !== undefined && (
        <p class="faint">
          {text.next}: {Date.parse(dueAt) > Date.now() ? <Time at={dueAt} /> : text.now}
        </p>
      )}
      {waitsFor !== undefined && <p class="faint">{text.behind}</p>}
      {state === 'pending' && !webhook.enabled && <p class="faint">{text.whileOff}</p>}
    </div>
  );
}

import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PostgresAccountDeletion } from '../../../router/src/features/accounts/feature.ts';
import { PostgresAccountStore } from '../../../router/src/features/accounts/postgres-account-store.ts';
import { PostgresDeadLetters } from '../../../router/src/features/dead-letters/dead-letters.ts';
import { PostgresDrafts } from '../../../router/src/features/drafts/postgres-drafts.ts';
import { type EventToSend, eventBody } from '../../../router/src/features/webhooks/send-event.ts';
import { PostgresWebhookDeliveries } from '../../../router/src/features/webhooks/webhook-deliveries.ts';
import {
  PostgresWebhooks,
  type Webhook,
  type WebhookEvent,
} from '../../../router/src/features/webhooks/webhooks.ts';
import { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { aMessage, anAccount, answered, aPerson, aReply, NODE } from '../../contracts/adapters.ts';
import { countRows, createTestDatabase, testDatabase } from '../../support/database.ts';
import { createRole } from '../../support/database-role.ts';

const database = testDatabase();
let postgres: Postgres;
let inbox: PostgresInbox;
let outbox: PostgresOutbox;
let webhooks: PostgresWebhooks;
let deliveries: PostgresWebhookDeliveries;
let accountId: string;

beforeAll(async () => {
  postgres = database.open();
  inbox = new PostgresInbox(postgres);
  outbox = new PostgresOutbox(postgres);
  webhooks = new PostgresWebhooks(postgres);
  deliveries = new PostgresWebhookDeliveries(postgres);
});
beforeEach(() => {
  accountId = anAccount();
});

const listen = (...events: WebhookEvent[]): Promise<Webhook> =>
  webhooks.create({
    id: randomUUID(),
    url: 'https://example.com/hook',
    events: events.length > 0 ? events : ['message', 'reply', 'delivery', 'account-state', 'dead-letter'],
    accountId,
    secret: 'a secret of the webhook',
    enabled: true,
  });

/** The bodies of the events that a webhook has not got, oldest first. */
async function bodiesOf({ id }: Webhook): Promise<Array<Record<string, unknown>>> {
  const rows = await postgres.query<EventToSend>(sql`
    SELECT event_id AS "eventId", event, account_id AS "accountId", created_at AS at, facts FROM webhook_delivery
    WHERE webhook_id = ${id} ORDER BY id`);
  return rows.map(eventBody);
}

const triggers = () =>
  countRows(postgres, sql`pg_trigger WHERE tgname IN ('webhook_insert', 'webhook_update')`);

describe('events of webhooks', () => {
  it('have no trigger before the first webhook, and two for each table from then on', async () => {
    expect(await triggers()).toBe(0);
    await listen('message');
    expect(await triggers()).toBe(8);
    await listen('message');
    expect(await triggers()).toBe(8);
  });

  it('can be wanted by a database user who does not own the tables', async () => {
    const own = await createTestDatabase();
    const role = await createRole(own);
    const client = new Postgres(role.url, { poolSize: 1 });
    try {
      const webhook = {
        id: 'w',
        url: 'http://a',
        events: ['message' as const],
        secret: 's',
        enabled: true,
      };
      await new PostgresWebhooks(client).create(webhook);
      await new PostgresInbox(client).add(aMessage(accountId, aPerson()), NODE);
      expect(await new PostgresWebhookDeliveries(client).claim(1, new Map(), 1_000)).toHaveLength(1);
    } finally {
      await client.close();
      await role.drop();
      await own.drop();
    }
  });

  it('report a message once, with its text, also when WhatsApp delivers it again', async () => {
    const webhook = await listen('message');
    const person = aPerson();
    const message = aMessage(accountId, person, { text: 'hello', quotedText: 'before' });
    const { messageId } = await inbox.add(message, NODE);
    await inbox.add(message, NODE);
    await inbox.finishTurn(messageId, answered([aReply(accountId, `${person.phone}@s.whatsapp.net`)]));
    expect(await bodiesOf(webhook)).toMatchObject([
      {
        event: 'message',
        id: messageId,
        messageId: message.waMessageId,
        text: 'hello',
        quotedText: 'before',
        channelId: person.phone,
        from: `${person.phone}@s.whatsapp.net`,
        lid: `${person.lid}@lid`,
        name: 'Ana',
        accountId,
        reason: null,
        timestamp: '2026-01-01T12:00:00.000Z',
      },
    ]);
  });

  it('report a message that could not be decrypted when it can be read', async () => {
    const webhook = await listen('message');
    const message = aMessage(accountId, aPerson());
    await inbox.add({ ...message, kind: 'undecryptable', text: '', ignoredReason: 'undecryptable' }, NODE);
    expect(await bodiesOf(webhook)).toEqual([]);
    await inbox.add({ ...message, text: 'readable' }, NODE);
    expect(await bodiesOf(webhook)).toMatchObject([{ event: 'message', text: 'readable' }]);
  });

  it('report a reply, and each state of its delivery once, in their order', async () => {
    const webhook = await listen('reply', 'delivery');
    const person = aPerson();
    const { messageId } = await inbox.add(aMessage(accountId, person), NODE);
    const reply = aReply(accountId, `${person.phone}@s.whatsapp.net`, 'answer');
    const { replies } = await inbox.finishTurn(messageId, answered([reply]));
    const outboxId = replies[0]?.outboxId ?? '';
    await outbox.markSending(outboxId);
    await outbox.markSent(outboxId);
    const receipt = (state: 'acked' | 'delivered' | 'read') =>
      outbox.recordReceipts(accountId, [{ waMessageId: reply.waMessageId, state, atMs: Date.now() }]);
    for (const state of ['acked', 'delivered', 'delivered', 'read', 'acked'] as const) await receipt(state);
    const ids = { id: outboxId, messageId: reply.waMessageId, replyToId: messageId, channelId: person.phone };
    expect(await bodiesOf(webhook)).toMatchObject([
      { event: 'reply', ...ids, kind: 'text', text: 'answer', byHand: false },
      { event: 'delivery', ...ids, state: 'acked' },
      { event: 'delivery', ...ids, state: 'delivered' },
      { event: 'delivery', ...ids, state: 'read' },
    ]);
  });

  it('report a draft when it is approved, and none that is dropped', async () => {
    const webhook = await listen('reply');
    const drafts = new PostgresDrafts(postgres);
    for (const isApproved of [true, false]) {
      const person = aPerson();
      const { messageId } = await inbox.add(aMessage(accountId, person), NODE);
      const replies = [aReply(accountId, `${person.phone}@s.whatsapp.net`, 'a draft')];
      await inbox.finishTurn(messageId, { state: 'answered', reason: 'draft', isDraft: true, replies });
      expect(await bodiesOf(webhook)).toHaveLength(isApproved ? 0 : 1);
      if (isApproved) await drafts.approve(messageId, 'better');
      else await drafts.drop(messageId);
    }
    expect(await bodiesOf(webhook)).toMatchObject([{ event: 'reply', text: 'better' }]);
  });

  it('report the text of a message to a person, and never the secret of a poll', async () => {
    const webhook = await listen('reply');
    const to = `${aPerson().phone}@s.whatsapp.net`;
    const special = {
      kind: 'poll' as const,
      question: 'Which?',
      options: ['a', 'b'],
      selectable: 1,
      secret: 'c2VjcmV0',
    };
    await outbox.addDirect(aReply(accountId, to, 'news'), { byHand: { pauseMs: 0 } });
    await outbox.addDirect({ ...aReply(accountId, to, ''), special });
    const bodies = await bodiesOf(webhook);
    expect(bodies).toMatchObject([
      { kind: 'text', text: 'news', byHand: true, replyToId: null },
      { kind: 'poll', byHand: false },
    ]);
    expect(JSON.stringify(bodies)).not.toContain('c2VjcmV0');
  });

  it('report what was given up, again after a replay that failed', async () => {
    const webhook = await listen('dead-letter');
    const { messageId } = await inbox.add(aMessage(accountId, aPerson()), NODE);
    const dead = { state: 'dead' as const, reason: 'AGENT_TIMEOUT' as const, error: 'Late.', replies: [] };
    await inbox.finishTurn(messageId, dead);
    const rows = await bodiesOf(webhook);
    expect(rows).toMatchObject([
      { event: 'dead-letter', id: messageId, direction: 'incoming', reason: 'AGENT_TIMEOUT', error: 'Late.' },
    ]);
    await new PostgresDeadLetters(postgres).replay(String(rows[0]?.deadLetterId), NODE);
    expect(await bodiesOf(webhook)).toHaveLength(1);
    await inbox.finishTurn(messageId, dead);
    const { row } = await outbox.addDirect(aReply(accountId, `${aPerson().phone}@s.whatsapp.net`));
    await outbox.markDead(row.id, { sentence: 'It was refused.' });
    expect(await bodiesOf(webhook)).toMatchObject([
      {},
      { id: messageId, deadLetterId: rows[0]?.deadLetterId },
      { id: row.id, direction: 'outgoing', reason: 'send-failed' },
    ]);
  });

  it('report states of an account, each change once', async () => {
    const webhook = await listen('account-state');
    const accounts = new PostgresAccountStore(postgres);
    for (const state of ['starting', 'open', 'open'] as const)
      await accounts.save(accountId, { state, phone: '34600' as never });
    await accounts.save(accountId, { state: 'logged-out', reason: 'The phone removed the link.' });
    expect(await bodiesOf(webhook)).toMatchObject([
      { event: 'account-state', state: 'starting' },
      { event: 'account-state', state: 'open', reason: null, number: '34600' },
      { event: 'account-state', state: 'logged-out', reason: 'The phone removed the link.' },
    ]);
  });

  it('are stored in the transaction that they report, or not at all', async () => {
    const webhook = await listen('message');
    await expect(
      postgres.transaction(async (transaction) => {
        await new PostgresInbox(transaction as Postgres).add(aMessage(accountId, aPerson()), NODE);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await bodiesOf(webhook)).toEqual([]);
  });

  it('stay in their order when two chats turn out to be one person', async () => {
    const webhook = await listen('message');
    const { phone, lid } = aPerson();
    await inbox.add(aMessage(accountId, { phone }, { text: 'one' }), NODE);
    await inbox.add(aMessage(accountId, { lid }, { text: 'two' }), NODE);
    await inbox.add(aMessage(accountId, { phone, lid }, { text: 'three' }), NODE);
    const claimed: unknown[] = [];
    for (;;) {
      const due = await deliveries.claim(10, new Map(), 60_000);
      if (due.length === 0) break;
      const ours = due.filter(({ webhookId }) => webhookId === webhook.id);
      if (ours.length > 0) claimed.push(ours.map(({ facts }) => facts.text));
      for (const delivery of due) await deliveries.markDelivered(delivery, 200);
    }
    expect(claimed).toEqual([['one'], ['two'], ['three']]);
  });

  it('are deleted with their account, and so is a webhook for this account only', async () => {
    const webhook = await listen();
    await new PostgresAccountStore(postgres).save(accountId, { state: 'open' });
    await inbox.add(aMessage(accountId, aPerson()), NODE);
    expect((await bodiesOf(webhook)).length).toBeGreaterThan(1);
    const deletion = new PostgresAccountDeletion(postgres);
    await deletion.close(accountId);
    while ((await deletion.deleteRows(accountId, 100)) > 0);
    expect(await countRows(postgres, sql`webhook_delivery WHERE account_id = ${accountId}`)).toBe(0);
    expect(await webhooks.get(webhook.id)).toBeUndefined();
  });
});

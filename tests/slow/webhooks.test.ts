import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startNodeCluster } from '../support/node-cluster.ts';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { type ReceivedEvent, WebhookReceiver } from '../support/webhook-receiver.ts';

/** Adds a webhook for this receiver. @returns its id */
async function listen(service: Wa2aiProcess, receiver: WebhookReceiver, events: string[]): Promise<string> {
  const { status, body } = await service.api('POST', '/api/webhooks', {
    ...{ url: receiver.url, events, secret: WebhookReceiver.SECRET },
  });
  if (status !== 201) throw new Error(`the webhook was not added: ${JSON.stringify(body)}`);
  return (body.data as { id: string }).id;
}

/** The delivery log of a webhook, newest first. */
async function logOf(service: Wa2aiProcess, id: string): Promise<Array<Record<string, unknown>>> {
  const { body } = await service.api('GET', `/api/webhooks/${id}/deliveries?limit=500`);
  return body.data as Array<Record<string, unknown>>;
}

const textsOf = (events: ReceivedEvent[]) => events.map(({ body }) => body.text);
const idsOf = (events: ReceivedEvent[]) => events.map(({ body }) => body.eventId);

describe('a webhook', () => {
  let bed: TestBed;
  let receiver: WebhookReceiver;
  const ids: string[] = [];

  beforeAll(async () => {
    bed = await TestBed.startPaired();
  });
  afterAll(() => bed.close());
  beforeEach(async () => {
    receiver = await WebhookReceiver.start();
  });
  afterEach(async () => {
    for (const id of ids.splice(0)) await bed.service.api('DELETE', `/api/webhooks/${id}`);
    await receiver.stop();
  });

  const add = async (events: string[], to = receiver) => {
    const id = await listen(bed.service, to, events);
    ids.push(id);
    return id;
  };

  it('gets a message, its reply and the reply on the phone, signed and in this order, and a test event', async () => {
    const id = await add(['message', 'reply', 'delivery']);
    const { body: test } = await bed.service.api('POST', `/api/webhooks/${id}/test`);
    expect(test.data).toMatchObject({ isDelivered: true, status: 200 });
    const ana = bed.person({ name: 'Ana' });
    const waMessageId = await ana.say('hello', { to: bed.phone });
    await ana.nextReply();
    const taken = await receiver.takes(4);
    expect(taken.every(({ isSigned }) => isSigned)).toBe(true);
    expect(taken.every(({ key, body }) => key === body.eventId)).toBe(true);
    expect(taken.map(({ body }) => body.event).slice(0, 3)).toEqual(['test', 'message', 'reply']);
    const [, message, reply, delivery] = taken.map(({ body }) => body);
    expect(message).toMatchObject({ text: 'hello', chatInput: 'hello', name: 'Ana', messageId: waMessageId });
    expect(reply).toMatchObject({ text: 'Echo: hello', replyToId: message.id, channelId: message.channelId });
    expect(delivery).toMatchObject({
      event: 'delivery',
      id: reply.id,
      state: expect.stringMatching(/acked|delivered/),
    });
    const { status } = await bed.service.api('GET', `/api/messages/${reply.id}`);
    expect(status).toBe(200);
    const log = await until('the log of three events', async () => {
      const rows = await logOf(bed.service, id);
      return rows.length >= 3 && rows.every(({ state }) => state === 'delivered') ? rows : undefined;
    });
    expect(JSON.stringify(log)).not.toContain('hello');
  });

  it('that fails gets each event later, with the same id, and the events of a chat in their order', async () => {
    const id = await add(['message']);
    let failures = 2;
    receiver.answer = () => (failures-- > 0 ? 500 : 200);
    const ana = bed.person();
    for (const text of ['one', 'two', 'three']) {
      await ana.say(text, { to: bed.phone });
      await ana.nextReply();
    }
    expect(textsOf(await receiver.takes(3))).toEqual(['one', 'two', 'three']);
    expect(textsOf(receiver.all)).toEqual(['one', 'one', 'one', 'two', 'three']);
    expect(new Set(idsOf(receiver.all.slice(0, 3))).size).toBe(1);
    const first = await until('the log', async () => (await logOf(bed.service, id)).at(-1));
    expect(first).toMatchObject({ event: 'message', attempts: 3 });
  });

  it('that is slow does not delay another one', async () => {
    const fast = await WebhookReceiver.start();
    try {
      receiver.answer = () => 'hang';
      await add(['message']);
      await add(['message'], fast);
      const [ana, bo] = [bed.person(), bed.person()];
      await ana.say('first', { to: bed.phone });
      await receiver.gets(1);
      for (const text of ['second', 'third']) {
        await bo.say(text, { to: bed.phone });
        await bo.nextReply();
      }
      expect(textsOf(await fast.takes(3)).toSorted()).toEqual(['first', 'second', 'third']);
      expect(receiver.taken).toEqual([]);
    } finally {
      await fast.stop();
    }
  });

  it('whose receiver dies gets everything when it is back', async () => {
    await add(['message']);
    const ana = bed.person();
    await receiver.stop();
    for (const text of ['one', 'two']) {
      await ana.say(text, { to: bed.phone });
      await ana.nextReply();
    }
    await receiver.listen();
    expect(textsOf(await receiver.takes(2))).toEqual(['one', 'two']);
  });

  it('is switched off when its receiver says that it is gone, with the reason', async () => {
    const id = await add(['message']);
    receiver.answer = () => 410;
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    const shown = await until('the webhook to be switched off', async () => {
      const { body } = await bed.service.api('GET', `/api/webhooks/${id}`);
      const data = body.data as Record<string, unknown>;
      return data.enabled === false ? data : undefined;
    });
    expect(shown.disabledReason).toMatch(/410/);
    receiver.answer = () => 200;
    await bed.service.api('PATCH', `/api/webhooks/${id}`, { enabled: true });
    expect(textsOf(await receiver.takes(1))).toEqual(['hello']);
  });

  it('gets an event whose node was killed while it waited for the answer, with the same id', async () => {
    await add(['message']);
    receiver.answer = () => 'hang';
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    await receiver.gets(1);
    await bed.service.end('SIGKILL');
    receiver.answer = () => 200;
    await bed.restartService();
    expect(idsOf(await receiver.takes(1))).toEqual(idsOf(receiver.all.slice(0, 1)));
    expect(textsOf(receiver.taken)).toEqual(['hello']);
  });

  it('gets an event whose node was killed between the commit and the request', async () => {
    await add(['message']);
    await bed.service.end();
    await bed.startService({ WA2AI_FAULT_POINT: 'after-inbox-commit:1' });
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    await bed.service.untilExit();
    await bed.restartService();
    expect((await ana.nextReply()).text).toBe('Echo: hello');
    expect(textsOf(await receiver.takes(1))).toEqual(['hello']);
    const ids = new Set(idsOf(receiver.all));
    expect(ids.size).toBe(1);
  });
});

describe('two nodes', () => {
  it('share the events of a webhook, and each event goes out once', async () => {
    const { bed, nodes } = await startNodeCluster(['n1', 'n2']);
    const receiver = await WebhookReceiver.start();
    try {
      await nodes.pair(bed.phone);
      await nodes.node('n1').addRoute('*', bed.agent.url);
      await listen(nodes.node('n1'), receiver, ['message', 'reply']);
      // A node sends four events at a time: the fifth is from the other node.
      receiver.answer = async () => {
        await receiver.gets(5);
        return 200;
      };
      const people = Array.from({ length: 20 }, () => bed.person());
      await Promise.all(
        people.map(async (person) => {
          await person.say('hello', { to: bed.phone });
          await person.nextReply();
        }),
      );
      const taken = await receiver.takes(40);
      expect(new Set(idsOf(taken)).size).toBe(40);
      const sentBy = async (name: string) => {
        const text = await (await fetch(`${nodes.node(name).url}/metrics`)).text();
        return Number(/wa2ai_webhook_attempts_total\{outcome="delivered"\} (\d+)/.exec(text)?.[1] ?? 0);
      };
      const [one, two] = [await sentBy('n1'), await sentBy('n2')];
      expect(one + two).toBe(40);
      expect(Math.min(one, two)).toBeGreaterThan(0);
    } finally {
      await receiver.stop();
      await nodes.endAll('SIGTERM');
      await bed.close();
    }
  });
});

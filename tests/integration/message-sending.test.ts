import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReceivedMessage } from '../../router/src/core/ports/message-log.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { inbound, TestRouter } from '../support/router.ts';

let database: TestDatabase;
let router: TestRouter;
const agents: MockAgent[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  router = await TestRouter.start(database, { agentTimeoutMs: 1_000 });
});

afterAll(async () => {
  await router.stop();
  await Promise.all(agents.map((agent) => agent.stop()));
  await database.drop();
});

let people = 0;

/** A new person whose chat is answered by a new mock agent with these switches. */
async function chatWith(switches: string[], config: Record<string, string> = {}) {
  const agent = await MockAgent.start({ switches });
  agents.push(agent);
  const person = String(5491200000000 + ++people);
  await router.addRoute(person, agent.url, { config });
  return { person, jid: `${person}@s.whatsapp.net`, agent };
}

async function rowOf(waMessageId: string): Promise<ReceivedMessage> {
  const rows = await router.log.messages({ limit: 50 });
  const row = rows.find((message) => message.waMessageId === waMessageId);
  if (!row) throw new Error('the message was not stored');
  return row;
}

describe('sending the answer of an agent', () => {
  it('sends one reply with an id minted before, and stores its delivery state', async () => {
    const { person, jid } = await chatWith(['--reply', 'Hi {user}, {text} in {session}']);
    const message = inbound({ person, text: 'hello' });
    await router.receive(message);
    expect(router.textsTo(jid)).toEqual([`Hi ${person}, hello in ${person}_${person}`]);
    const row = await rowOf(message.waMessageId);
    expect(row).toMatchObject({ state: 'answered', attempts: 1, reason: undefined });
    expect(row.replies).toHaveLength(1);
    expect(row.replies[0]).toMatchObject({ state: 'sent', text: router.textsTo(jid)[0] });
    expect(row.replies[0]?.waMessageId).toBe(router.sent.at(-1)?.waMessageId);
  });

  it('answers once when WhatsApp delivers a message twice', async () => {
    const { person, jid } = await chatWith([]);
    const message = inbound({ person, text: 'twice' });
    await router.receive(message);
    await router.receiveOnly({ ...message, stanzaOrder: message.stanzaOrder + 1n });
    await router.receive(inbound({ person, text: 'after' }));
    expect(router.textsTo(jid)).toEqual(['Echo: twice', 'Echo: after']);
  });

  it('answers five messages in order although the first takes longest', async () => {
    const { person, jid } = await chatWith(['--delay-ms', '30']);
    const texts = ['1', '2', '3', '4', '5'];
    const before = router.sent.length;
    for (const text of texts) await router.receiveOnly(inbound({ person, text }));
    await router.untilSent(before + texts.length);
    expect(router.textsTo(jid)).toEqual(texts.map((text) => `Echo: ${text}`));
  });

  it('sends nothing for an empty answer, and records it', async () => {
    const { person, jid } = await chatWith(['--mode', 'empty']);
    const message = inbound({ person, text: 'hm' });
    await router.receive(message);
    expect(router.textsTo(jid)).toEqual([]);
    expect(await rowOf(message.waMessageId)).toMatchObject({ state: 'answered', reason: 'agent-empty' });
  });

  it.each([
    ['answers 500', ['--fail', '500'], 'AGENT_PROTOCOL'],
    ['answers half a JSON text', ['--mode', 'bad-json'], 'AGENT_PROTOCOL'],
    ['answers a web page', ['--mode', 'html'], 'AGENT_PROTOCOL'],
    ['answers 10 MB', ['--mode', 'huge'], 'AGENT_'],
    ['never answers', ['--mode', 'hang'], 'AGENT_TIMEOUT'],
    ['never ends its answer', ['--mode', 'never-ending'], 'AGENT_TIMEOUT'],
    ['is overloaded on every try', ['--fail', '503'], 'AGENT_UNAVAILABLE'],
  ])(
    'writes a dead letter and sends nothing to the chat when the agent %s',
    async (_name, switches, reason) => {
      const { person, jid } = await chatWith(switches);
      const message = inbound({ person, text: 'secret question' });
      await router.receive(message);
      expect(router.textsTo(jid)).toEqual([]);
      const row = await rowOf(message.waMessageId);
      expect(row.state).toBe('dead');
      expect(row.reason).toContain(reason);
      const letters = await router.log.deadLetters({ limit: 1 });
      expect(letters[0]).toMatchObject({ messageId: row.id, reason: row.reason });
      expect(letters[0]?.error).not.toContain('secret question');
    },
  );

  it('retries only errors that a retry can fix', async () => {
    const overloaded = await chatWith(['--fail', '503']);
    const broken = await chatWith(['--fail', '500']);
    const first = inbound({ person: overloaded.person, text: 'a' });
    const second = inbound({ person: broken.person, text: 'b' });
    await router.receive(first);
    await router.receive(second);
    expect((await rowOf(first.waMessageId)).attempts).toBe(2);
    expect((await rowOf(second.waMessageId)).attempts).toBe(1);
  });

  it('sends one apology when the route has one, and never the error', async () => {
    const { person, jid } = await chatWith(['--fail', '500'], { failureNotice: 'Sorry, please try later.' });
    await router.receive(inbound({ person, text: 'x' }));
    expect(router.textsTo(jid)).toEqual(['Sorry, please try later.']);
  });

  it('answers a kind without text with the notice of the route only', async () => {
    const { person, jid } = await chatWith([], { unsupportedNotice: 'I can only read text.' });
    const voice = inbound({ person, text: '', kind: 'audio' });
    await router.receive(voice);
    expect(router.textsTo(jid)).toEqual(['I can only read text.']);
    expect(await rowOf(voice.waMessageId)).toMatchObject({
      state: 'ignored',
      reason: 'unsupported-kind:audio',
    });
  });

  it('delays no other chat when an agent hangs', async () => {
    const hanging = await chatWith(['--mode', 'hang']);
    const quick = await chatWith([]);
    await router.receiveOnly(inbound({ person: hanging.person, text: 'hang' }));
    const before = router.sent.length;
    await router.receiveOnly(inbound({ person: quick.person, text: 'quick' }));
    await router.untilSent(before + 1);
    expect(router.sent.at(-1)?.to).toBe(quick.jid);
  });
});

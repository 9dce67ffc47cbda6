import type { Client } from '@a2a-js/sdk/client';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type A2aBinding,
  type A2aVersion,
  a2aClient,
  a2aRequest,
  seen,
  statesOf,
} from '../support/a2a-client.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();
/** For all clients: wa2ai asks WhatsApp about ten new numbers at once, then about one each six seconds. */
let ana: Person;
let bo: Person;
let dan: Person;

beforeAll(() => {
  [ana, bo, dan] = [bed.person(), bed.person(), bed.person()];
});

/** Waits until the task is in this state. */
async function untilState(client: Client, id: string, state: string) {
  await expect
    .poll(async () => seen(await client.getTask({ tenant: '', id })).state, { timeout: 60_000 })
    .toBe(state);
  return seen(await client.getTask({ tenant: '', id }));
}

const ALL: Array<[A2aVersion, A2aBinding]> = [
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
];

describe.each(ALL)('the official A2A client, version %s over %s', (version, binding) => {
  it('sends a message to a person and sees its delivery', async () => {
    const client = await a2aClient(bed.service.url, { version, binding });
    const data = { skill: 'message-person', to: ana.phone, text: 'Your order is on its way.' };
    const states = statesOf(client.sendMessageStream(a2aRequest({ data })));
    expect((await ana.nextReply()).text).toBe('Your order is on its way.');
    expect((await states).slice(-2)).toEqual(['artifact delivery', 'completed']);
  });

  it('asks a person, follows the task from a second stream, and gets the answer', async () => {
    const client = await a2aClient(bed.service.url, { version, binding });
    const data = { skill: 'ask-person', to: bo.phone, text: 'May we deliver at 5 pm?' };
    const opened = seen(await client.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
    const states = statesOf(client.resubscribeTask({ tenant: '', id: opened.id }));
    expect((await bo.nextReply()).text).toBe(
      'May we deliver at 5 pm?\n\nTu próximo mensaje aquí responde a esta pregunta.',
    );
    const answerId = await bo.say('At six, please', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('Thank you, your answer was passed on.');
    expect((await states).slice(-2)).toEqual(['artifact answer', 'completed']);
    expect(seen(await client.getTask({ tenant: '', id: opened.id }))).toMatchObject({
      state: 'completed',
      answer: 'At six, please',
    });
    expect(await bed.untilTurnEnded(answerId)).toMatchObject({
      state: 'answered',
      reason: 'question-answered',
    });
    await bo.say('Anything else?', { to: bed.phone });
    expect((await bo.nextReply()).text).toContain('Anything else?');
  });

  it('talks to the only shared route, in one conversation per context', async () => {
    const client = await a2aClient(bed.service.url, { version, binding });
    const first = seen(await client.sendMessage(a2aRequest({ text: 'Hello agent' })));
    // No route is shared yet: the task asks for a skill.
    expect(first).toMatchObject({ state: 'input-required' });
    expect(first.said).toContain('message-person, ask-person');
    const cid = bed.person();
    const { id } = (await bed.service.addRoute(cid.phone, bed.agent.url, {
      name: 'Front desk',
      config: { shared: true },
    })) as { id: string };
    const answered = seen(await client.sendMessage(a2aRequest({ text: 'Hello agent' })));
    expect(answered).toMatchObject({ state: 'completed' });
    expect(answered.answer).toContain('Hello agent');
    const named = { skill: 'talk-to-front-desk' };
    const continued = await client.sendMessage(
      a2aRequest({ data: named, taskId: first.id, contextId: first.contextId }),
    );
    expect(seen(continued)).toMatchObject({ id: first.id, state: 'completed' });
    await bed.service.api('DELETE', `/api/routes/${id}`);
  });

  it('cancels a question, and the next message goes to the route', async () => {
    const client = await a2aClient(bed.service.url, { version, binding });
    const data = { skill: 'ask-person', to: dan.phone, text: 'Still there?' };
    const { id } = seen(await client.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
    await dan.nextReply();
    expect(seen(await client.cancelTask({ tenant: '', id, metadata: undefined })).state).toBe('canceled');
    await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toThrow();
    await expect
      .poll(async () => {
        await dan.say('Hello route', { to: bed.phone });
        return (await dan.nextReply()).text;
      })
      .toContain('Hello route');
  });
});

describe('wa2ai killed while a person is asked', () => {
  it('asks once, and completes with an answer that came while it was down or after the next start', async () => {
    const [eva, fay] = [bed.person(), bed.person()];
    const before = await a2aClient(bed.service.url);
    const ask = async (person: Person, text: string) => {
      const data = { skill: 'ask-person', to: person.phone, text };
      const task = seen(await before.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
      await person.nextReply();
      return task.id;
    };
    const [colour, size] = [await ask(eva, 'Which colour?'), await ask(fay, 'Which size?')];
    await bed.service.end('SIGKILL');
    await fay.say('Large', { to: bed.phone });
    await bed.restartService();
    const client = await a2aClient(bed.service.url);
    expect(await untilState(client, size, 'completed')).toMatchObject({ answer: 'Large' });
    await eva.say('Blue', { to: bed.phone });
    expect((await eva.nextReply(60_000)).text).toBe('Gracias, tu respuesta se ha transmitido.');
    expect(await untilState(client, colour, 'completed')).toMatchObject({ answer: 'Blue' });
    expect(eva.received.filter(({ text }) => text?.startsWith('Which colour?'))).toHaveLength(1);
  });
});

describe('keys of A2A clients', () => {
  it('need the scope, see their own tasks only, and are restricted to their chats', async () => {
    const [gil, hal] = [bed.person(), bed.person()];
    const key = async (name: string, scopes: string[], chats?: string[]): Promise<string> => {
      const { body } = await bed.service.api('POST', '/api/keys', { name, scopes, ...(chats && { chats }) });
      return (body.data as { key: string }).key;
    };
    const own = await a2aClient(bed.service.url, { key: await key('own', ['a2a'], [gil.phone]) });
    const other = await a2aClient(bed.service.url, { key: await key('other', ['a2a']) });
    const none = await a2aClient(bed.service.url, { key: await key('none', ['routes:read']) });
    const ask = (to: string) => a2aRequest({ data: { skill: 'message-person', to, text: 'Hi' } });
    const { id, state } = seen(await own.sendMessage(ask(gil.phone)));
    expect(state).toBe('completed');
    expect(seen(await own.sendMessage(ask(hal.phone)))).toMatchObject({ state: 'rejected' });
    await expect(other.getTask({ tenant: '', id })).rejects.toThrow(/not found/i);
    await expect(none.sendMessage(ask(gil.phone))).rejects.toThrow(/403/);
    const bad = await a2aClient(bed.service.url, { key: 'wa2ai_000000000000_wrong' });
    const lists = await own.listTasks({
      tenant: '',
      contextId: '',
      status: 0,
      pageToken: '',
      statusTimestampAfter: undefined,
    });
    expect(lists.tasks.map((task) => seen(task).state).sort()).toEqual(['completed', 'rejected']);
    expect(bad).toBeDefined();
  });

  it('find nothing while the face is off', async () => {
    const put = (enabled: boolean) => bed.service.api('PUT', '/api/settings/a2a', { enabled });
    await put(false);
    const card = await fetch(`${bed.service.url}/.well-known/agent-card.json`);
    expect(card.status).toBe(404);
    const call = await fetch(`${bed.service.url}/a2a`, { method: 'POST', body: '{}' });
    expect(call.status).toBe(404);
    await put(true);
    expect((await fetch(`${bed.service.url}/.well-known/agent-card.json`)).status).toBe(200);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendEvent } from '../../router/src/features/webhooks/send-event.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { repositoryRoot } from '../support/repository.ts';

const SECRET = 'the-secret-of-the-webhook';
let lines: AsyncIterator<string>;
let url: string;
let stop: () => Promise<unknown>;

beforeAll(async () => {
  const child = spawn(process.execPath, ['examples/webhook-receiver/receiver.js'], {
    cwd: repositoryRoot,
    env: { ...process.env, PORT: '0', WEBHOOK_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stop = async () => {
    child.kill();
    await once(child, 'exit');
  };
  lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  url = `http://127.0.0.1:${/listens on port (\d+)/.exec(value)?.[1]}/`;
});
afterAll(() => stop());

const send = (eventId: string, secret = SECRET) => {
  const facts = { id: '1', chat: { phone: '34600000000' }, text: `event ${eventId}`, kind: 'text' };
  const event = {
    eventId,
    event: 'reply' as const,
    accountId: 'default',
    at: new Date(),
    facts,
    url,
    secret,
  };
  const deps = { transport: new AgentTransport(), clock: systemClock };
  return sendEvent(deps, event, new AbortController().signal);
};

it('the receiver of the documentation takes signed events, each once, and refuses others', async () => {
  expect(await send('forged', 'another secret')).toMatchObject({ status: 401 });
  for (const id of ['one', 'one', 'two']) expect(await send(id)).toEqual({ status: 204 });
  const printed = [await lines.next(), await lines.next()].map(({ value }) => JSON.parse(value));
  expect(printed).toEqual([
    { event: 'reply', channelId: '34600000000', text: 'event one' },
    { event: 'reply', channelId: '34600000000', text: 'event two' },
  ]);
});

import { describe, expect, it } from 'vitest';
import {
  type PushTransport,
  sendPush,
  type UpdatePart,
} from '../../../router/src/features/a2a/push-updates.ts';
import type { TaskHook } from '../../../router/src/features/a2a/task-hooks.ts';
import type { ServedTask } from '../../../router/src/features/tasks/served-tasks.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const at = new Date(Date.UTC(2026, 0, 1));
const update = {
  number: 1,
  key: 'end',
  state: 'completed' as const,
  artifact: { name: 'answer', text: 'Blue' },
  at,
};
const task: ServedTask = {
  id: 't1',
  contextId: 'c1',
  owner: 'o',
  state: 'completed',
  messages: [{ messageId: 'm', text: 'x', at }],
  updates: [update],
  createdAt: at,
};
const hook: TaskHook = {
  taskId: 't1',
  id: 'h1',
  url: 'https://example.com/hook',
  token: 'tok-1',
  authentication: { scheme: 'Bearer', credentials: 'cred-1' },
  version: '1.0',
  sent: 0,
  createdAt: at,
};

type Fetched = Awaited<ReturnType<PushTransport['fetch']>>;
type FetchOptions = Parameters<PushTransport['fetch']>[1];

function setup(answer: Fetched = { kind: 'answer', status: 200 }) {
  const requests: Array<FetchOptions & { url: string }> = [];
  const send = (given: Partial<TaskHook> = {}, part: UpdatePart = 'state') =>
    sendPush(
      {
        transport: {
          fetch: async (url, options) => {
            requests.push({ url, ...options });
            return answer;
          },
        },
        key: async () => ({ tokenFor: (body) => `signed ${body.length}` }),
        clock: new FakeClock(),
      },
      { ...hook, ...given },
      task,
      update,
      part,
      new AbortController().signal,
    );
  return { requests, send };
}

describe('sendPush', () => {
  it('sends the result and the state of an update, signed, with token and credentials', async () => {
    const { requests, send } = setup();
    await send({}, 'artifact');
    await send({}, 'state');
    const bodies = requests.map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);
    expect(bodies.map((body) => Object.keys(body))).toEqual([['artifactUpdate'], ['statusUpdate']]);
    const [first] = requests;
    expect(first?.url).toBe(hook.url);
    expect(Object.fromEntries(first?.headers ?? [])).toEqual({
      'content-type': 'application/a2a+json',
      'x-wa2ai-signature': `signed ${String(first?.body).length}`,
      'x-a2a-notification-token': 'tok-1',
      authorization: 'Bearer cred-1',
    });
  });

  it('sends the whole task to a program of version 0.3', async () => {
    const { requests, send } = setup();
    await send({ version: '0.3' }, 'artifact');
    await send({ version: '0.3', token: undefined, authentication: undefined });
    expect(requests).toHaveLength(1);
    expect(JSON.parse(String(requests.at(-1)?.body))).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ name: 'answer' }],
    });
    expect(requests[0]?.headers.has('authorization')).toBe(false);
  });

  it.each<[Fetched, string]>([
    [{ kind: 'answer', status: 503 }, 'retry'],
    [{ kind: 'answer', status: 404 }, 'dead'],
    [{ kind: 'answer', status: 302 }, 'dead'],
    [{ kind: 'fault', fault: 'refused', detail: { sentence: 'private' } }, 'dead'],
    [{ kind: 'fault', fault: 'aborted', detail: { sentence: 'slow' } }, 'uncertain'],
  ])('reports what the receiver did not take: %o', async (answer, disposition) => {
    await expect(setup(answer).send()).rejects.toMatchObject({ disposition });
  });

  it.each([{ token: 'a\r\nX-Admin: 1' }, { authentication: { scheme: 'Bearer', credentials: 's3c\nret' } }])(
    'gives up a hook that an older version stored and no header can have: %j',
    async (stored) => {
      const { requests, send } = setup();
      const failure = await send(stored).catch((error: unknown) => error as Error);
      expect(failure).toMatchObject({
        disposition: 'dead',
        message: expect.stringContaining('Set the config'),
      });
      expect(JSON.stringify(failure) + String(failure)).not.toMatch(/s3c|X-Admin/);
      expect(requests).toEqual([]);
    },
  );
});

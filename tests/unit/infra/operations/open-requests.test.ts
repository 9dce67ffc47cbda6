import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../../router/src/core/access/caller.ts';
import {
  MAX_OPEN_REQUESTS,
  maxOpenTasksOf,
  OpenRequests,
} from '../../../../router/src/infra/operations/guard.ts';
import { ADMIN_KEY, startHttpApi } from '../../../support/http-api.ts';

const key = (id: string) => ({ kind: 'key', key: { id } }) as unknown as Caller;
const user = (name: string, id: string): Caller => ({
  kind: 'session',
  session: { id, user: { name, role: 'operator' } },
});

describe('OpenRequests', () => {
  it.each([
    ['a key', key('k1'), key('k1'), key('k2')],
    ['a user, with any number of sessions', user('ana', 's1'), user('ana', 's2'), user('eva', 's3')],
  ])('limits those of %s, and of no other', (_name, one, again, other) => {
    const open = new OpenRequests();
    const responses = Array.from({ length: MAX_OPEN_REQUESTS }, () => new EventEmitter());
    for (const response of responses) open.enter(one, response);
    expect(() => open.enter(again, new EventEmitter())).toThrow(
      `The caller has ${MAX_OPEN_REQUESTS} requests open on this node. End some of them.`,
    );
    open.enter(other, new EventEmitter());
    responses[0]?.emit('close');
    open.enter(again, new EventEmitter());
    expect(() => open.enter(again, new EventEmitter())).toThrow('requests open');
  });

  it('limits neither the admin key nor this machine', () => {
    const open = new OpenRequests();
    for (const kind of ['admin-key', 'loopback', 'local-socket'] as const) {
      for (let n = 0; n <= MAX_OPEN_REQUESTS; n++) open.enter({ kind }, new EventEmitter());
      expect(maxOpenTasksOf({ kind })).toBeUndefined();
    }
  });
});

it('a key with so many calls that wait gets 429 for one more of any protocol, until one ends', async () => {
  const api = await startHttpApi({ apiKey: ADMIN_KEY });
  const text = await api.addKey({ scopes: ['playground', 'accounts:read'] });
  const headers = { 'x-api-key': text };
  let end: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  let waiting = 0;
  const { chats } = api.app.playground;
  api.app.playground.chats = async () => {
    waiting += 1;
    await held;
    return chats.call(api.app.playground);
  };
  const calls = Array.from({ length: MAX_OPEN_REQUESTS }, () =>
    api.call('GET', '/api/playground/chats', undefined, headers),
  );
  await expect.poll(() => waiting).toBe(MAX_OPEN_REQUESTS);
  const refused = await api.call('GET', '/api/accounts', undefined, headers);
  expect([refused.status, refused.body.code]).toEqual([429, 'TOO_MANY_OPEN_REQUESTS']);
  end();
  expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
  await expect
    .poll(async () => (await api.call('GET', '/api/accounts', undefined, headers)).status)
    .toBe(200);
  await api.close();
});

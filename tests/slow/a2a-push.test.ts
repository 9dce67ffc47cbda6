import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type A2aVersion, a2aClient, a2aRequest, seen, statesOf } from '../support/a2a-client.ts';
import { isSignedBy, type Pushed, PushReceiver } from '../support/push-receiver.ts';
import { TestBed } from '../support/test-bed.ts';

/** The receivers of these tests are on this machine. */
const ANY_ADDRESS = { WA2AI_EGRESS: 'any' };

let bed: TestBed;
let receiver: PushReceiver;

beforeAll(async () => {
  bed = await TestBed.startPaired({ env: ANY_ADDRESS });
});
beforeEach(async () => {
  receiver = await PushReceiver.start();
  return () => receiver.stop();
});
afterAll(() => bed.close());

/** A request that opens a task with a hook. */
function withHook(data: Record<string, unknown>, url = receiver.url) {
  const request = a2aRequest({ data }, { returnImmediately: true });
  const taskPushNotificationConfig = {
    tenant: '',
    taskId: '',
    id: 'hook-1',
    url,
    token: 'token-1',
    authentication: { scheme: 'Bearer', credentials: 'credentials-1' },
  };
  return { ...request, configuration: { ...request.configuration, taskPushNotificationConfig } };
}

const STATES: Record<string, string> = {
  TASK_STATE_WORKING: 'working',
  TASK_STATE_COMPLETED: 'completed',
};

/** The state or the artifact that a notification of version 1.0 is about, as `statesOf` names it. */
function eventOf({ body }: Pushed): string | undefined {
  return body.artifactUpdate
    ? `artifact ${body.artifactUpdate.artifact.name}`
    : STATES[body.statusUpdate.status.state];
}

/** Waits until the task has ended, for the program of the hook. */
async function untilPushed(state: string): Promise<void> {
  await expect
    .poll(() => receiver.taken.at(-1)?.text ?? '', { timeout: 60_000 })
    .toMatch(new RegExp(`"state":"${state}"`));
}

describe('a program that gets push notifications', () => {
  it.each<A2aVersion>(['1.0', '0.3'])(
    'of version %s gets each signed update once, in order',
    async (version) => {
      const client = await a2aClient(bed.service.url, { version });
      receiver.statuses = [500, 503, 429];
      const ana = bed.person();
      const data = { skill: 'message-person', to: ana.phone, text: 'Your order is on its way.' };
      // A stream shows every update after the first event.
      const states = await statesOf(client.sendMessageStream(withHook(data)));
      await untilPushed(version === '1.0' ? 'TASK_STATE_COMPLETED' : 'completed');
      const { body: keys } = await bed.service.api('GET', '/.well-known/jwks.json');
      for (const pushed of receiver.all) {
        expect(isSignedBy(keys as never, pushed)).toBe(true);
        expect(isSignedBy(keys as never, { ...pushed, text: `${pushed.text} ` })).toBe(false);
        expect(pushed.headers).toMatchObject({
          'x-a2a-notification-token': 'token-1',
          authorization: 'Bearer credentials-1',
        });
      }
      // The first update was refused three times.
      expect(receiver.all).toHaveLength(receiver.taken.length + 3);
      const updates = states.slice(1);
      if (version === '1.0') expect(receiver.taken.map(eventOf)).toEqual(updates);
      else {
        const shown = receiver.taken.map(({ body }) => body.status.state);
        expect(shown).toEqual(updates.filter((update) => !update.startsWith('artifact')));
        expect(receiver.taken.at(-1)?.body).toMatchObject({
          kind: 'task',
          artifacts: [{ name: 'delivery' }],
        });
      }
    },
  );

  it('gets the rest after wa2ai was killed between two updates', async () => {
    const client = await a2aClient(bed.service.url);
    const bo = bed.person();
    await client.sendMessage(withHook({ skill: 'ask-person', to: bo.phone, text: 'Which colour?' }));
    await bo.nextReply();
    await expect.poll(() => receiver.taken.map(eventOf)).toEqual(['working']);
    await bed.service.end('SIGKILL');
    await bo.say('Blue', { to: bed.phone });
    await bed.restartService(ANY_ADDRESS);
    await untilPushed('TASK_STATE_COMPLETED');
    // An update whose answer the crash cut off may come twice.
    expect([...new Set(receiver.taken.map(eventOf))]).toEqual(['working', 'artifact answer', 'completed']);
    expect(receiver.taken.find(({ body }) => body.artifactUpdate)?.text).toContain('Blue');
  });

  it('is not called at a private address while WA2AI_EGRESS has its default', async () => {
    await bed.service.end();
    await bed.restartService();
    const client = await a2aClient(bed.service.url);
    const cid = bed.person();
    const data = { skill: 'message-person', to: cid.phone, text: 'Hello' };
    const port = new URL(receiver.url).port;
    for (const host of ['127.0.0.1', '[::1]', '169.254.169.254', '10.0.0.1', '2130706433']) {
      const refused = client.sendMessage(withHook(data, `http://${host}:${port}/`));
      await expect(refused).rejects.toThrow(/url is not allowed/);
    }
    // A name is checked when it is resolved, for each update.
    const { id: taskId } = seen(await client.sendMessage(withHook(data, `http://localhost:${port}/`)));
    await cid.nextReply();
    const configs = async () =>
      (await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' }))
        .configs;
    await expect.poll(configs, { timeout: 60_000 }).toEqual([]);
    expect(receiver.all).toEqual([]);
    expect(cid.received).toHaveLength(1);
  });
});

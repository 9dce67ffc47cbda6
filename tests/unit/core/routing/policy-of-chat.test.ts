import { expect, it } from 'vitest';
import { policyOfChat } from '../../../../router/src/core/routing/route-message.ts';
import { aRoute, NO_CONDITIONS, RecordingMatcher, routesOf } from '../../../support/routes.ts';

const matcher = new RecordingMatcher((pattern, text) => (text.includes(pattern) ? 'match' : 'no-match'));
const message = (text: string) => ({
  accountId: 'main',
  channelIds: ['5493777239922'],
  message: { text },
  receivedAtMs: 0,
});

it('returns the settings of the route that takes the text, else the defaults and why', async () => {
  const config = { reply: { maxChars: 900 } };
  const routes = routesOf([aRoute({ id: 'help', name: 'helper', regexFilter: 'help', config })]);
  const conversation = async () => ({ egressFilter: 'off' as const });
  const deps = { ...NO_CONDITIONS, routes, matcher, environment: 'lab' as const, conversation };
  expect(await policyOfChat(deps, message('help me'))).toMatchObject({
    route: { id: 'help', name: 'helper', channelId: '5493777239922' },
    settings: { reply: { maxChars: 900 }, egressFilter: 'off' },
    origins: { 'reply.maxChars': 'route', egressFilter: 'default' },
  });
  const none = await policyOfChat(deps, message('hello'));
  expect(none).toMatchObject({ reason: 'no-match', settings: { reply: { maxChars: 4000 } } });
  expect(none).not.toHaveProperty('route');
});

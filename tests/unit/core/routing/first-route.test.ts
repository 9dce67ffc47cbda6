import { expect, it } from 'vitest';
import { firstRouteCommand } from '../../../../router/src/core/routing/route-message.ts';

it('firstRouteCommand is a curl command whose body is a route for every chat of the account', () => {
  const command = firstRouteCommand('http://127.0.0.1:3000', 'sales', 'lab');
  expect(command.startsWith('curl -X POST http://127.0.0.1:3000/api/routes ')).toBe(true);
  const body = /-d '(.*)'$/.exec(command)?.[1] ?? '';
  expect(JSON.parse(body)).toMatchObject({ accountId: 'sales', channelId: '*', environment: 'lab' });
});

import { expect, it } from 'vitest';
import { agentKinds } from '../../../router/src/infra/agents/agent-kinds.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();

it('lists every agent kind with the schema of its settings', async () => {
  const { status, body } = await api.call('GET', '/api/agent-kinds');
  expect(status).toBe(200);
  const { kinds, common } = body.data;
  expect(kinds.map(({ name }: { name: string }) => name)).toEqual(agentKinds.map(({ name }) => name));
  const of = (wanted: string) => kinds.find(({ name }: { name: string }) => name === wanted);
  expect(of('adk')).toMatchObject({
    hasEndpoint: true,
    isForOneChat: false,
    isProbed: true,
    schema: {
      type: 'object',
      required: ['appName'],
      properties: { headers: { additionalProperties: { format: 'password' } } },
    },
  });
  expect(of('openai').schema.properties.apiKey).toMatchObject({ type: 'string', format: 'password' });
  expect(of('echo')).toMatchObject({ hasEndpoint: false, isProbed: false });
  expect(of('shell')).toMatchObject({ hasEndpoint: true, isForOneChat: true });
  expect(common.properties.pace.properties.busy.enum).toEqual(['queue', 'merge', 'interrupt']);
  for (const name of agentKinds.map((kind) => kind.name)) expect(common.properties[name]).toBeUndefined();
});

import { expect, it } from 'vitest';
import { agentRouteOf } from '../../../router/src/features/mcp/mcp-settings.ts';
import { MemorySettings } from '../../doubles/memory-settings.ts';

it('reads the route of new agents, if somebody stored one', async () => {
  const settings = new MemorySettings();
  expect(await agentRouteOf(settings)).toBeUndefined();
  await settings.put('mcp', { enabled: true });
  expect(await agentRouteOf(settings)).toBeUndefined();
  await settings.put('mcp', { enabled: true, agentRouteId: 'a-route' });
  expect(await agentRouteOf(settings)).toBe('a-route');
});

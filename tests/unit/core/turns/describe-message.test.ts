import { describe, expect, it } from 'vitest';
import type { AgentClients } from '../../../../router/src/core/agent-client.ts';
import type { IncomingMessage, Route } from '../../../../router/src/core/models.ts';
import { describedMessage } from '../../../../router/src/core/turns/take-turn.ts';

const card = { kind: 'location' as const, latitude: 1, longitude: 2 };
const message = {
  id: 'm',
  from: '',
  channelId: '',
  text: '',
  timestamp: new Date(0),
  card,
} as IncomingMessage;
const route = { id: 'r' } as Route;

const agentsThat = (reads?: boolean) =>
  ({
    clientFor: () => ({ ...(reads !== undefined && { readsDescriptions: () => reads }) }),
  }) as unknown as AgentClients;

describe('describedMessage', () => {
  it.each([
    ['an agent that does not say', agentsThat(), '', 'Location: (1, 2)'],
    ['an agent that reads descriptions', agentsThat(true), '', 'Location: (1, 2)'],
    ['an agent that reads none', agentsThat(false), '', ''],
    ['words of the person', agentsThat(), 'here', 'here'],
  ])('for %s', (_, agents, text, expected) => {
    expect(describedMessage(agents, route, { ...message, text }).text).toBe(expected);
  });

  it('leaves a message without a card as it is, and asks no client of a damaged route', () => {
    const none = { ...message, card: undefined };
    expect(describedMessage(agentsThat(), route, none)).toBe(none);
    const broken = { clientFor: () => expect.unreachable() } as unknown as AgentClients;
    expect(describedMessage(broken, { ...route, damage: 'x' }, message).text).toBe('Location: (1, 2)');
  });
});

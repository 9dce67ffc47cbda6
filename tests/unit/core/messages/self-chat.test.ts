import { describe, expect, it } from 'vitest';
import { applySelfChatRule } from '../../../../router/src/core/cluster/account-events.ts';
import type { InboundMessage } from '../../../../router/src/core/messages/inbound-message.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryRouteStore } from '../../../doubles/memory-route-store.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';

const phone = '34900000001';
const lid = '123456789012345';

const toMyself: InboundMessage = {
  accountId: 'default',
  waMessageId: 'OWN1',
  chat: { kind: 'person', phone, lid },
  sender: { phone, lid },
  kind: 'text',
  text: 'note to self',
  sentAtMs: 0,
  stanzaOrder: 1n,
  isSelfChat: true,
};

async function setup(route?: { channelId: string; enabled?: boolean; environment?: 'lab' | 'prod' }) {
  const state = new MemoryState();
  const deps = {
    routes: new MemoryRouteStore(),
    outbox: new MemoryOutbox(state),
    environment: 'lab' as const,
  };
  if (route) {
    await deps.routes.create({
      accountId: 'default',
      agentEndpoint: 'http://127.0.0.1:8000',
      environment: 'lab',
      priority: 0,
      enabled: true,
      config: {},
      ...route,
    });
  }
  return { deps, inbox: new MemoryInbox(state) };
}

describe('applySelfChatRule', () => {
  it.each([phone, `${lid}@lid`])('answers the self-chat when a route names it as %s', async (channelId) => {
    const { deps } = await setup({ channelId });
    expect(await applySelfChatRule(deps, toMyself)).toEqual(toMyself);
  });

  it.each([
    ['there is no route', undefined],
    ['only the wildcard route takes the chat', { channelId: '*' }],
    ['the route is disabled', { channelId: phone, enabled: false }],
    ['the route is of another environment', { channelId: phone, environment: 'prod' as const }],
    ['the route names another chat', { channelId: '34600000000' }],
  ])('ignores the self-chat as own-message when %s', async (_, route) => {
    const { deps } = await setup(route);
    expect(await applySelfChatRule(deps, toMyself)).toEqual({ ...toMyself, ignoredReason: 'own-message' });
  });

  it('ignores a reply of wa2ai that comes back in the self-chat, so it never answers itself', async () => {
    const { deps } = await setup({ channelId: phone });
    const reply = {
      accountId: 'default',
      to: `${phone}@s.whatsapp.net`,
      text: 'a reply',
      waMessageId: 'REPLY1',
    };
    await deps.outbox.addDirect(reply);
    const echo = { ...toMyself, waMessageId: 'REPLY1', text: 'a reply' };
    expect(await applySelfChatRule(deps, echo)).toMatchObject({ ignoredReason: 'own-message' });
  });

  it('returns messages of other chats unchanged', async () => {
    const { deps } = await setup();
    const message = { ...toMyself, isSelfChat: undefined };
    expect(await applySelfChatRule(deps, message)).toBe(message);
  });
});

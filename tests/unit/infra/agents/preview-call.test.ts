import { describe, expect, it } from 'vitest';
import type { AgentClient, AgentClients } from '../../../../router/src/core/agent-client.ts';
import { AgentProtocolError } from '../../../../router/src/core/errors.ts';
import { previewCall } from '../../../../router/src/infra/agents/route-probe.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aRoute } from '../../../support/routes.ts';

const message = { from: '5491@s.whatsapp.net', channelId: '5491', text: 'hi' };
const sendMessage = () => Promise.reject(new Error('a preview sends nothing'));

function previewBy(clientFor: AgentClients['clientFor']) {
  const agents: AgentClients = { clientFor, endpointOf: ({ agentEndpoint }) => agentEndpoint };
  return previewCall(agents, new FakeClock(Date.UTC(2026, 0, 2)), aRoute(), message);
}

describe('previewCall', () => {
  it('gives the client the message with an id and the time of the clock', async () => {
    const client: AgentClient = { sendMessage, preview: async (given) => ({ given }) };
    expect(await previewBy(() => client)).toEqual({
      given: { ...message, id: 'explain', timestamp: new Date('2026-01-02T00:00:00.000Z') },
    });
  });

  it('is undefined for a client without a preview', async () => {
    expect(await previewBy(() => ({ sendMessage }))).toBeUndefined();
  });

  it.each(['clientFor', 'preview'])('explains unusable settings found by %s', async (method) => {
    const fail = () => {
      throw new AgentProtocolError({ sentence: 'The ABI is broken.' });
    };
    const found = previewBy(
      method === 'clientFor' ? fail : () => ({ sendMessage, preview: async () => fail() }),
    );
    expect(await found).toEqual({ kind: 'error', sentence: 'The ABI is broken.' });
  });

  it('does not hide a fault of wa2ai', async () => {
    const fault = new TypeError('x is undefined');
    const found = previewBy(() => {
      throw fault;
    });
    await expect(found).rejects.toBe(fault);
  });
});

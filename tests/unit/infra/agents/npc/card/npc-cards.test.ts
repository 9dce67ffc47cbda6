import { describe, expect, it } from 'vitest';
import { NpcCards } from '../../../../../../router/src/infra/agents/npc/card/npc-card.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { serverOf } from '../../../../../support/abi.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

async function setup() {
  const clock = new FakeClock();
  const state = { requests: 0, answer: JSON.stringify({ capabilities: ['duel'] }), status: 200 };
  const { url } = await serverOf((_request, response) => {
    state.requests += 1;
    response.writeHead(state.status).end(state.answer);
  });
  const cards = new NpcCards(clock, new AgentTransport());
  const card = () => cards.cardAt(url, new Headers(), AbortSignal.timeout(60_000));
  return { clock, state, card };
}

describe('NpcCards', () => {
  it('fetches a card once in five minutes', async () => {
    const { clock, state, card } = await setup();
    expect(await card()).toMatchObject({ capabilities: ['duel'] });
    expect(await card()).toMatchObject({ capabilities: ['duel'] });
    expect(state.requests).toBe(1);
    await clock.advanceMs(300_001);
    state.answer = JSON.stringify({ capabilities: ['quest'] });
    expect(await card()).toMatchObject({ capabilities: ['quest'] });
  });

  it('uses the last card while the server does not send one, and asks again after a minute', async () => {
    const { clock, state, card } = await setup();
    await card();
    await clock.advanceMs(300_001);
    Object.assign(state, { status: 500, answer: 'broken' });
    expect(await card()).toMatchObject({ capabilities: ['duel'] });
    expect(await card()).toMatchObject({ capabilities: ['duel'] });
    expect(state.requests).toBe(2);
    await clock.advanceMs(60_001);
    await card();
    expect(state.requests).toBe(3);
  });

  it('has none for a server without a card', async () => {
    const { state, card } = await setup();
    Object.assign(state, { status: 404, answer: '<html>' });
    expect(await card()).toBeUndefined();
  });

  it('does not read a card of more than 256 KB', async () => {
    const { state, card } = await setup();
    state.answer = JSON.stringify({ capabilities: ['duel'], padding: 'x'.repeat(300_000) });
    expect(await card()).toBeUndefined();
  });
});

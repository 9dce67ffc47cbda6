import { describe, expect, it } from 'vitest';
import {
  A2aCards,
  cardRequestsOf,
  findA2aCard,
} from '../../../../../../router/src/infra/agents/a2a/card/a2a-cards.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { a2aDouble } from '../../../../../support/a2a.ts';
import { serverOf } from '../../../../../support/abi.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

const deps = () => ({ transport: new AgentTransport(), signal: AbortSignal.timeout(60_000) });

/** A server that sends this card. */
async function cardOf(card: unknown) {
  const { url } = await serverOf((_request, response) => response.end(JSON.stringify(card)));
  return await findA2aCard(url, {}, deps());
}

const interfaces = [{ url: '/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];

describe('cardRequestsOf', () => {
  it.each([
    [
      'https://a.example/x/',
      {},
      [
        '1.0 /x/.well-known/agent-card.json',
        '0.3 /x/.well-known/agent-card.json',
        '0.3 /x/.well-known/agent.json',
      ],
    ],
    ['https://a.example', { version: '1.0' as const }, ['1.0 /.well-known/agent-card.json']],
    ['https://a.example/my/card.json', {}, ['1.0 /my/card.json', '0.3 /my/card.json']],
    ['https://a.example', { cardUrl: 'https://a.example/c' }, ['1.0 /c', '0.3 /c']],
  ])('%s with %j', (endpoint, settings, expected) => {
    const requests = cardRequestsOf(endpoint, settings);
    expect(requests.map(({ cardUrl, version }) => `${version} ${new URL(cardUrl).pathname}`)).toEqual(
      expected,
    );
  });
});

describe('findA2aCard', () => {
  it.each(['1.0', '0.3'] as const)('reads the card of a server of version %s', async (version) => {
    const agent = await a2aDouble({ version, apiKey: 'k' });
    const { card, keyHeader } = await findA2aCard(agent.url, {}, deps());
    expect(card).toMatchObject({
      name: 'A2A stand-in',
      version: '1.2.3',
      supportedInterfaces: [
        { url: `${agent.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: version },
      ],
      skills: [{ id: 'echo' }],
    });
    expect(keyHeader).toBe('X-API-Key');
  });

  it.each([
    [{ key: { type: 'apiKey', in: 'header', name: 'X-One' } }, 'X-One'],
    [{ key: { apiKeySecurityScheme: { location: 'header', name: 'X-Two' } } }, 'X-Two'],
    [{ key: { apiKeySecurityScheme: { location: 'query', name: 'key' } } }, undefined],
    [{ key: { type: 'apiKey', in: 'header', name: 'bad name' } }, undefined],
    [{ bearer: { type: 'http', scheme: 'bearer' } }, undefined],
  ])('finds the header of the key in %j', async (securitySchemes, header) => {
    const { keyHeader } = await cardOf({ name: 'x', supportedInterfaces: interfaces, securitySchemes });
    expect(keyHeader).toBe(header);
  });

  it('reads a card with nothing but its interfaces', async () => {
    const { card } = await cardOf({ supportedInterfaces: interfaces });
    expect(card).toMatchObject({ skills: [], defaultInputModes: [] });
  });

  it.each([
    ['one of the NPC Engine', { capabilities: ['duel'], transports: [{ type: 'http', url: '/rpc' }] }],
    ['a list', []],
    ['a text', 'card'],
    ['null', null],
  ])('takes no other card: %s', async (_name, card) => {
    expect((await cardOf(card)).card).toBeUndefined();
  });
});

describe('A2aCards', () => {
  it('asks once in five minutes, and uses the last card while the server sends none', async () => {
    const clock = new FakeClock();
    const agent = await a2aDouble();
    const cards = new A2aCards(clock, new AgentTransport());
    const card = async () => (await cards.cardOf(agent.url, {}, AbortSignal.timeout(60_000))).card?.name;
    expect(await card()).toBe('A2A stand-in');
    await card();
    expect(agent.requests).toHaveLength(1);
    await clock.advanceMs(300_001);
    agent.options.misbehave = (_request, response) => {
      response.status(500).end();
      return true;
    };
    expect(await card()).toBe('A2A stand-in');
    expect(agent.requests.length).toBeGreaterThan(1);
  });
});

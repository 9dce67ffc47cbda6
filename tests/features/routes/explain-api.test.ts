import { describe, expect, it } from 'vitest';
import type { ExplainInput } from '../../../router/src/core/routing/explain-route.ts';
import { explainApi } from '../../../router/src/features/routes/explain-api.ts';
import { validate } from '../../../router/src/infra/operations/form.ts';
import type { Call } from '../../../router/src/infra/operations/response.ts';
import { aMessage } from '../../contracts/adapters.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { appWith } from '../../support/app-with.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();

const explain = (body: object) => api.call('POST', '/api/routes/explain', body);

async function added(change: object): Promise<{ id: string }> {
  const { status, body } = await api.call('POST', '/api/routes', {
    channelId: '5493777239922',
    agentEndpoint: 'http://localhost:8000',
    config: { adk: { appName: 'a' } },
    ...change,
  });
  expect(status).toBe(201);
  return body.data;
}

describe('POST /api/routes/explain', () => {
  it('names the route that takes a message, rule by rule', async () => {
    const first = await added({ regexFilter: '^help' });
    const second = await added({ channelId: '*' });
    const { status, body } = await explain({ from: '+5493777239922', text: 'hi' });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ decision: 'route', route: { id: second.id } });
    expect(body.data.trace.map(({ routeId, outcome }: Record<string, string>) => [routeId, outcome])).toEqual(
      [
        [first.id, 'no-match'],
        [second.id, 'chosen'],
      ],
    );
  });

  it('gives the reason when no route matches', async () => {
    const { body } = await explain({ channelId: '15551234567', text: 'hi' });
    expect(body.data).toMatchObject({ decision: 'none', reason: 'no-route' });
  });

  it('shows each condition of a route, for what is stored and for given facts', async () => {
    const when = { tags: ['VIP'], isFirstContact: true, languages: ['es'], percent: 100 };
    const vip = await added({ channelId: '*', priority: 1, config: { adk: { appName: 'a' }, when } });
    await added({ channelId: '*' });
    const { chatId } = await new MemoryInbox(api.state).add(
      aMessage('default', { phone: '15551234567' }),
      'n1',
    );
    const message = { from: '15551234567', text: '¿a qué hora abren mañana?' };
    const [entry] = (await explain(message)).body.data.trace;
    expect(entry).toMatchObject({ routeId: vip.id, outcome: 'when-not-met' });
    expect(entry.conditions.map((each: Record<string, unknown>) => [each.condition, each.holds])).toEqual([
      ['languages', true],
      ['isFirstContact', true],
      ['tags', false],
      ['percent', true],
    ]);
    expect((await explain({ ...message, tags: ['Vip'] })).body.data.route.id).toBe(vip.id);
    await api.call('PUT', `/api/chats/${chatId}/tags`, { tags: ['vip'] });
    expect((await explain(message)).body.data.route.id).toBe(vip.id);
    const [unknown] = (await explain({ ...message, text: '12345' })).body.data.trace;
    expect(unknown.sentence).toContain('The language of the text is not known; the languages are es.');
    const [answered] = (await explain({ ...message, isFirstContact: false })).body.data.trace;
    expect(answered.sentence).toContain('A message of the chat was answered before.');
  });

  it.each([
    ['the place', 'place', { kinds: ['location'] }, { text: '', kind: 'location' }],
    ['the voice', 'voice', { kinds: ['voice'] }, { text: '', media: { kind: 'voice' } }],
    [
      'the weekend',
      'weekend',
      { days: ['sat'], hours: '22:00-02:00' },
      { text: 'x', at: '2026-11-22T01:00:00Z' },
    ],
  ])('takes the time and the kind of a message: %s', async (_, name, when, message) => {
    const { id } = await added({ name, config: { adk: { appName: 'a' }, when } });
    expect((await explain({ from: '+5493777239922', ...message })).body.data.route).toMatchObject({ id });
  });

  it('says what each policy of the conversation decides, with what is stored of the chat', async () => {
    await added({ channelId: '*' });
    const policiesOf = async (body: object) => (await explain(body)).body.data.policies;
    const group = { channelId: '120363043211234567@g.us', from: '15551234567', text: 'hi' };
    const notReached = {
      sentence: 'Not evaluated: an earlier policy ended the turn.',
      phrase: { code: 'policy.not-reached' },
    };
    expect(await policiesOf(group)).toEqual([
      {
        policy: 'group',
        outcome: 'ends',
        reason: 'group-not-addressed',
        sentence: 'The message neither mentions the account nor replies to one of its messages.',
        phrase: { code: 'group.not-addressed' },
      },
      { policy: 'pause', outcome: 'not-reached', ...notReached },
      { policy: 'quota', outcome: 'not-reached', ...notReached },
    ]);
    const outcomes = async (body: object) =>
      (await policiesOf(body)).map(({ outcome }: { outcome: string }) => outcome);
    expect(await outcomes({ ...group, isMentioned: true })).toEqual(['continues', 'continues', 'continues']);
    const { chatId } = await new MemoryInbox(api.state).add(
      aMessage('default', { phone: '15551234567' }),
      'n1',
    );
    await api.call('POST', `/api/chats/${chatId}/pause`);
    expect(await outcomes({ from: '15551234567', text: 'hi' })).toEqual(['continues', 'ends', 'not-reached']);
  });

  it("uses the service's account unless the body names one", async () => {
    await added({ channelId: '*' });
    const { body } = await explain({ from: '15551234567', text: 'hi' });
    expect(body.data).toMatchObject({ decision: 'route', identity: { accountId: 'default' } });
    const other = await explain({ from: '15551234567', text: 'hi', accountId: 'sales' });
    expect(other.body.data).toMatchObject({ decision: 'none', identity: { accountId: 'sales' } });
  });

  it('accepts a text of at most 65536 characters, and a blank one', async () => {
    const statusOf = async (text: string) => (await explain({ from: '15551234567', text })).status;
    expect(await statusOf('')).toBe(200);
    expect(await statusOf('x'.repeat(65_536))).toBe(200);
    expect(await statusOf('x'.repeat(65_537))).toBe(400);
  });

  it.each([
    [{ text: 'hi' }, 'channelId'],
    [{ channelId: '*', text: 'hi' }, 'channelId'],
    [{ channelId: 'everyone', text: 'hi' }, 'channelId'],
    [{ channelId: '15551234567', from: 'somebody', text: 'hi' }, 'from'],
    [{ from: '120363043211234567@g.us', text: 'hi' }, 'from'],
    [{ channelId: '15551234567' }, 'text'],
    [{ channelId: '15551234567', text: 'hi', media: { kind: 'fax' } }, 'media.kind'],
    [{ channelId: '15551234567', text: 'hi', media: { kind: 'image', sizeBytes: -1 } }, 'media.sizeBytes'],
  ])('refuses %j and names the field %s', async (body, field) => {
    const answer = await explain(body);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('INVALID_BODY');
    const [detail] = answer.body.details;
    expect(detail.field).toBe(field);
    expect(answer.body.error).toBe(`${field} ${detail.message}.`);
  });
});

it('gives a file without a type the type of any file', async () => {
  const given: ExplainInput[] = [];
  const [endpoint] = explainApi(
    appWith({
      config: { accountId: 'default' },
      aliasesOf: async () => [],
      explain: async (input) => {
        given.push(input);
        return { kind: 'invalid', field: 'from', mistake: { sentence: 'must be a person' } };
      },
    }),
  );
  const body = validate(
    endpoint?.body as NonNullable<typeof endpoint>['body'] & object,
    { from: '15551234567', text: '', media: { kind: 'image' } },
    'body',
  );
  const handled = endpoint?.handle({ body, caller: { kind: 'admin-key' } } as Call<unknown, unknown>);
  await expect(handled).rejects.toMatchObject({ details: [{ field: 'from', message: 'must be a person' }] });
  expect(given).toMatchObject([{ media: { kind: 'image', mimeType: 'application/octet-stream' } }]);
});

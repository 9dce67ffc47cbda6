import nock from 'nock';
import { describe, expect, it } from 'vitest';
import type { AttemptOptions } from '../../../../../router/src/core/agent-client.ts';
import {
  AgentUncertainError,
  MediaError,
  StorageUnavailableError,
} from '../../../../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../../../../router/src/core/models.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { WebhookAgentClient } from '../../../../../router/src/infra/agents/webhook/webhook-agent-client.ts';
import {
  signatureHeaders,
  type WebhookSettings,
} from '../../../../../router/src/infra/agents/webhook/webhook-body.ts';
import { aMessage } from '../../../../support/adk-requests.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { mockNetwork } from '../../../../support/mocked-network.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

mockNetwork();

const url = 'http://hook.test';
const path = '/webhook/abc?x=1';
const picture = { kind: 'image' as const, mimeType: 'image/jpeg' };

function aClient(webhook: WebhookSettings = {}, clock = new FakeClock(), log = recordingLog()) {
  const client = new WebhookAgentClient({
    webhook,
    timeoutMs: 1_000,
    log,
    clock,
    transport: new AgentTransport(),
  });
  const send = (message: Partial<IncomingMessage> = {}, options: AttemptOptions = {}) =>
    client.sendMessage(`${url}${path}`, aMessage(message), options);
  return { client, send, clock, log };
}

/** A webhook that answers once; `requests` are what it received. */
function hook(status: number, body: nock.Body = '', headers: Record<string, string> = {}, method = 'POST') {
  const requests: Array<{ headers: Record<string, string>; body: string }> = [];
  nock(url)
    .intercept(path, method)
    .reply(function (_uri, sent) {
      const named = Object.entries(this.req.headers).map(([name, value]) => [name, String(value)]);
      requests.push({
        headers: Object.fromEntries(named),
        body: typeof sent === 'string' ? sent : JSON.stringify(sent),
      });
      return [status, body, headers];
    });
  return requests;
}

describe('WebhookAgentClient', () => {
  it('sends the message as JSON and returns the answer', async () => {
    const requests = hook(200, { output: 'Hello!' });
    const answer = await aClient().send({}, { replyToken: async () => 'token-1' });
    expect(answer).toEqual({
      success: true,
      response: 'Hello!',
      metadata: { webhook: { status: 200 } },
      detail: { webhook: { status: 200 } },
    });
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ chatInput: 'Hello', replyToken: 'token-1' });
    expect(requests[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'msg_001',
      'x-wa2ai-reply-token': 'token-1',
    });
    expect(requests[0]?.headers).not.toHaveProperty('x-wa2ai-signature');
  });

  it('signs the body and the time', async () => {
    const requests = hook(200);
    const { send, clock } = aClient({ secret: 'a-secret-key' });
    await send();
    const [request] = requests;
    expect(request?.headers).toMatchObject(
      signatureHeaders('a-secret-key', request?.body ?? '', clock.now()),
    );
  });

  it('uses the method, the headers and the body of the route', async () => {
    const requests = hook(200, 'ok', {}, 'PUT');
    const settings = { method: 'PUT' as const, headers: { 'X-Key': 'k1' }, body: { q: '{{text}}' } };
    expect((await aClient(settings).send()).response).toBe('ok');
    expect(requests).toMatchObject([{ headers: { 'x-key': 'k1' }, body: '{"q":"Hello"}' }]);
  });

  it.each([
    [202, undefined],
    [204, undefined],
    [200, 'async'],
    [202, 'async'],
  ] as const)('leaves the answer for later with the status %i and reply %s', async (status, reply) => {
    hook(status, status === 200 ? { message: 'Workflow was started' } : '');
    const answer = await aClient({ ...(reply && { reply }) }).send();
    expect(answer).toMatchObject({ success: true, isLater: true });
    expect(answer).not.toHaveProperty('response');
  });

  it('is silent when the response is empty', async () => {
    hook(200);
    const answer = await aClient().send();
    expect([answer.response, answer.isLater]).toEqual([undefined, undefined]);
  });

  it('returns a file', async () => {
    hook(200, Buffer.from('png'), { 'content-type': 'image/png' });
    expect((await aClient().send()).files).toMatchObject([{ kind: 'image', mimeType: 'image/png' }]);
  });

  it('sends the file of the message when the body contains it', async () => {
    const loadMedia = async () => new Uint8Array([1, 2, 3]);
    const requests = hook(200);
    await aClient().send({ media: picture, text: '' }, { loadMedia });
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({
      media: { mimeType: 'image/jpeg', data: 'AQID' },
    });
    hook(200);
    const neverLoaded = () => Promise.reject(new Error('loaded'));
    await aClient({ body: { q: '{{text}}' } }).send({ media: picture }, { loadMedia: neverLoaded });
    await expect(aClient().send({ media: picture })).rejects.toThrow(MediaError);
    expect(await aClient().client.takesFile()).toBe(true);
    expect(await aClient({ body: { q: '{{text}}' } }).client.takesFile()).toBe(false);
  });

  it('sends nothing when the token or the attempt cannot be stored', async () => {
    const fail = () => Promise.reject(new StorageUnavailableError({ sentence: 'gone' }));
    await expect(aClient().send({}, { replyToken: fail })).rejects.toThrow('gone');
    await expect(aClient().send({}, { beforeRequest: fail })).rejects.toThrow('gone');
  });

  it('sends again what may have arrived, with the same idempotency key, unless the route forbids it', async () => {
    const requests = hook(200, 'ok');
    await aClient().send({}, { isRepeat: true, uncertain: 'retry' });
    expect(requests[0]?.headers['idempotency-key']).toBe('msg_001');
    const forbidden = aClient().send({}, { isRepeat: true, uncertain: 'dead-letter' });
    await expect(forbidden).rejects.toThrow(AgentUncertainError);
  });

  it('shows no secret in an error or the log, and the status in the detail', async () => {
    hook(400, 'token-12345 a-secret-key header-value 5493777239922 My long question');
    const { send, log } = aClient({ secret: 'a-secret-key', headers: { 'X-Key': 'header-value' } });
    const failed = send({ text: 'My long question' }, { replyToken: async () => 'token-12345' });
    await expect(failed).rejects.toMatchObject({
      message: 'The webhook answered status 400: [secret] [secret] [secret] [user] [message text].',
      detail: { webhook: { status: 400 } },
    });
    hook(200, 'a private answer');
    await send({ text: 'My long question' }, { replyToken: async () => 'token-12345' });
    expect(log.lines).toMatchObject([
      { message: 'webhook answered', fields: { status: 200, isLater: false } },
    ]);
    expect(JSON.stringify(log.lines)).not.toMatch(/token-12345|private|question/);
  });

  it('previews the request, without secrets', async () => {
    const { client } = aClient({
      secret: 'a-secret-key',
      headers: { 'X-Key': 'header-value' },
      body: { q: '{{text}}', t: '{{replyToken}}' },
    });
    expect(await client.preview(aMessage({ media: picture }), `${url}${path}`)).toEqual({
      kind: 'request',
      method: 'POST',
      url: `${url}${path}`,
      headers: {
        'content-type': 'application/json',
        'idempotency-key': 'msg_001',
        'x-key': '***',
        'x-wa2ai-reply-token': '<reply token>',
        'x-wa2ai-signature': 'sha256=<signature>',
        'x-wa2ai-timestamp': expect.any(String),
      },
      body: { q: 'Hello', t: '<reply token>' },
    });
  });
});

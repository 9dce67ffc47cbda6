import nock from 'nock';
import { describe, expect, it } from 'vitest';
import {
  boundedFetch,
  streamedFetch,
} from '../../../../../router/src/infra/agents/transport/bounded-fetch.ts';
import { Egress } from '../../../../../router/src/infra/agents/transport/egress.ts';
import { mockNetwork } from '../../../../support/mocked-network.ts';

mockNetwork();

const url = 'https://agent.example';

async function faultWith(cause: Error) {
  nock(url).post('/').replyWithError(cause);
  const signal = new AbortController().signal;
  return await boundedFetch(
    url,
    { method: 'POST', headers: new Headers(), signal, maxBytes: 100 },
    new Egress(),
  );
}

describe('a request that failed before it was sent', () => {
  it.each([
    ['ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:443', 'connect ECONNREFUSED 10.0.0.1:443'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate', 'its certificate is self-signed'],
    ['CERT_HAS_EXPIRED', 'certificate has expired', 'its certificate has expired'],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      "Hostname/IP does not match certificate's altnames: Host: agent.example",
      'its certificate is for another host name',
    ],
    [
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/openssl/record.c:350:\n',
      'it does not speak TLS on that port; its address may have to begin with http://',
    ],
  ])('is reported as unsent: %s', async (code, message, detail) => {
    const fault = await faultWith(Object.assign(new Error(message), { code }));
    expect(fault).toMatchObject({ kind: 'fault', fault: 'not-connected', detail: { sentence: detail } });
  });
});

describe('a request that may have been received', () => {
  it('is not reported as unsent by a TLS error of an open connection', async () => {
    const cause = Object.assign(new Error('bad record mac\n'), {
      code: 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC',
    });
    expect(await faultWith(cause)).toMatchObject({
      fault: 'no-answer',
      detail: { sentence: 'bad record mac' },
    });
  });
});

describe('an answer that is a stream of events', () => {
  const ask = async (body: string, type = 'text/event-stream; charset=utf-8', status = 200) => {
    nock(url).post('/').reply(status, body, { 'content-type': type });
    const events: string[] = [];
    const { signal } = new AbortController();
    const request = { method: 'POST' as const, headers: new Headers(), signal, maxBytes: 100 };
    return { fetched: await streamedFetch(url, request, new Egress(), (data) => events.push(data)), events };
  };

  it('is read event by event', async () => {
    const { fetched, events } = await ask(': a comment\n\ndata: one\n\nevent: x\ndata: two\n\n');
    expect(events).toEqual(['one', 'two']);
    expect(fetched).toMatchObject({ kind: 'answer', status: 200, body: Buffer.alloc(0) });
  });

  it('may have as many bytes as any answer', async () => {
    const { fetched } = await ask(`data: ${'x'.repeat(40)}\n\n`.repeat(3));
    expect(fetched).toMatchObject({ kind: 'fault', fault: 'too-large' });
    expect((await ask(`data: ${'x'.repeat(200)}\n\n`)).fetched).toMatchObject({ fault: 'too-large' });
  });

  it.each([
    ['no stream', 'application/json', 200],
    ['a refusal', 'text/event-stream', 429],
  ])('is read whole when it is %s', async (_what, type, status) => {
    const { fetched, events } = await ask('data: one\n\n', type, status);
    expect(events).toEqual([]);
    expect(fetched).toMatchObject({ kind: 'answer', status, body: Buffer.from('data: one\n\n') });
  });
});

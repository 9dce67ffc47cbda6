import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BareClient } from '../support/bare-client.ts';
import { ControlApi } from '../whatsapp-emulator/control-api.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';

const ACCOUNT = '34600000001';
const MARIA = '34600111111';

let emulator: WhatsAppEmulator;
let control: ControlApi;
let client: BareClient | undefined;

beforeEach(async () => {
  // libsignal prints sessions, private keys included
  for (const method of ['info', 'warn', 'error'] as const) vi.spyOn(console, method).mockReturnValue();
  emulator = await WhatsAppEmulator.start();
  control = await ControlApi.start(emulator);
});

afterEach(async () => {
  client?.close();
  client = undefined;
  await control.stop();
  await emulator.stop();
});

async function post(path: string, body: unknown, expected = 200): Promise<Record<string, string>> {
  const response = await fetch(`${control.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, string>;
  expect({ status: response.status, answer }).toMatchObject({ status: expected });
  return answer;
}

async function get(path: string): Promise<unknown> {
  return (await fetch(`${control.url}${path}`)).json();
}

async function linkedEcho(): Promise<void> {
  client = new BareClient(emulator.url);
  client.echo();
  const restart = client.waitForUpdate(({ connection }) => connection === 'close');
  await post('/phone/scan', { qr: await client.waitForQr() });
  await restart;
  const live = emulator.waitFor('live');
  client.connect();
  await live;
}

describe('the control API of the emulator', () => {
  it('lists its endpoints', async () => {
    const text = await (await fetch(control.url)).text();
    expect(text).toContain(emulator.url);
    for (const path of ['/phone/scan', '/phone/enter-code', '/people', '/groups', '/transcript', '/faults']) {
      expect(text).toContain(path);
    }
  });

  it('links a client, sends a message of a person and shows the reply', async () => {
    await linkedEcho();
    await post('/people', { phone: `+${MARIA}`, name: 'Maria' });
    const { id } = await post(`/people/${MARIA}/say`, { to: ACCOUNT, text: 'hola', via: 'lid' });
    expect(await get(`/people/${MARIA}/next-reply`)).toMatchObject({ text: 'echo: hola' });
    expect(await get('/transcript?after=0')).toContainEqual(
      expect.objectContaining({ seq: 1, kind: 'in', id, text: 'hola' }),
    );
    expect(await get(`/people/${MARIA}/received`)).toHaveLength(1);
    expect(await get('/state')).toMatchObject({ accounts: [{ devices: [{ isOnline: true }], copies: 1 }] });
  });

  it('links a client by its code', async () => {
    client = new BareClient(emulator.url);
    await client.waitForQr();
    const restart = client.waitForUpdate(({ connection }) => connection === 'close');
    const code = await client.socket.requestPairingCode(ACCOUNT);
    const { device } = await post('/phone/enter-code', { code, phone: ACCOUNT });
    await restart;
    expect(client.auth.creds.me?.id).toBe(device);
  });

  it('creates a group whose members all receive the reply', async () => {
    await linkedEcho();
    await post('/people', { phone: MARIA });
    await post('/people', { phone: '34600222222' });
    const group = await post('/groups', { subject: 'Friends', members: [ACCOUNT, MARIA, '34600222222'] });
    await post(`/people/${MARIA}/say`, { to: group.jid, text: 'all of you' });
    expect(await get('/people/34600222222/next-reply')).toMatchObject({
      text: 'echo: all of you',
      chat: group.jid,
    });
  });

  it('returns the growing transcript, by long poll and as a stream', async () => {
    await linkedEcho();
    await post('/people', { phone: MARIA });
    const poll = get('/transcript?waitMs=10000');
    const stream = await fetch(`${control.url}/transcript/stream`);
    await post(`/people/${MARIA}/say`, { to: ACCOUNT, text: 'hola' });
    expect(await poll).toMatchObject([{ seq: 1, kind: 'in', text: 'hola' }]);
    const seen = await readUntil(stream, '"text":"echo: hola"');
    expect(seen).toContain('id: 1\ndata: {"seq":1');
  });

  it('applies requested faults', async () => {
    await linkedEcho();
    const closed = emulator.waitFor('closed');
    await post('/faults', { kind: 'end-stream', code: 503 });
    expect(await closed).toMatchObject({ reason: 'stream error 503' });
    await post('/faults', { kind: 'refuse-upgrades', count: 2, status: 502 });
    expect(emulator.faults).toMatchObject({ refusedUpgrades: 2, refusalStatus: 502 });
    await post('/faults', { kind: 'clear' });
    expect(emulator.faults.refusedUpgrades).toBe(0);
  });

  it.each([
    ['/people', '{"phone":', 400, 'the body is not JSON'],
    ['/people', {}, 400, 'phone: '],
    ['/people', { phone: 'nobody' }, 400, 'phone: must be a phone number of 6 to 15 digits'],
    ['/people', { phone: MARIA, nmae: 'Maria' }, 400, 'Unrecognized key: "nmae"'],
    ['/groups', { subject: 'Friends', members: [ACCOUNT] }, 400, 'members: '],
    ['/groups', { subject: 'Friends', members: [ACCOUNT, MARIA] }, 409, `there is no person ${MARIA}`],
    [`/people/${MARIA}/say`, { to: ACCOUNT, text: 'hi' }, 409, `there is no person ${MARIA}`],
    ['/phone/scan', { qr: 'nonsense' }, 409, 'noise key has 0 bytes'],
    ['/faults', { kind: 'end-stream', code: 418 }, 400, 'code: '],
    ['/faults', { kind: 'flood' }, 400, 'kind: '],
    ['/nothing', {}, 404, 'there is no /nothing'],
    ['/state', {}, 405, '/state takes GET'],
  ])('refuses %s %j with %i', async (path, body, status, message) => {
    expect((await post(path, body, status)).error).toContain(message);
  });

  it('refuses a body over 1 MB and one that is not declared as JSON', async () => {
    expect((await post('/people', { phone: 'x'.repeat(1_100_000) }, 413)).error).toContain('1 MB');
    const response = await fetch(`${control.url}/people`, { method: 'POST', body: 'phone=1' });
    expect(response.status).toBe(415);
  });
});

/** Reads a stream of events until a text shows up in it. */
async function readUntil(response: Response, text: string): Promise<string> {
  const decoder = new TextDecoder();
  let seen = '';
  for await (const chunk of response.body ?? []) {
    seen += decoder.decode(chunk, { stream: true });
    if (seen.includes(text)) break;
  }
  return seen;
}

import { DEFAULT_CONNECTION_CONFIG, proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import {
  createSocketMemory,
  socketConfig,
} from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

type SocketConfigInput = Parameters<typeof socketConfig>[0];

function setup(more: Partial<SocketConfigInput> = {}) {
  const memory = createSocketMemory();
  const auth = { creds: { registrationId: 1 }, keys: { get: async () => ({}) }, commits: 'of wa2ai alone' };
  const input = {
    accountId: 'main',
    auth,
    memory,
    log: recordingLog(),
    getMessage: async () => undefined,
    groupMetadata: async () => undefined,
    makeSignalRepository: DEFAULT_CONNECTION_CONFIG.makeSignalRepository,
    ...more,
  } as unknown as SocketConfigInput;
  return { input, memory, auth, config: socketConfig(input) };
}

describe('the settings of a socket', () => {
  it('request no history, so that queued messages do not wait for it', () => {
    const { config } = setup();
    const types = Object.values(proto.Message.HistorySyncType);
    expect(config.syncFullHistory).toBe(false);
    for (const syncType of types.filter((type) => typeof type === 'number')) {
      expect(config.shouldSyncHistoryMessage?.({ syncType })).toBe(false);
    }
  });

  it('are those of Baileys for server and version', () => {
    const { config } = setup();
    const merged = { ...DEFAULT_CONNECTION_CONFIG, ...config };
    expect(merged.waWebSocketUrl).toBe(DEFAULT_CONNECTION_CONFIG.waWebSocketUrl);
    expect(merged.version).toEqual(DEFAULT_CONNECTION_CONFIG.version);
  });

  it('name another server and version when these are given', () => {
    const { config } = setup({ whatsappWsUrl: 'ws://127.0.0.1:1/', version: [2, 3000, 7] });
    expect(config).toMatchObject({ waWebSocketUrl: 'ws://127.0.0.1:1/', version: [2, 3000, 7] });
  });

  it('give Baileys a copy of the version, which it may not change for the next socket', () => {
    const version = [2, 3000, 7] as const;
    const { config } = setup({ version });
    expect(config.version).not.toBe(version);
    expect(setup().config.version).not.toBe(DEFAULT_CONNECTION_CONFIG.version);
  });

  it('give Baileys only credentials and keys of the account', () => {
    const { config, auth } = setup();
    expect(config.auth).toEqual({ creds: auth.creds, keys: auth.keys });
  });

  it('share the caches between the sockets of an account', () => {
    const { input, memory } = setup();
    const [first, second] = [socketConfig(input), socketConfig(input)];
    first.msgRetryCounterCache?.set('3EB0A', 3);
    expect(second.msgRetryCounterCache?.get('3EB0A')).toBe(3);
    expect(second.userDevicesCache).toBe(memory.devices);
    expect(setup().config.msgRetryCounterCache?.get('3EB0A')).toBeUndefined();
  });
});

describe('the memory of sockets', () => {
  it('knows the numbers that WhatsApp has no LID for', () => {
    const { withoutLid } = createSocketMemory();
    expect(withoutLid.has('34600000001@s.whatsapp.net')).toBe(false);
    withoutLid.add('34600000001@s.whatsapp.net');
    expect(withoutLid.has('34600000001@s.whatsapp.net')).toBe(true);
  });

  it('is bounded: the number not used for longest is forgotten', () => {
    const { withoutLid } = createSocketMemory();
    for (let number = 0; number <= 20_000; number += 1) withoutLid.add(`${number}`);
    expect([withoutLid.has('0'), withoutLid.has('1'), withoutLid.has('20000')]).toEqual([false, true, true]);
  });
});

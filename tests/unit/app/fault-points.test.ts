import { describe, expect, it, vi } from 'vitest';
import { FaultPoints } from '../../../router/src/app/provider.ts';
import { ConfigError, loadConfig } from '../../../router/src/config/config.ts';
import { FAULT_POINTS } from '../../../router/src/config/config-fields.ts';
import type { Inbox } from '../../../router/src/core/ports/inbox.ts';
import { MemoryJournal } from '../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../doubles/memory-key-store.ts';

const testServer = { WA2AI_WHATSAPP_WS_URL: 'ws://127.0.0.1:9000/ws/chat' };

describe('the setting of a fault point', () => {
  it.each(FAULT_POINTS)('accepts %s and its pass', (point) => {
    const config = loadConfig({ ...testServer, WA2AI_FAULT_POINT: `${point}:3` });
    expect(config.faultPoint).toEqual({ point, pass: 3 });
  });

  it('is the first pass when none is named', () => {
    const config = loadConfig({ ...testServer, WA2AI_FAULT_POINT: 'after-journal' });
    expect(config.faultPoint).toEqual({ point: 'after-journal', pass: 1 });
  });

  it.each([
    '',
    'wss://127.0.0.1:9000/ws/chat',
    'wss://web.whatsapp.com/ws/chat',
    'ws://10.0.0.1:9000/ws/chat',
  ])('stops the start when WhatsApp is at "%s"', (url) => {
    const load = () => loadConfig({ WA2AI_WHATSAPP_WS_URL: url, WA2AI_FAULT_POINT: 'after-journal:1' });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow(/WA2AI_FAULT_POINT must not be set|must be wss/);
  });

  it.each([
    'after-lunch:1',
    'after-journal:0',
    'after-journal:-1',
    'after-journal:x',
    'after-journal:',
    'after-journal:1:1',
    'after-journal:1000000',
    'toString',
    ':1',
  ])('is refused when it is "%s"', (value) => {
    expect(() => loadConfig({ ...testServer, WA2AI_FAULT_POINT: value })).toThrow(/must be one of/);
  });
});

describe('a fault point', () => {
  const entry = {
    ciphertextHash: 'h',
    stanzaOrder: 1n,
    waMessageId: 'A',
    plaintext: new Uint8Array(1),
    stanza: new Uint8Array(1),
  };
  const scope = { accountId: 'a', generation: 1 };

  it('ends the process at the planned pass, and at no other', async () => {
    const kill = vi.fn();
    const journal = new MemoryJournal();
    const faults = new FaultPoints({ point: 'after-journal', pass: 2 }, kill);
    const store = faults.keyStore(new MemoryKeyStore(journal));
    await store.commit(scope, { puts: [], deletes: [], journal: [entry] });
    await store.commit(scope, { puts: [], deletes: [], journal: [] });
    expect(kill).not.toHaveBeenCalled();
    await store.commit(scope, { puts: [], deletes: [], journal: [{ ...entry, ciphertextHash: 'i' }] });
    expect(kill).toHaveBeenCalledOnce();
    expect(await journal.find('a', 'i')).toBeDefined();
    await store.commit(scope, { puts: [], deletes: [], journal: [{ ...entry, ciphertextHash: 'j' }] });
    expect(kill).toHaveBeenCalledOnce();
  });

  it('before the journal ends the process while nothing is stored', async () => {
    const journal = new MemoryJournal();
    const found: unknown[] = [];
    const faults = new FaultPoints({ point: 'after-decrypt', pass: 1 }, () =>
      found.push(journal.find('a', 'h')),
    );
    await faults
      .keyStore(new MemoryKeyStore(journal))
      .commit(scope, { puts: [], deletes: [], journal: [entry] });
    expect(await Promise.all(found)).toEqual([undefined]);
  });

  it('does not exist without a plan', () => {
    const inbox = {} as Inbox;
    expect(new FaultPoints(undefined).inbox(inbox)).toBe(inbox);
  });
});

import { EventEmitter } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WASocket } from '@whiskeysockets/baileys';
import * as installed from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import {
  checkBaileys,
  EXPORTS,
  REPOSITORY_FUNCTIONS,
  removePairingListener,
  SOCKET_FUNCTIONS,
  takeMessageListener,
} from '../../../../../router/src/providers/baileys/connection/check-surface.ts';
import { repositoryRoot } from '../../../../support/repository.ts';

/** Sets the value at a path; objects on the way are made. */
function place(owner: object, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let target = owner as Record<string, unknown>;
  for (const name of names) {
    target[name] ??= {};
    target = target[name] as Record<string, unknown>;
  }
  target[last] = value;
}

/** A socket with every function, and as many listeners of message stanzas as given. */
function setup(listeners = 1) {
  const ws = new EventEmitter();
  const received: unknown[] = [];
  for (let count = 0; count < listeners; count += 1) {
    ws.on('CB:message', (node: unknown) => received.push(node));
  }
  const socket: Record<string, unknown> = { ws };
  for (const path of SOCKET_FUNCTIONS) if (!path.startsWith('ws.')) place(socket, path, () => undefined);
  return { ws, received, socket: socket as unknown as WASocket };
}

describe('takeMessageListener', () => {
  it("removes and returns Baileys' own listener, and no other", () => {
    const { ws, socket, received } = setup();
    ws.on('CB:receipt', () => undefined);
    const listener = takeMessageListener(socket);
    expect([ws.listenerCount('CB:message'), ws.listenerCount('CB:receipt')]).toEqual([0, 1]);
    listener({ tag: 'message', attrs: {} });
    expect(received).toEqual([{ tag: 'message', attrs: {} }]);
  });

  it.each([0, 2])('refuses a Baileys with %i listeners, and leaves them', (count) => {
    const { ws, socket } = setup(count);
    expect(() => takeMessageListener(socket)).toThrow(`${count} listeners of message stanzas instead of one`);
    expect(ws.listenerCount('CB:message')).toBe(count);
  });

  it("removes Baileys' own listener of pair-device, and refuses a Baileys without it", () => {
    const { ws, socket } = setup();
    expect(() => removePairingListener(socket)).toThrow('0 listeners of pair-device stanzas instead of one');
    ws.on('CB:iq,type:set,pair-device', () => undefined);
    removePairingListener(socket);
    expect(ws.listenerCount('CB:iq,type:set,pair-device')).toBe(0);
  });

  it.each(SOCKET_FUNCTIONS)('refuses a Baileys without %s, and leaves its listener', (name) => {
    const { ws, socket } = setup();
    place(socket, name, undefined);
    expect(() => takeMessageListener(socket)).toThrow(
      expect.objectContaining({
        code: 'BAILEYS_UNSUPPORTED',
        disposition: 'dead',
        message: expect.stringContaining(`(the socket has no ${name})`),
      }),
    );
    expect(ws.listenerCount('CB:message')).toBe(1);
  });

  it('refuses a retry manager that cannot cancel a request to the phone, and accepts none', () => {
    const { socket } = setup();
    place(socket, 'messageRetryManager', {});
    expect(() => takeMessageListener(socket)).toThrow('messageRetryManager has no cancelPendingPhoneRequest');
    place(socket, 'messageRetryManager', null);
    expect(() => takeMessageListener(socket)).not.toThrow();
  });
});

describe('checkBaileys', () => {
  /** The installed package, with one part replaced. */
  function changed(path: string, value: unknown): object {
    const [first = '', ...rest] = path.split('.');
    const parts: Record<string, unknown> = { ...installed };
    if (rest.length === 0) return { ...parts, [first]: value };
    const whole = parts[first] as Record<string, unknown>;
    return { ...parts, [first]: changedIn(whole, rest, value) };
  }
  function changedIn(owner: object, [name = '', ...rest]: string[], value: unknown): object {
    const copy: Record<string, unknown> = Object.create(owner);
    const inner = (owner as Record<string, unknown>)[name] as object;
    return Object.assign(copy, { [name]: rest.length === 0 ? value : changedIn(inner, rest, value) });
  }

  it('accepts the installed Baileys', () => {
    expect(() => checkBaileys()).not.toThrow();
  });

  it.each(Object.entries(EXPORTS))('refuses a Baileys whose %s is no %s', (path, type) => {
    const value = type === 'string' ? 1 : 'text';
    expect(() => checkBaileys(changed(path, value))).toThrow(
      expect.objectContaining({
        code: 'BAILEYS_UNSUPPORTED',
        message: expect.stringContaining(`(${path} is ${typeof value} instead of ${type})`),
      }),
    );
  });

  it.each(REPOSITORY_FUNCTIONS)('refuses a Signal repository without %s', (path) => {
    const make = installed.DEFAULT_CONNECTION_CONFIG.makeSignalRepository;
    const makeWithout = (...args: Parameters<typeof make>) =>
      changedIn(make(...args), path.split('.'), undefined);
    const library = changed('DEFAULT_CONNECTION_CONFIG.makeSignalRepository', makeWithout);
    expect(() => checkBaileys(library)).toThrow(`(the Signal repository has no ${path})`);
  });

  it('knows each export that the provider imports', async () => {
    const imported = new Set<string>();
    const folder = join(repositoryRoot, 'router/src/providers');
    for (const path of await readdir(folder, { recursive: true })) {
      if (!path.endsWith('.ts')) continue;
      const text = await readFile(join(folder, path), 'utf8');
      for (const [, names] of text.matchAll(/^import [^;]*?\{([^}]*)\} from '@whiskeysockets\/baileys'/gm)) {
        for (const name of names?.split(',') ?? []) imported.add(name.trim());
      }
    }
    const values = [...imported].filter((name) => name !== '' && name in installed);
    const known = new Set(Object.keys(EXPORTS).map((path) => path.split('.')[0]));
    expect(values.filter((name) => !known.has(name))).toEqual([]);
    expect(values.length).toBeGreaterThan(10);
  });
});

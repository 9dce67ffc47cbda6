import { createRequire } from 'node:module';
import { afterEach, expect, it, vi } from 'vitest';
import { guardConsole } from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

const require = createRequire(import.meta.url);
const SessionRecord = require('libsignal/src/session_record.js');
const SECRET = 'the private key';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Makes libsignal close a session, which it prints with all its keys. */
function closeSession(): void {
  new SessionRecord().closeSession({ indexInfo: { closed: -1 }, privKey: SECRET });
}

it('keeps private keys that libsignal prints off the console', () => {
  const printed = vi.spyOn(console, 'info').mockImplementation(() => undefined);
  closeSession();
  expect(JSON.stringify(printed.mock.calls)).toContain(SECRET);
  printed.mockClear();
  const release = guardConsole(recordingLog());
  closeSession();
  release();
  expect(printed).not.toHaveBeenCalled();
});

it('does not change the output of other callers', () => {
  const printed = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const release = guardConsole(recordingLog());
  console.warn('hello', 1);
  release();
  expect(printed).toHaveBeenCalledWith('hello', 1);
});

it('logs a storm in a few lines', () => {
  vi.spyOn(console, 'info').mockImplementation(() => undefined);
  const log = recordingLog();
  const release = guardConsole(log);
  for (let time = 0; time < 1_000; time++) closeSession();
  release();
  expect(log.lines.length).toBe(10);
  expect(JSON.stringify(log.lines)).not.toContain(SECRET);
});

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Sessions by their path, in `session.json` of a folder, so that they outlive the process.
 * @param {string | undefined} folder absent: they live as long as the process
 */
export function openSessions(folder) {
  const file = folder && join(folder, 'session.json');
  if (folder) mkdirSync(folder, { recursive: true });
  const sessions = new Map(Object.entries(file ? load(file) : {}));
  return {
    get: (key) => sessions.get(key),
    has: (key) => sessions.has(key),
    /** Stores a new or changed session. */
    save(key, session) {
      sessions.set(key, session);
      if (!file) return;
      // The file is whole at any time, also when the agent is ended while it writes.
      writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(sessions)));
      renameSync(`${file}.new`, file);
    },
  };
}

function load(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw error;
  }
}

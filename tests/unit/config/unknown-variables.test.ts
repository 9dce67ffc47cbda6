import { describe, expect, it } from 'vitest';
import { unknownVariables } from '../../../router/src/config/config.ts';

describe('unknownVariables', () => {
  it('lists variables with the prefix that are not settings, sorted', () => {
    const env = { WA2AI_PROT: '1', WA2AI_PORT: '1', PATH: '/', WA2AI_ENV: 'lab' };
    expect(unknownVariables(env).map(({ name }) => name)).toEqual(['WA2AI_ENV', 'WA2AI_PROT']);
  });

  it.each([
    ['WA2AI_PROT', 'WA2AI_PORT'],
    ['WA2AI_DATADIR', 'WA2AI_DATA_DIR'],
    ['WA2AI_ENV', 'WA2AI_ENVIRONMENT'],
    ['WA2AI_AGENT_TIME', 'WA2AI_AGENT_TIMEOUT'],
    ['WA2AI_API_KEYFILE', 'WA2AI_API_KEY_FILE'],
    ['WA2AI_LOGLEVEL', 'WA2AI_LOG_LEVEL'],
    ['WA2AI_API_KEYS', 'WA2AI_API_KEY'],
  ])('suggests for %s the setting %s', (name, guess) => {
    expect(unknownVariables({ [name]: 'x' })).toEqual([{ name, guess }]);
  });

  it.each(['WA2AI_BOGUS', 'WA2AI_', 'WA2AI_TELEGRAM_TOKEN', 'WA2AI_A'])('suggests nothing for %s', (name) => {
    expect(unknownVariables({ [name]: 'x' })).toEqual([{ name, guess: undefined }]);
  });
});

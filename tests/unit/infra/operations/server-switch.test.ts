import { expect, it } from 'vitest';
import { isServerOn } from '../../../../router/src/infra/operations/protocol-server.ts';
import { MemorySettings } from '../../../doubles/memory-settings.ts';

it.each(['a2a', 'mcp'] as const)(
  'the face %s is on for loopback and off for other addresses until somebody decides',
  async (face) => {
    const settings = new MemorySettings();
    expect(await isServerOn(settings, face, '127.0.0.1')).toBe(true);
    expect(await isServerOn(settings, face, '0.0.0.0')).toBe(false);
    await settings.put(face, { enabled: true });
    expect(await isServerOn(settings, face, '0.0.0.0')).toBe(true);
    await settings.put(face, { enabled: false });
    expect(await isServerOn(settings, face, '127.0.0.1')).toBe(false);
    await settings.put(face, { enabled: false, other: 1 });
    expect(await isServerOn(settings, face, '127.0.0.1')).toBe(false);
    await settings.put(face, { enabled: 'perhaps' });
    expect(await isServerOn(settings, face, '0.0.0.0')).toBe(false);
  },
);

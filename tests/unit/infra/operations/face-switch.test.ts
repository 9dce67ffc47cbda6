import { expect, it } from 'vitest';
import { isFaceOn } from '../../../../router/src/infra/operations/face.ts';
import { MemoryFaceSettings } from '../../../doubles/memory-face-settings.ts';

it.each(['a2a', 'mcp'] as const)(
  'the face %s is on for loopback and off for other addresses until somebody decides',
  async (face) => {
    const settings = new MemoryFaceSettings();
    expect(await isFaceOn(settings, face, '127.0.0.1')).toBe(true);
    expect(await isFaceOn(settings, face, '0.0.0.0')).toBe(false);
    await settings.put(face, { enabled: true });
    expect(await isFaceOn(settings, face, '0.0.0.0')).toBe(true);
    await settings.put(face, { enabled: false });
    expect(await isFaceOn(settings, face, '127.0.0.1')).toBe(false);
    await settings.put(face, { enabled: false, other: 1 });
    expect(await isFaceOn(settings, face, '127.0.0.1')).toBe(false);
    await settings.put(face, { enabled: 'perhaps' });
    expect(await isFaceOn(settings, face, '0.0.0.0')).toBe(false);
  },
);

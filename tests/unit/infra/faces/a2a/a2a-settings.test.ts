import { expect, it } from 'vitest';
import { isA2aOn, storeA2aSettings } from '../../../../../router/src/infra/faces/a2a/a2a-settings.ts';
import { MemoryFaceSettings } from '../../../../doubles/memory-face-settings.ts';

it('is on for loopback and off for other addresses until somebody decides', async () => {
  const settings = new MemoryFaceSettings();
  expect(await isA2aOn(settings, '127.0.0.1')).toBe(true);
  expect(await isA2aOn(settings, '0.0.0.0')).toBe(false);
  await storeA2aSettings(settings, { enabled: true });
  expect(await isA2aOn(settings, '0.0.0.0')).toBe(true);
  await storeA2aSettings(settings, { enabled: false });
  expect(await isA2aOn(settings, '127.0.0.1')).toBe(false);
  await settings.put('a2a', { enabled: 'perhaps' });
  expect(await isA2aOn(settings, '0.0.0.0')).toBe(false);
});

import { describe, expect, it } from 'vitest';
import { mediaTypeOf } from '../../../../../../router/src/infra/agents/abi/output/output-template.ts';

describe('mediaTypeOf', () => {
  it.each([
    ['89504e470d0a1a0a00', 'image', 'image/png'],
    ['47494638396100', 'image', 'image/gif'],
    ['524946460000000057454250', 'image', 'image/webp'],
    ['4f67675300', 'audio', 'audio/ogg; codecs=opus'],
    ['49443304', 'audio', 'audio/mpeg'],
    ['255044462d312e37', 'document', 'application/pdf'],
    ['89504e470d0a1a0a00', 'audio', 'audio/mpeg'],
    ['00', 'document', 'application/octet-stream'],
  ] as const)('%s as %s is %s when the agent names no type', (hex, kind, mimeType) => {
    expect(mediaTypeOf(Buffer.from(hex, 'hex'), kind)).toBe(mimeType);
  });
});

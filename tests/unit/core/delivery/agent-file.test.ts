import { describe, expect, it } from 'vitest';
import { agentFile } from '../../../../router/src/core/delivery/agent-file.ts';
import { AgentProtocolError } from '../../../../router/src/core/errors.ts';
import { MAX_MEDIA_BYTES } from '../../../../router/src/core/models.ts';

describe('agentFile', () => {
  it.each([
    ['image/png', 'image'],
    ['AUDIO/ogg; codecs=opus', 'audio'],
    ['application/pdf', 'document'],
    ['video/mp4', 'video'],
    ['video/x-msvideo', 'document'],
  ])('sends %s as %s', (mimeType, kind) => {
    expect(agentFile({ mimeType, data: 'AQ==' })).toMatchObject({ kind, mimeType });
  });

  it('reads both alphabets of base64, and bytes', () => {
    expect([...agentFile({ mimeType: 'image/png', data: '-_8=' }).bytes]).toEqual([0xfb, 0xff]);
    expect([...agentFile({ mimeType: 'image/png', data: '+/8=' }).bytes]).toEqual([0xfb, 0xff]);
    expect([...agentFile({ mimeType: 'image/png', data: Buffer.from([7]) }).bytes]).toEqual([7]);
  });

  it('makes a name of a file out of what the agent wrote', () => {
    const named = (fileName: string | null) =>
      agentFile({ mimeType: 'image/png', data: 'AQ==', fileName }).fileName;
    expect(named('../a\\b\n.png')).toBe('.._a_b_.png');
    expect(named('x'.repeat(300))).toHaveLength(200);
    expect(named(null)).toBeUndefined();
  });

  it('refuses a file that cannot be sent', () => {
    const data = Buffer.alloc(MAX_MEDIA_BYTES + 1);
    expect(() => agentFile({ mimeType: 'image/png', data })).toThrow(AgentProtocolError);
  });
});

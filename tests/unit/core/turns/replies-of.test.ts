import { describe, expect, it } from 'vitest';
import type { ReplyFile } from '../../../../router/src/core/models.ts';
import { repliesOf } from '../../../../router/src/core/turns/turn.ts';

const bytes = Buffer.from('a picture');
const picture: ReplyFile = { kind: 'image', mimeType: 'image/png', bytes };
const sound: ReplyFile = { kind: 'audio', mimeType: 'audio/mpeg', bytes };

describe('repliesOf', () => {
  const brief = (response: string | undefined, files?: ReplyFile[]) =>
    repliesOf({ success: true, response, files }).map(({ text, media }) => [media?.kind ?? 'text', text]);

  it.each([
    ['nothing', undefined, undefined, []],
    ['nothing but spaces', '  \n', [], []],
    ['words', ' hi ', [], [['text', ' hi ']]],
    ['a file', undefined, [picture], [['image', '']]],
    ['a file with a caption', 'look', [picture], [['image', 'look']]],
    [
      'words before a sound',
      'listen',
      [sound],
      [
        ['text', 'listen'],
        ['audio', ''],
      ],
    ],
    [
      'a caption on the first file that shows one',
      'look',
      [sound, picture, picture],
      [
        ['audio', ''],
        ['image', 'look'],
        ['image', ''],
      ],
    ],
    [
      'long words before the file',
      'x'.repeat(1_025),
      [picture],
      [
        ['text', 'x'.repeat(1_025)],
        ['image', ''],
      ],
    ],
  ] as const)('are %s', (_, response, files, expected) => {
    expect(brief(response, files && [...files])).toEqual(expected);
  });
});

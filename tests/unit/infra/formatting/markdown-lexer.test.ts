import fc from 'fast-check';
import { lexer } from 'marked';
import { describe, expect, it } from 'vitest';
import { lexMarkdown } from '../../../../router/src/infra/formatting/markdown-lexer.ts';

const PIECES = [
  ...[
    '**',
    '*',
    '_',
    '~~gone~~',
    '`code`',
    '```\n',
    '# ',
    '- ',
    '1. ',
    '> ',
    '\n',
    '\n\n',
    ' ',
    '  \n',
    '\t',
    '    ',
  ],
  ...[
    'word',
    'Word two',
    '- [ ] ',
    '===\n',
    '---\n',
    '| a | b |\n| --- | --- |\n| c | d |\n',
    '\\*',
    '&#65;',
    '<br>',
  ],
  ...['[a](b)', '![', '[r]: http://q.example\n', '[r]', '<pre>', '</pre>', 'a@b.com', 'mailto:a@b.com'],
  ...['http://x.example/z', 'HTTPS://a.example', 'ftp://a.example', 'www.x.example', 'WWW.x.example'],
];

describe('lexMarkdown', () => {
  it('gives the tokens of marked', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }), (pieces) => {
        const markdown = pieces.join('');
        expect(lexMarkdown(markdown)).toEqual(lexer(markdown, { gfm: true }));
      }),
      { numRuns: 300 },
    );
  });
});

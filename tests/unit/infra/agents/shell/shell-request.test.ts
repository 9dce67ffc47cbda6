import { describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../../../router/src/core/models.ts';
import { shellRequestOf } from '../../../../../router/src/infra/agents/shell/shell-agent-client.ts';

const document = (fileName?: string): IncomingMessage['media'] => ({
  ...{ kind: 'document', mimeType: 'text/plain' },
  ...(fileName !== undefined && { fileName }),
});

describe('shellRequestOf', () => {
  it.each([
    ['/interrupt', { kind: 'interrupt' }],
    [' /Reset ', { kind: 'reset' }],
    ['/help', { kind: 'help' }],
    ['/files', { kind: 'files', path: '.' }],
    ['/files  src/a b ', { kind: 'files', path: 'src/a b' }],
    ['/get out.txt', { kind: 'get', path: 'out.txt' }],
    ['/get', { kind: 'help' }],
    ['/bin/ls', { kind: 'command', command: '/bin/ls' }],
    ['/interrupted', { kind: 'command', command: '/interrupted' }],
    ['echo /interrupt', { kind: 'command', command: 'echo /interrupt' }],
    ['  indented\nlines', { kind: 'command', command: '  indented\nlines' }],
  ])('takes %j for %j', (text, request) => {
    expect(shellRequestOf({ text })).toEqual(request);
  });

  it.each([
    ['notes.txt', '', 'notes.txt'],
    ['../../etc/passwd', '', 'passwd'],
    ['C:\\temp\\a.txt', '', 'a.txt'],
    ['..', '', 'document'],
    ['a\0b', '', 'ab'],
    [undefined, '', 'document'],
    ['notes.txt', ' /data/in/b.txt ', '/data/in/b.txt'],
  ])('stores the document %j with the caption %j as %j', (fileName, text, path) => {
    expect(shellRequestOf({ text, media: document(fileName) })).toEqual({ kind: 'upload', path });
  });
});

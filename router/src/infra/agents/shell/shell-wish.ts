import type { IncomingMessage } from '../../../core/models.ts';

/** What a message wants from the shell. */
export type ShellWish =
  | { kind: 'command'; command: string }
  | { kind: 'interrupt' | 'reset' | 'help' }
  | { kind: 'files' | 'get'; path: string }
  | { kind: 'upload'; path: string };

/** A document is an upload, a known word after `/` is what it says, and everything else is a command. */
export function wishOf({ text, media }: Pick<IncomingMessage, 'text' | 'media'>): ShellWish {
  if (media) return { kind: 'upload', path: text.trim() || safeName(media.fileName) };
  const [, name = '', rest = ''] = /^\s*\/([a-z]+)(?:\s+([\s\S]*))?$/i.exec(text) ?? [];
  const path = rest.trim();
  switch (name.toLowerCase()) {
    case 'interrupt':
    case 'reset':
    case 'help':
      return { kind: name.toLowerCase() as 'interrupt' | 'reset' | 'help' };
    case 'files':
      return { kind: 'files', path: path || '.' };
    case 'get':
      return path === '' ? { kind: 'help' } : { kind: 'get', path };
    default:
      return { kind: 'command', command: text };
  }
}

/** The name of a document without folders: the person who sends it does not choose where it goes. */
function safeName(name = 'document'): string {
  const plain = name.split(/[/\\]/).at(-1) ?? '';
  return plain === '' || plain === '.' || plain === '..' ? 'document' : plain.replaceAll('\0', '');
}

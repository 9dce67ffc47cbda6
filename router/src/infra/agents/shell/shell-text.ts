import type { AgentResponse } from '../../../core/models.ts';

/** WhatsApp shows no longer caption; some of it is for the line about the document. */
const CAPTION_CHARS = 800;

export const HELP = [
  'Each message is a command of bash. The session keeps its folder and its variables.',
  '/interrupt – stops the running command',
  '/reset – ends the session; the next command starts a new one',
  '/files [FOLDER] – lists files',
  '/get PATH – sends a file',
  'A document that you send is stored in the folder of the session; its caption may name another path.',
].join('\n');

/** The result of a command: monospace text, or a document when it is long. */
export function resultResponse(
  output: string,
  ending: string | undefined,
  maxChars: number,
): Pick<AgentResponse, 'response' | 'files'> {
  const text = printable(output).trimEnd();
  const lines = [...(text === '' ? [] : [monospace(text)]), ...(ending === undefined ? [] : [ending])];
  if (text === '' && ending === undefined) return { response: '(no output)' };
  if (text.length <= maxChars) return { response: lines.join('\n') };
  const head = cutAtLine(text, CAPTION_CHARS);
  const note = `… ${text.length} characters, all in the document`;
  return {
    response: [monospace(head), note, ...(ending === undefined ? [] : [ending])].join('\n'),
    files: [{ kind: 'document', mimeType: 'text/plain', fileName: 'output.txt', bytes: Buffer.from(text) }],
  };
}

/** As WhatsApp shows code; a fence inside the text would end it. */
export function monospace(text: string): string {
  return `\`\`\`${text.replaceAll('```', "'''")}\`\`\``;
}

/** Without control characters; a line that was overwritten with `\r`, as progress bars do, keeps its last form. */
function printable(text: string): string {
  return (
    text
      .replaceAll('\r\n', '\n')
      .split('\n')
      .map(lastForm)
      .join('\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed
      .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '')
  );
}

function lastForm(line: string): string {
  const end = line.endsWith('\r') ? line.length - 2 : line.length;
  return line.slice(line.lastIndexOf('\r', end) + 1);
}

function cutAtLine(text: string, chars: number): string {
  const cut = text.slice(0, chars);
  const end = cut.lastIndexOf('\n');
  return end > chars / 2 ? cut.slice(0, end) : cut;
}

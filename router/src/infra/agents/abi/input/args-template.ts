import type { IncomingMessage } from '../../../../core/models.ts';
import { fillText, MEDIA_VARIABLE, mapLeaves, PLACEHOLDER, soleVariable } from '../../message-template.ts';
import { type AbiInput, AbiInputError, ANYTHING, FileInput } from './abi-input.ts';

/** Variables with text of a person, which may become a value of any type. */
const FREE = new Set(['text', 'quotedText', 'name']);

/**
 * The template with its placeholders replaced. A text that is only a placeholder gets the type of the variable:
 * `{{timestamp}}` is a number, `{{mentions}}` a list of `{ id, tag, name }` and `{{media}}` the file.
 * @throws {AbiInputError} the template needs a file and the message has none
 */
export function fillTemplate(template: unknown, message: IncomingMessage, file?: FileInput): AbiInput {
  return mapLeaves(template, (text) => {
    if (soleVariable(text) !== MEDIA_VARIABLE) return fillText(text, message);
    if (file) return file;
    throw new AbiInputError('Please send a picture, a voice message or another file with your message');
  }) as AbiInput;
}

/** The template with typical values, and `ANYTHING` for text of a person; used to check types when a route is saved. */
export function sampleOf(template: unknown): AbiInput {
  return mapLeaves(template, (text) => {
    const isFree = [...text.matchAll(PLACEHOLDER)].some(([, name]) => FREE.has(name ?? ''));
    return isFree ? ANYTHING : fillTemplate(text, SAMPLE_MESSAGE, new FileInput('<a file>'));
  }) as AbiInput;
}

/** A message in a group: its channelId is not a number, so a template cannot rely on a number. */
const SAMPLE_MESSAGE: IncomingMessage = {
  id: '3EB0AAAAAAAAAAAAAAAAAA',
  from: '34600000000@s.whatsapp.net',
  channelId: '120363000000000000@g.us',
  text: '',
  timestamp: new Date(1_700_000_000_000),
  mentions: [{ id: '34600000000@s.whatsapp.net', tag: '@34600000000', name: 'Ana' }],
};

import { z } from 'zod';
import { decodeEntities } from '../../../core/text.ts';

const MAX_ERROR_CHARS = 500;

/**
 * A refusal's body as one short line for an operator: a web page without markup and stack trace, a validation report
 * (`{"detail":[{loc,msg,input}]}`) without the input that it quotes, everything else as sent. At most 500 characters.
 */
export function errorText(body: string): string {
  const text = body.trim();
  if (text.startsWith('<')) return shorten(textOfPage(text));
  return shorten(validationReport(text) ?? text);
}

function textOfPage(html: string): string {
  const text = decodeEntities(
    withoutHiddenElements(html.slice(0, 20_000))
      .replace(/<br\s*\/?>/gi, '\n')
      .replace(/<[^<>]*>/g, ' '),
  );
  return (
    text
      .split(/\n[ \t]*at\s/)[0]
      ?.replace(/\s+/g, ' ')
      .trim() ?? ''
  );
}

/** Removes scripts, styles and the title; an element without an end is removed with all that follows. Linear time. */
function withoutHiddenElements(html: string): string {
  const lower = html.toLowerCase();
  const parts: string[] = [];
  let at = 0;
  for (const { 0: start, 1: name, index } of lower.matchAll(/<(script|style|title)\b/g)) {
    if (index < at) continue;
    parts.push(html.slice(at, index));
    const end = lower.indexOf(`</${name}`, index + start.length);
    if (end < 0) return parts.join(' ');
    at = end;
  }
  return [...parts, html.slice(at)].join(' ');
}

const reportSchema = z.looseObject({
  detail: z.array(z.looseObject({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })).min(1),
});

function validationReport(text: string): string | undefined {
  const report = reportSchema.safeParse(parsedJson(text));
  return report.data?.detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
}

function shorten(text: string): string {
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}…` : text;
}

/** Byte order marks, and the encodings that they show. */
const MARKS: ReadonlyArray<readonly [mark: readonly number[], encoding: string]> = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/**
 * The text of a body, the same for every kind of agent: in the encoding of its byte order mark, else in the declared charset,
 * else in UTF-8; without the mark. Line ends are `\n`. Bytes that are no text become replacement characters. Never throws.
 * @param headers absent: no charset is declared
 */
export function bodyText({ headers, body }: { headers?: Headers; body: Uint8Array }): string {
  const marked = MARKS.find(([mark]) => mark.every((byte, index) => body[index] === byte));
  const declared = /charset\s?=\s?["']?([\w.:-]{1,40})/i.exec(headers?.get('content-type') ?? '')?.[1];
  const text = decoderFor(marked?.[1] ?? declared ?? 'utf-8').decode(body);
  // Some servers send the mark twice.
  const content = text.startsWith('\uFEFF') ? text.slice(1) : text;
  return content.includes('\r') ? content.replace(/\r\n?/g, '\n') : content;
}

function decoderFor(encoding: string) {
  try {
    return new TextDecoder(encoding);
  } catch {
    return new TextDecoder();
  }
}

/** The JSON of a body; undefined when it is not JSON. */
export function bodyJson(answer: { headers?: Headers; body: Uint8Array }): unknown {
  return parsedJson(bodyText(answer));
}

/** The value of a text of JSON; undefined when it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

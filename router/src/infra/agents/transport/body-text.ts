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

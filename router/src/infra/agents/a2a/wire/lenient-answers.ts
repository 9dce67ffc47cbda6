/** What the SDK's client demands of an answer and older or simpler agents leave out. */
export interface LenientAnswers {
  /** A JSON-RPC answer as the SDK takes it. */
  answer(text: string): string;
  /** The same for each event of a stream; an event whose data has several lines stays as it is. */
  events(): TransformStream<Uint8Array, Uint8Array>;
}

/**
 * Reads answers to one JSON-RPC request. Each request has its own connection, so an answer belongs to it whatever `id` says:
 * a number as text, or null. A result of version 0.3 without `kind`, and parts without it, get the one that their fields show.
 * @param request the body of the request
 * @returns undefined when it is no JSON-RPC request
 */
export function lenientAnswers(request: string | undefined): LenientAnswers | undefined {
  const sent = objectIn(request ?? '');
  if (sent?.jsonrpc !== '2.0' || sent.id === undefined) return undefined;
  // Methods of version 0.3 have a slash: `message/send`.
  const isLegacy = String(sent.method).includes('/');
  const answer = (text: string) => {
    const json = objectIn(text);
    if (json?.jsonrpc === undefined && json?.result === undefined) return text;
    const result = isLegacy ? withKinds(json.result) : json.result;
    return json.id === sent.id && result === json.result
      ? text
      : JSON.stringify({ ...json, id: sent.id, ...(result !== undefined && { result }) });
  };
  return {
    answer,
    events: () =>
      eachLine((line) => (line.startsWith('data:') ? `data: ${answer(line.slice(5).trimStart())}` : line)),
  };
}

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectIn(text: string): Fields | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** The same value when nothing is missing. */
function withKinds(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withKinds);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const changed: Fields = {};
  // What a program attached is not of the protocol.
  for (const [name, field] of Object.entries(value)) {
    const kinds = name === 'data' || name === 'metadata' ? field : withKinds(field);
    if (kinds !== field) changed[name] = kinds;
  }
  const kind = value.kind === undefined ? kindOf(value) : undefined;
  if (kind !== undefined) changed.kind = kind;
  return Object.keys(changed).length > 0 ? { ...value, ...changed } : value;
}

function kindOf(fields: Fields): string | undefined {
  const { parts, artifactId, artifact, status, id, taskId, text, file, data } = fields;
  if (isObject(artifact)) return 'artifact-update';
  if (isObject(status))
    return typeof id === 'string' ? 'task' : taskId === undefined ? undefined : 'status-update';
  if (Array.isArray(parts)) return artifactId === undefined ? 'message' : undefined;
  if (typeof text === 'string') return 'text';
  if (isObject(file)) return 'file';
  return isObject(data) ? 'data' : undefined;
}

function eachLine(change: (line: string) => string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let parts: string[] = [];
  return new TransformStream({
    transform(chunk, controller) {
      const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
      parts.push(first);
      for (const next of more) {
        controller.enqueue(encoder.encode(`${change(parts.join(''))}\n`));
        parts = [next];
      }
    },
    flush(controller) {
      const last = parts.join('') + decoder.decode();
      if (last !== '') controller.enqueue(encoder.encode(change(last)));
    },
  });
}

import { z } from 'zod';
import { agentFile, answerFilesField, filesOfAnswer } from '../../../core/delivery/agent-file.ts';
import { AgentProtocolError } from '../../../core/errors.ts';
import type { FileLink, ReplyFile } from '../../../core/models.ts';

/** Fields of a JSON response that may have the answer, in the order in which they are looked for. */
const FIELDS = ['output', 'text', 'reply', 'response', 'message'] as const;

/** What a webhook answers; without both it says nothing. */
export interface WebhookAnswer {
  text?: string;
  files?: ReplyFile[];
  fileLinks?: FileLink[];
}

/**
 * The answer in a successful response: a picture, a sound or a PDF; JSON; or plain text.
 * @param output path of the answer in JSON; without it the usual fields are looked for
 * @throws {AgentProtocolError} there is no answer in it; the sentence says what was expected
 */
export function readWebhookAnswer(
  { headers, body }: { headers: Headers; body: Buffer },
  output?: string,
): WebhookAnswer {
  const type = headers.get('content-type')?.toLowerCase() ?? '';
  const [mimeType = ''] = type.split(';');
  if (/^(?:image|audio)\/|^application\/pdf$/.test(mimeType) && body.length > 0) {
    return { files: [agentFile({ mimeType, data: body, fileName: fileNameOf(headers) })] };
  }
  const text = body.toString('utf8').replace(/^\uFEFF/, '');
  if (text.trim() === '') return {};
  if (/^\s*<(?:!doctype|html)\b/i.test(text)) {
    throw new AgentProtocolError(
      'The webhook answered with a web page. Check its address, and what it responds with.',
    );
  }
  const json = parsedJson(text);
  if (json === undefined) {
    if (!/[/+]json\b/.test(mimeType)) return { text };
    throw new AgentProtocolError('The webhook answered with JSON that cannot be parsed.');
  }
  return answerIn(json.value, output);
}

function answerIn(value: unknown, output: string | undefined): WebhookAnswer {
  if (Array.isArray(value) && output === undefined) return answerIn(value[0], output);
  if (typeof value !== 'object' || value === null) return textOf(value);
  if (output !== undefined) return atPath(value, output);
  const fields = value as Record<string, unknown>;
  const media = z.looseObject({ media: answerFilesField }).safeParse(value).data?.media;
  const files = filesOfAnswer(media);
  const present = FIELDS.filter((name) => Object.hasOwn(fields, name));
  const said = present.map((name) => textOf(fields[name]).text).find((text) => text !== undefined);
  if (said !== undefined) return { text: said, ...files };
  const names = Object.keys(fields);
  if (present.length > 0 || media || names.length === 0) return files;
  throw new AgentProtocolError(
    `The webhook answered with JSON that has none of ${FIELDS.join(', ')}. Set config.webhook.output to the path of the answer; the fields are: ${names.join(', ').slice(0, 200)}.`,
  );
}

function atPath(value: object, path: string): WebhookAnswer {
  let found: unknown = value;
  for (const name of path.split('.')) {
    const isInside = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
    if (!isInside) {
      throw new AgentProtocolError(
        `The webhook's answer has no "${path}" (config.webhook.output): "${name}" is missing.`,
      );
    }
    found = (found as Record<string, unknown>)[name];
  }
  if (typeof found === 'object' && found !== null) {
    throw new AgentProtocolError(`"${path}" (config.webhook.output) of the webhook's answer is not a text.`);
  }
  return textOf(found);
}

/** Texts, numbers and booleans are answers; blank texts and everything else are not. */
function textOf(value: unknown): WebhookAnswer {
  if (typeof value === 'number' || typeof value === 'boolean') return { text: String(value) };
  return typeof value === 'string' && value.trim() !== '' ? { text: value } : {};
}

function parsedJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function fileNameOf(headers: Headers): string | undefined {
  const disposition = headers.get('content-disposition') ?? '';
  return /filename="([^"]{1,200})"/i.exec(disposition)?.[1];
}

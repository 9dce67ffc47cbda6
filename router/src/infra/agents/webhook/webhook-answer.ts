import { z } from 'zod';
import { agentFile, answerFilesField, filesOfAnswer } from '../../../core/delivery/agent-file.ts';
import type { FileLink, ReplyFile } from '../../../core/models.ts';
import { type AnswerForm, readAnswerText } from '../answer-text.ts';

/** Fields of a JSON response that may have the answer, in the order in which they are looked for. */
const FIELDS = ['output', 'text', 'reply', 'response', 'message'] as const;

/** What a webhook answers; without both it says nothing. */
export interface WebhookAnswer {
  text?: string;
  files?: ReplyFile[];
  fileLinks?: FileLink[];
}

/**
 * The answer in a successful response: a picture, a sound or a PDF; else what `readAnswerText` reads.
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
  const { text, fields } = readAnswerText({ headers, body }, formOf(output));
  const media = output === undefined ? withMedia.safeParse(fields).data?.media : undefined;
  return { ...(text !== undefined && { text }), ...filesOfAnswer(media) };
}

const withMedia = z.looseObject({ media: answerFilesField });

function formOf(output: string | undefined): AnswerForm {
  return {
    ...{ agent: 'webhook', fields: FIELDS, setting: 'config.webhook.output', isFirstOnly: true },
    isAnswer: (fields) => withMedia.safeParse(fields).success,
    ...(output !== undefined && { output }),
  };
}

function fileNameOf(headers: Headers): string | undefined {
  const disposition = headers.get('content-disposition') ?? '';
  return /filename="([^"]{1,200})"/i.exec(disposition)?.[1];
}

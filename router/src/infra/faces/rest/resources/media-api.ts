import { z } from 'zod';
import type { LinkedFile } from '../../../../core/ports/media-links.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { HttpProblem, problemSchema } from '../problem.ts';

export interface MediaApiDeps {
  /** The file that a link leads to. @throws {MediaError} */
  loadLinked(
    token: string,
    signal: AbortSignal,
  ): Promise<{ file: LinkedFile; bytes: Uint8Array } | 'expired' | 'unknown'>;
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)?$/;

const UNKNOWN_TYPE = 'application/octet-stream';

/** Files of people for agents: `GET /api/media/{token}`. The link is the secret, so no key is needed. */
export function mediaApi(deps: MediaApiDeps): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/api/media/{token}',
      operationId: 'getMedia',
      tag: 'Messages',
      summary: 'Load a file of a person by its link',
      description: 'For agents that received a link with a message. A link works for an hour. Needs no key.',
      scopes: 'public',
      params: { token: 'The last part of the link.' },
      responses: {
        200: {
          description: 'The bytes of the file, with the type that its sender named.',
          contentType: 'application/octet-stream',
          schema: z.string().meta({ format: 'binary' }),
        },
        404: { description: 'No such link.', schema: problemSchema },
        410: { description: 'The link has expired.', schema: problemSchema },
      },
      handle: async ({ params: { token = '' }, signal }) => {
        const loaded = await deps.loadLinked(token, signal);
        if (loaded === 'unknown') throw new HttpProblem(404, 'NOT_FOUND', 'There is no such link.');
        if (loaded === 'expired') throw new HttpProblem(410, 'LINK_EXPIRED', 'The link has expired.');
        const { file, bytes } = loaded;
        return {
          status: 200,
          stream: (response) => {
            response.statusCode = 200;
            // Not `set`, which adds the charset utf-8 to texts.
            response.setHeader('Content-Type', MEDIA_TYPE.test(file.mimeType) ? file.mimeType : UNKNOWN_TYPE);
            // No browser shows it as a page of wa2ai.
            response.setHeader('Content-Disposition', disposition(file.fileName));
            response.end(bytes);
          },
        };
      },
    }),
  ];
}

/** RFC 6266, with the name in UTF-8. */
function disposition(fileName: string | undefined): string {
  if (fileName === undefined) return 'attachment';
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

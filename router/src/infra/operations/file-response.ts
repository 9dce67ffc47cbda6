import type { ApiResponse } from './response.ts';

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)?$/;

const UNKNOWN_TYPE = 'application/octet-stream';

/**
 * A file of a person, with the type that its sender named. It is a download: no browser shows it as a page of wa2ai, and pages
 * of wa2ai can show it as a picture.
 */
export function fileResponse(
  bytes: Uint8Array,
  { mimeType, fileName }: { mimeType: string; fileName?: string },
): ApiResponse {
  return {
    status: 200,
    stream: (response) => {
      response.statusCode = 200;
      // Not `set`, which adds the charset utf-8 to texts.
      response.setHeader('Content-Type', MEDIA_TYPE.test(mimeType) ? mimeType : UNKNOWN_TYPE);
      response.setHeader('Content-Disposition', disposition(fileName));
      response.end(bytes);
    },
  };
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

import { describe, expect, it } from 'vitest';
import { fileResponse } from '../../../../router/src/infra/operations/response.ts';

function headersOf(file: { mimeType: string; fileName?: string }) {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => Object.assign(headers, { [name]: value }),
    end: () => {},
  };
  fileResponse(new Uint8Array([1]), file).stream?.(response as never);
  return headers;
}

describe('fileResponse', () => {
  it('is a download with the name in UTF-8', () => {
    expect(headersOf({ mimeType: 'image/png', fileName: 'é.png' })).toEqual({
      'Content-Type': 'image/png',
      'Content-Disposition': "attachment; filename*=UTF-8''%C3%A9.png",
    });
    expect(headersOf({ mimeType: 'image/png' })['Content-Disposition']).toBe('attachment');
  });

  it('names no type that is none', () => {
    expect(headersOf({ mimeType: 'a b\r\nx: y' })['Content-Type']).toBe('application/octet-stream');
  });
});

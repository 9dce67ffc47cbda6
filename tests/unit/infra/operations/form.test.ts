import { describe, expect, it } from 'vitest';
import { readForm, UploadedFile } from '../../../../router/src/infra/operations/form.ts';

async function encoded(form: FormData): Promise<[Buffer, string]> {
  const response = new Response(form);
  return [Buffer.from(await response.arrayBuffer()), response.headers.get('content-type') ?? ''];
}

describe('readForm', () => {
  it('reads texts and files in their order', async () => {
    const form = new FormData();
    form.append('to', 'María');
    form.append('image', new Blob([Uint8Array.from([0, 255])], { type: 'image/png' }), 'menú.png');
    form.append('to', 'again');
    const parts = await readForm(...(await encoded(form)));
    expect(parts).toEqual([
      { name: 'to', value: 'María' },
      { name: 'image', value: new UploadedFile(Uint8Array.from([0, 255]), 'image/png', 'menú.png') },
      { name: 'to', value: 'again' },
    ]);
  });

  it('reads what curl sends', async () => {
    const body = [
      '--------------------------ab12',
      'Content-Disposition: form-data; name="to"',
      '',
      '+34 600',
      '--------------------------ab12',
      'Content-Disposition: form-data; name="document"; filename="a.txt"',
      'Content-Type: text/plain',
      '',
      'hi',
      '--------------------------ab12--',
      '',
    ].join('\r\n');
    const type = 'multipart/form-data; boundary=------------------------ab12';
    expect(await readForm(Buffer.from(body), type)).toMatchObject([
      { name: 'to', value: '+34 600' },
      { name: 'document', value: { mimeType: 'text/plain', fileName: 'a.txt' } },
    ]);
  });

  it.each([
    ['', 'multipart/form-data; boundary=x'],
    ['--x\r\n', 'multipart/form-data; boundary=x'],
    ['--x--', 'multipart/form-data'],
  ])('refuses %j as %s', async (body, type) => {
    await expect(readForm(Buffer.from(body), type)).rejects.toMatchObject({
      status: 400,
      code: 'BAD_REQUEST',
    });
  });
});

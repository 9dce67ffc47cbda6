import type { Part } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import { filesOf, partOfFile } from '../../../../../../router/src/infra/agents/a2a/output/answer.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { serverOf } from '../../../../../support/abi.ts';

const part = (content: Part['content'], mediaType = '', filename = ''): Part => ({
  content,
  metadata: undefined,
  filename,
  mediaType,
});
const raw = (size: number, mediaType?: string, filename?: string) =>
  part({ $case: 'raw', value: Buffer.alloc(size, 1) }, mediaType, filename);
const link = (value: string, mediaType?: string, filename?: string) =>
  part({ $case: 'url', value }, mediaType, filename);
const read = (parts: Part[]) =>
  filesOf(parts, {
    transport: new AgentTransport(),
    headersFor: () => new Headers(),
    signal: AbortSignal.timeout(60_000),
  });

describe('filesOf', () => {
  it('reads files with kind, type and a safe name', async () => {
    const { files } = await read([
      raw(3, 'image/png', 'a/b\n.png'),
      raw(2, 'audio/ogg; codecs=opus'),
      raw(1, 'nonsense'),
    ]);
    expect(files).toMatchObject([
      { kind: 'image', mimeType: 'image/png', fileName: 'a_b_.png' },
      { kind: 'audio', mimeType: 'audio/ogg' },
      { kind: 'document', mimeType: 'application/octet-stream' },
    ]);
  });

  it('loads a file that is named by its URL', async () => {
    const { url } = await serverOf((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/pdf' }).end('PDF'),
    );
    const { files, links } = await read([link(`${url}/report.pdf`)]);
    expect(files).toMatchObject([{ kind: 'document', mimeType: 'application/pdf', fileName: 'report.pdf' }]);
    expect(links).toEqual([]);
  });

  it('gives the address of a file that cannot be loaded, and nothing for one that is no http URL', async () => {
    const { url } = await serverOf((_request, response) => response.writeHead(404).end());
    const { files, links } = await read([
      link(`${url}/gone`, 'image/png', 'gone.png'),
      link('http://169.254.169.254/secret'),
      link('file:///etc/passwd'),
    ]);
    expect(files).toEqual([]);
    expect(links).toEqual([`gone.png: ${url}/gone`, 'http://169.254.169.254/secret']);
  });

  it('refuses a file that is too large to be sent, and sends ten at most', async () => {
    await expect(read([raw(10_000_001, 'image/png')])).rejects.toThrow(/10000001 bytes/);
    expect((await read(Array.from({ length: 12 }, () => raw(1, 'image/png')))).files).toHaveLength(10);
  });
});

describe('partOfFile', () => {
  it('has bytes, type and name', () => {
    const file = partOfFile(
      { kind: 'document', mimeType: 'text/csv', fileName: 'a.csv' },
      new Uint8Array([1, 2]),
    );
    expect(file).toMatchObject({
      content: { $case: 'raw', value: Buffer.from([1, 2]) },
      mediaType: 'text/csv',
      filename: 'a.csv',
    });
  });
});

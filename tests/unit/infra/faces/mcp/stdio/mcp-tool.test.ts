import { describe, expect, it } from 'vitest';
import { runMcpTool } from '../../../../../../router/src/infra/faces/mcp/stdio/mcp-tool.ts';

const run = (...args: string[]) => runMcpTool(args, {}, () => undefined);

describe('wa2ai mcp', () => {
  it('explains itself', async () => {
    expect(await run('--help')).toContain('wa2ai mcp [URL]');
  });

  it.each([
    [['ftp://localhost'], 'the URL of wa2ai must begin with http:// or https://'],
    [['http://localhost', 'more'], 'unexpected argument "more"'],
    [['--key', 'x'], "Unknown option '--key'"],
  ])('refuses %j', async (args, sentence) => {
    await expect(run(...args)).rejects.toThrow(sentence);
  });
});

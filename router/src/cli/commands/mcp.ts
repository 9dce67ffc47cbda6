import type { Command } from 'commander';
import type { Cli } from '../cli.ts';

/** `wa2ai mcp`: an MCP server on standard input and output. */
export function addMcp(parent: Command, cli: Cli): void {
  parent
    .command('mcp')
    .description('be an MCP server on standard input and output, for desktop clients')
    .argument('[address]', 'URL of the running wa2ai; the same as --url')
    .action(async (address: string | undefined, { url }: { url?: string }) => {
      const { runMcpTool } = await import('../../infra/faces/mcp/stdio/mcp-tool.ts');
      const given = address ?? url;
      await runMcpTool(given === undefined ? [] : [given], cli.host.env, (sentence) =>
        cli.say(`wa2ai: ${sentence}`),
      );
    });
}

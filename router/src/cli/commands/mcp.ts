import type { Command } from 'commander';
import type { Cli } from '../cli.ts';

/** `wa2ai mcp`: an MCP server on standard input and output. */
export function addMcp(parent: Command, cli: Cli): void {
  parent
    .command('mcp')
    .description('be an MCP server on standard input and output, for desktop clients')
    .argument('[address]', 'URL of the running wa2ai; the same as --url')
    .action(async (address: string | undefined) => {
      const [{ runMcpTool }, { connectionTo }, { keyOf, targetOf }] = await Promise.all([
        import('../../features/mcp/http-bridge.ts'),
        import('../service/connection-to.ts'),
        import('../service/target.ts'),
      ]);
      const { env } = cli.host;
      const options = address === undefined ? cli.target : { ...cli.target, url: address };
      // A key of the environment limits what the tools may do, also over the socket file.
      const key = keyOf(options.keyFile, env);
      const connect = async () => connectionTo({ ...(await targetOf(options, env)), ...(key && { key }) });
      // Wrong arguments end the program before the client has sent anything.
      await targetOf(options, env);
      await runMcpTool(connect, (sentence) => cli.say(`wa2ai: ${sentence}`));
    });
}

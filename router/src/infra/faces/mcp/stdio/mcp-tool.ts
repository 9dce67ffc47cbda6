import { parseArgs } from 'node:util';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { ToolUsageError } from '../../../agents/agent-tools.ts';
import { keyOfEnvironment } from '../../access/key-of-environment.ts';
import { HttpBridge } from './http-bridge.ts';

const HELP = `wa2ai mcp [URL]

Speaks MCP on standard input and output, for desktop clients. Every call goes to
the running wa2ai at URL (default: http://127.0.0.1 with the port of WA2AI_PORT,
or 3000). The key is that of WA2AI_API_KEY or WA2AI_API_KEY_FILE: a key of the
API with the scope mcp and the scopes of the tools, or the admin key.`;

/**
 * Runs `wa2ai mcp`: serves one client until it closes standard input.
 * @param args what follows `mcp`
 * @param warn tells the person of input that is no message
 * @returns a text to print instead of serving
 * @throws {ToolUsageError} wrong arguments
 */
export async function runMcpTool(
  args: readonly string[],
  environment: Record<string, string | undefined>,
  warn: (sentence: string) => void,
): Promise<string | undefined> {
  const { values, positionals } = argumentsOf(args);
  if (values.help) return HELP;
  const [url = `http://127.0.0.1:${environment.WA2AI_PORT || 3000}`, more] = positionals;
  if (more !== undefined) throw new ToolUsageError(`unexpected argument "${more}"`);
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new ToolUsageError('the URL of wa2ai must begin with http:// or https://');
  }
  const transport = new StdioServerTransport();
  const bridge = new HttpBridge({
    url: url.replace(/\/+$/, ''),
    key: keyOfEnvironment(environment),
    send: (message) => transport.send(message),
  });
  await new Promise<void>((resolve, reject) => {
    transport.onmessage = (message) => void bridge.pass(message);
    transport.onerror = (error) => warn(error.message);
    transport.onclose = resolve;
    transport.start().catch(reject);
  });
  bridge.close();
  return undefined;
}

function argumentsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' } },
    });
  } catch (error) {
    // The first sentence says what is wrong; the others suggest workarounds.
    const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new ToolUsageError(sentence);
  }
}

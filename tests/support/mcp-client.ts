import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { builtService } from './repository.ts';

export type McpVersion = '2026-07-28' | '2025-11-25';
export const MCP_VERSIONS: McpVersion[] = ['2026-07-28', '2025-11-25'];

function newClient(version: McpVersion): Client {
  const mode = version === '2025-11-25' ? ('legacy' as const) : { pin: version };
  const client = new Client({ name: 'wa2ai-tests', version: '1' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  return client;
}

/** The official client of a protocol version over HTTP; closed when the test ends. */
export async function mcpOverHttp(
  url: string,
  { version = '2026-07-28', headers = {} }: { version?: McpVersion; headers?: Record<string, string> } = {},
): Promise<Client> {
  const client = newClient(version);
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }));
  return client;
}

/** The official client of a protocol version over `wa2ai mcp` of the built program; closed when the test ends. */
export async function mcpOverStdio(
  url: string,
  { version = '2026-07-28', key }: { version?: McpVersion; key?: string } = {},
): Promise<Client> {
  const client = newClient(version);
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(builtService, 'cli.js'), 'mcp', url],
      env: { PATH: process.env.PATH ?? '', ...(key !== undefined && { WA2AI_API_KEY: key }) },
      stderr: 'inherit',
    }),
  );
  return client;
}

/** Calls a tool that must succeed. @returns its structured content, which the client has checked against its schema */
export async function toolData(
  client: Client,
  name: string,
  given: Record<string, unknown> = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of many shapes
): Promise<any> {
  const result = await client.callTool({ name, arguments: given });
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result.content)}`);
  return result.structuredContent;
}

/** Calls a tool that must refuse. @returns its sentence */
export async function toolError(
  client: Client,
  name: string,
  given: Record<string, unknown> = {},
): Promise<string> {
  const result = await client.callTool({ name, arguments: given });
  if (!result.isError) throw new Error(`${name} was expected to refuse`);
  const [content] = result.content;
  return content?.type === 'text' ? content.text : '';
}

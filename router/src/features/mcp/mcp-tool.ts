import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { HttpBridge, type ServiceConnection } from './http-bridge.ts';

/**
 * `wa2ai mcp`: serves one client until it closes standard input.
 * @param connect where the service is, asked for each message: the service may start later, or again
 * @param warn tells the person of input that is no message
 */
export async function runMcpTool(
  connect: () => Promise<ServiceConnection>,
  warn: (sentence: string) => void,
): Promise<void> {
  const transport = new StdioServerTransport();
  const bridge = new HttpBridge({ connect, send: (message) => transport.send(message) });
  await new Promise<void>((resolve, reject) => {
    transport.onmessage = (message) => void bridge.pass(message);
    transport.onerror = (error) => warn(error.message);
    transport.onclose = resolve;
    transport.start().catch(reject);
  });
  bridge.close();
}

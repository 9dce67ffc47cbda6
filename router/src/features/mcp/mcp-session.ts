import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { packageVersion } from '../../config/package-version.ts';
import { type CallerAdmission, refusalOf } from '../../core/access/admission.ts';
import { Wa2aiError } from '../../core/errors.ts';
import { admit } from '../../infra/operations/guard.ts';
import { problemOf } from '../../infra/operations/problem.ts';
import { callTool } from './call-tool.ts';
import type { McpCaller } from './mcp-caller.ts';
import type { McpPrompt } from './prompts.ts';
import type { McpResources } from './resources.ts';
import { type McpTool, type RecordDeps, recorded, UNTRUSTED_NOTICES } from './tool.ts';

interface ListedTool {
  tool: McpTool;
  description: Tool;
}

export interface McpSessionDeps extends RecordDeps {
  /** Each with what tools/list says about it. */
  tools: readonly ListedTool[];
  resources: McpResources;
  prompts: readonly McpPrompt[];
}

const INSTRUCTIONS = `wa2ai connects WhatsApp accounts to AI agents. ${UNTRUSTED_NOTICES.people.replace('This result contains', 'Results contain')} Ask your user before you send messages, change routes or replay dead letters.`;

/** A server for one request of one caller. */
export function newSession(deps: McpSessionDeps, by: McpCaller): Server {
  const { tools, resources, prompts } = deps;
  const may = (admission: CallerAdmission) => refusalOf(by.caller, admission) === undefined;
  const server = new Server(
    { name: 'wa2ai', title: 'wa2ai', version: packageVersion() },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: tools.filter(({ tool }) => may(tool)).map(({ description }) => description),
  }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const listed = tools.find(({ tool }) => tool.name === params.name);
    if (!listed) throw invalidParams(`Unknown tool: ${params.name.slice(0, 100)}`);
    return callTool(deps, by, listed.tool, params.arguments ?? {}, context);
  });
  server.setRequestHandler('resources/list', ({ params }) =>
    asProtocol(
      recorded(deps, by, { action: 'resources/list', isRead: true }, async () => ({
        result: await resources.list(by.caller, params?.cursor),
      })),
    ),
  );
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: resources.templates }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) =>
    asProtocol(
      recorded(deps, by, { action: 'resources/read', isRead: true }, async () => {
        const read = resources.reading(uri);
        if (!read) throw new ResourceNotFoundError(uri.slice(0, 200));
        const { text, mimeType, object } = await read(by.caller);
        return { result: { contents: [{ uri, mimeType, text }] }, ...(object && { object }) };
      }),
      uri,
    ),
  );
  server.setRequestHandler('prompts/list', () => ({
    prompts: prompts.filter(may).map(({ name, title, description, arguments: names }) => ({
      name,
      title,
      description,
      arguments: names,
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = prompts.find(({ name }) => name === params.name);
    if (!prompt) throw invalidParams(`Unknown prompt: ${params.name.slice(0, 100)}`);
    return asProtocol(
      recorded(deps, by, { action: `prompts/get ${prompt.name}`, isRead: true }, async () => {
        admit(by.caller, prompt);
        const text = await prompt.text(params.arguments ?? {}, by.caller);
        const messages = [{ role: 'user' as const, content: { type: 'text' as const, text } }];
        return { result: { description: prompt.description, messages } };
      }),
    );
  });
  return server;
}

/** A mistake of the caller as an error of the protocol: these results have no place for it. */
async function asProtocol<T>(work: Promise<T>, uri?: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Wa2aiError)) throw error;
    const { status, body } = problemOf(error);
    const { code, error: sentence } = body;
    if (code === 'NOT_FOUND' && uri !== undefined) throw new ResourceNotFoundError(uri.slice(0, 200));
    const kind = status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(kind, `${sentence} (${code})`);
  }
}

function invalidParams(sentence: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, sentence);
}

import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { CallerAdmission } from '../../core/access/admission.ts';
import type { Caller } from '../../core/access/caller.ts';
import type { UntrustedWriter } from './untrusted.ts';

/** One call of a tool. */
export interface ToolCall {
  caller: Caller;
  /** Who owns the tasks that the caller opens. */
  owner: string;
  /** Aborts when the client cancels the call or disconnects, and when the server stops. */
  signal: AbortSignal;
  /** Shows the client what happens meanwhile, if it asked for that. */
  progress: ShowProgress;
}

/** @param done seconds that have passed of `total` */
export type ShowProgress = (done: number, total: number, message?: string) => void;

/** What a tool returns: its structured content, and the id of what it read or changed, for the audit log. */
export interface ToolResult<Output> {
  data: Output;
  object?: string;
}

/** What a program with MCP may do. Its admission is what the caller needs besides `mcp`. */
export type McpTool<Input = unknown, Output extends object = object> = CallerAdmission & {
  name: string;
  title: string;
  description: string;
  input: z.ZodType<Input>;
  output: z.ZodType<Output>;
  annotations: Required<Pick<ToolAnnotations, 'readOnlyHint' | 'openWorldHint'>> & ToolAnnotations;
  /** Whose text the result contains; it is marked as untrusted. */
  untrusted?: UntrustedWriter;
  /** @throws {HttpProblem} a mistake of the caller: the result is an error with its sentence */
  run(input: Input, call: ToolCall): Promise<ToolResult<Output>>;
};

/** Infers the types of a tool from its schemas, and erases them so that a list can contain all tools. */
export function tool<Input, Output extends object>(definition: McpTool<Input, Output>): McpTool {
  return definition as unknown as McpTool;
}

/** Reads what people wrote. */
export const READS_CHATS = { readOnlyHint: true, openWorldHint: true } as const;
/** Reads what only operators write. */
export const READS = { readOnlyHint: true, openWorldHint: false } as const;
/** Sends something to a person on WhatsApp. */
export const SENDS = { readOnlyHint: false, destructiveHint: false, openWorldHint: true } as const;

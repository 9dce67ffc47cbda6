import { type JsonTemplate, renderJsonTemplate } from '../../json-template.ts';
import { readableFields } from '../../readable-fields.ts';
import { type NpcTask, phaseOf } from '../rpc/npc-task.ts';

/** Longest text of a reply; WhatsApp shows no longer message. */
const MAX_REPLY_CHARS = 60_000;
const MAX_LISTED = 20;

/** Fields of a result that are its text. */
const TEXT_FIELDS = ['message', 'response', 'text', 'reply', 'answer'] as const;

/** The reply for a completed task: by the template, else the text of its result, else its fields, one a line. */
export function completedText(task: NpcTask, template: JsonTemplate | undefined): string {
  const text = template ? renderJsonTemplate(template, task) : resultText(task);
  return text.slice(0, MAX_REPLY_CHARS);
}

function resultText({ taskId, result }: NpcTask): string {
  const said = textIn(result);
  if (said !== undefined) return said;
  const lines = readableFields(result).join('\n');
  return lines === '' ? `Task ${taskId} is completed.` : lines;
}

/** A result that is a text, or has one. */
function textIn(result: unknown): string | undefined {
  if (typeof result === 'string') return result.trim() === '' ? undefined : result;
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return undefined;
  for (const field of TEXT_FIELDS) {
    const value = (result as Record<string, unknown>)[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}

/** The reply to `/task ID`. */
export function statusText(task: NpcTask, template: JsonTemplate | undefined): string {
  const { taskId, type, status, progress } = task;
  const name = type ? `${type} ` : '';
  const share = progress === undefined || progress === null ? '' : `, ${Math.round(progress)} %`;
  const head = `${name}${taskId}: ${status}${share}`;
  if (phaseOf(task) !== 'completed') return head;
  return `${head}\n${completedText(task, template)}`;
}

/** The reply to `/tasks`: the newest first. */
export function taskListText(tasks: readonly NpcTask[]): string {
  if (tasks.length === 0) return 'This chat has no tasks.';
  const lines = tasks.slice(0, MAX_LISTED).map((task) => `• ${statusLine(task)}`);
  const more = tasks.length - lines.length;
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}

function statusLine({ taskId, type, status, progress, createdAt }: NpcTask): string {
  const atMs = typeof createdAt === 'string' ? Date.parse(createdAt) : createdAt;
  const isTime = typeof atMs === 'number' && Math.abs(atMs) <= 8.64e15;
  const since = isTime ? `, since ${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC` : '';
  const share = progress === undefined || progress === null ? '' : `, ${Math.round(progress)} %`;
  return `${type ? `${type} ` : ''}${taskId}: ${status}${share}${since}`;
}

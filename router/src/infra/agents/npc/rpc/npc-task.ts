import { z } from 'zod';

const MAX_ID_CHARS = 200;

const id = z
  .union([z.string().min(1).max(MAX_ID_CHARS), z.int()])
  .transform(String)
  .refine((text) => /^[^\p{Cc}]+$/u.test(text));

/** An error of JSON-RPC, or of a task that failed. */
export const rpcErrorSchema = z.looseObject({
  code: z.number().nullish(),
  message: z.string().nullish(),
  data: z.unknown().optional(),
});

const taskSchema = z.looseObject({
  taskId: id,
  status: z.string(),
  type: z.string().nullish(),
  progress: z.number().nullish(),
  result: z.unknown().optional(),
  error: z.union([rpcErrorSchema, z.string()]).nullish(),
  createdAt: z.union([z.number(), z.string()]).nullish(),
  estimatedDuration: z.number().nullish(),
  idempotencyKey: z.string().nullish(),
  params: z.unknown().optional(),
});

/** A task as the agent shows it in an answer, a list or an event. */
export type NpcTask = z.output<typeof taskSchema>;

/** Reads a task; undefined when it is none. */
export function npcTaskOf(json: unknown): NpcTask | undefined {
  return taskSchema.safeParse(json).data;
}

const listSchema = z.looseObject({ tasks: z.array(z.unknown()) });

/** The tasks of the answer to `task.list`, without entries that are none; undefined when it is no list. */
export function npcTasksOf(json: unknown): NpcTask[] | undefined {
  return listSchema.safeParse(json).data?.tasks.flatMap((task) => npcTaskOf(task) ?? []);
}

/** How far a task is. Names that the specification does not have count as what they say, and else as running. */
export function phaseOf({
  status,
}: Pick<NpcTask, 'status'>): 'running' | 'completed' | 'failed' | 'canceled' {
  switch (status.toLowerCase()) {
    case 'completed':
    case 'complete':
    case 'succeeded':
    case 'success':
    case 'done':
      return 'completed';
    case 'failed':
    case 'failure':
    case 'error':
    case 'rejected':
    case 'expired':
    case 'timeout':
      return 'failed';
    case 'canceled':
    case 'cancelled':
    case 'aborted':
      return 'canceled';
    default:
      return 'running';
  }
}

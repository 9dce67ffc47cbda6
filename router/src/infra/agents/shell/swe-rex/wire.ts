import { z } from 'zod';
import { AgentProtocolError } from '../../../../core/errors.ts';

/** The answers of a SWE-ReX runtime, as far as wa2ai reads them. */

const observationSchema = z.object({ output: z.string(), exit_code: z.int().nullish() });
const executedSchema = z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.int() });
const errorSchema = z.object({
  swerexception: z.object({
    message: z.string().default(''),
    class_path: z.string().default(''),
    extra_info: z.record(z.string(), z.unknown()).default({}),
  }),
});

/** @throws {AgentProtocolError} */
export function observation(answer: unknown): z.output<typeof observationSchema> {
  return parsed(observationSchema, answer);
}

/** @throws {AgentProtocolError} */
export function executed(answer: unknown): z.output<typeof executedSchema> {
  return parsed(executedSchema, answer);
}

/** The error in an answer with the status 511; an empty one when the answer has another form. */
export function errorAnswer(text: string): z.output<typeof errorSchema>['swerexception'] {
  try {
    return errorSchema.parse(JSON.parse(text)).swerexception;
  } catch {
    return { message: '', class_path: '', extra_info: {} };
  }
}

function parsed<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path.join('.') ?? '';
  throw new AgentProtocolError(`The answer of the shell runtime has no valid "${path}".`);
}

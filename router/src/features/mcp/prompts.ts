import type { CallerAdmission } from '../../core/access/admission.ts';
import type { Caller } from '../../core/access/caller.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';
import type { RestCalls } from '../../infra/operations/rest-calls.ts';
import { markedText } from './tool.ts';

/** A text for a model that a person chooses. Its admission is what the caller needs besides `mcp`. */
export type McpPrompt = CallerAdmission & {
  name: string;
  title: string;
  description: string;
  arguments: Array<{ name: string; description: string; required: boolean }>;
  /** @throws {HttpProblem} a mistake of the caller */
  text(given: Record<string, string>, caller: Caller): Promise<string>;
};

const LETTERS = 50;

/** Prompts for the triage of dead letters. */
export function mcpPrompts(rest: RestCalls): McpPrompt[] {
  return [
    {
      name: 'triage_dead_letters',
      title: 'Triage dead letters',
      description: 'Groups the open dead letters by cause and proposes what to do with each group.',
      arguments: [
        { name: 'reason', description: 'Only dead letters with exactly this reason.', required: false },
      ],
      ...rest.admissionOf('listDeadLetters'),
      text: async ({ reason }, caller) => {
        const query = { state: 'open', limit: LETTERS, ...(reason && { reason }) };
        const { json } = await rest.call('listDeadLetters', caller, { query });
        const letters = (json.data as Array<Record<string, unknown>>).map(withoutTrace);
        const more =
          json.next === undefined
            ? ''
            : ` These are the newest ${LETTERS}; list_dead_letters shows the others.`;
        return `Triage the open dead letters of wa2ai: messages without an answer, and messages that were not sent.${more}
1. Group them by cause. \`reason\` and \`error\` name it.
2. Say for each group what has to be repaired first, and whether a replay would help after that. A replay of a message lets the agent answer it again, perhaps hours late: say for which people a late answer is worse than none.
3. Propose what to do, as a table. Replay nothing (replay_dead_letter) before I agree.

${markedText({ deadLetters: letters }, 'people')}`;
      },
    },
    {
      name: 'explain_dead_letter',
      title: 'Explain a dead letter',
      description: 'Says why one message was not answered or not sent, and what to do.',
      arguments: [{ name: 'id', description: 'Id of the dead letter.', required: true }],
      ...rest.admissionOf('getDeadLetter'),
      text: async ({ id }, caller) => {
        if (!id) throw new HttpProblem(400, 'INVALID_BODY', 'id is missing.');
        const { json } = await rest.call('getDeadLetter', caller, { params: { id } });
        return `Explain this dead letter of wa2ai to an operator: what happened, in order of time (\`trace\` has the route choice and the attempts); what has to be repaired; whether a replay helps, and what the person would then see. Replay nothing before I agree.

${markedText({ deadLetter: json.data }, 'people')}`;
      },
    },
  ];
}

function withoutTrace({ trace: _trace, ...letter }: Record<string, unknown>): Record<string, unknown> {
  return letter;
}

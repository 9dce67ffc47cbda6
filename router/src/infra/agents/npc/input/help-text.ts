import { type Capability, type CapabilityParam, commandOf } from './capabilities.ts';
import { expectation } from './check-params.ts';

/** Maximum number of characters in the list of commands. */
const MAX_LIST_CHARS = 6_000;

/** Reply to `/help`: the commands of the agent, and those of wa2ai. */
export function commandList(capabilities: readonly Capability[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const capability of capabilities) {
    const line = `${form(capability)}${capability.summary && ` – ${capability.summary}`}`;
    chars += line.length;
    if (chars > MAX_LIST_CHARS) break;
    lines.push(line);
  }
  const more = capabilities.length - lines.length;
  if (more > 0) lines.push(`… and ${more} more`);
  return [
    'You can write:',
    ...lines,
    '/tasks – lists the tasks of this chat',
    '/task ID – shows a task; /task ID cancel stops it',
    '/help COMMAND shows more.',
  ].join('\n');
}

/** Reply to `/help duel`. */
export function capabilityHelp(capability: Capability): string {
  const { type, summary, params } = capability;
  if (params.length === 0) {
    const name = commandOf(type);
    return `/${name}\nWrite /${name} and some words, or arguments by name: /${name} item=sword quantity=2`;
  }
  const lines = params.map(
    (param) => `• ${param.name}${param.isOptional ? ' (optional)' : ''}: ${expectation(param.type)}`,
  );
  return [`${form(capability)} – ${summary}`, ...lines, `Example: ${usage(capability)}`].join('\n');
}

/** An example of a command, with the arguments that it needs. */
export function usage({ type, params }: Capability): string {
  const words = params.filter(({ isOptional }) => !isOptional).map(({ example }) => example);
  return [`/${commandOf(type)}`, ...words].join(' ');
}

function form({ type, params }: Capability): string {
  const shown = ({ shown: word, isOptional }: CapabilityParam) => (isOptional ? `[${word}]` : word);
  return [`/${commandOf(type)}`, ...params.map(shown)].join(' ');
}

import type { AgentKind } from '../../router/src/infra/agents/agent-kind.ts';
import type { AgentTools } from '../../router/src/infra/agents/agent-tools.ts';

/** The tools of a kind that has some. */
export function toolsOf({ name, tools }: AgentKind): AgentTools {
  if (!tools) throw new Error(`the kind ${name} has no tools`);
  return tools;
}

/** The probe of a kind that has one. */
export function probeOf({ name, probe }: AgentKind): NonNullable<AgentKind['probe']> {
  if (!probe) throw new Error(`the kind ${name} has no probe`);
  return probe;
}

/** What agents of a kind without cards say about themselves. */
export function aboutOf({ name, about }: AgentKind): NonNullable<AgentKind['about']> {
  if (!about) throw new Error(`agents of the kind ${name} say nothing`);
  return about;
}

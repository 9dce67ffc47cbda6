import type { View } from './show-list.ts';
import { textOf } from './show-list.ts';

/** A change of a route as the API shows it. */
export interface RouteChange {
  change: 'created' | 'changed' | 'deleted';
  routeId?: string;
  name?: string;
  channelId: string;
  fields: ReadonlyArray<{ field: string; before?: unknown; after?: unknown }>;
}

const MARKS = { created: '+', changed: '~', deleted: '-' } as const;

/** Changes of routes, a line for each route and one for each field; of a deleted route, no fields. */
export function changesText(changes: readonly RouteChange[]): string {
  if (changes.length === 0) return 'Nothing changes.';
  return changes
    .flatMap(({ change, routeId, name, channelId, fields }) => [
      `${MARKS[change]} ${change} ${textOf(name ?? routeId ?? 'route')} (${textOf(channelId)})`,
      ...(change === 'deleted' ? [] : fields.map((field) => `    ${fieldText(field)}`)),
    ])
    .join('\n');
}

function fieldText({ field, before, after }: RouteChange['fields'][number]): string {
  const name = textOf(field);
  if (before === undefined) return `${name}: ${valueText(after)}`;
  return `${name}: ${valueText(before)} -> ${after === undefined ? '(removed)' : valueText(after)}`;
}

function valueText(value: unknown): string {
  return textOf(typeof value === 'string' ? value : JSON.stringify(value)) ?? '';
}

/** An explanation as the API shows it. */
export interface Explanation {
  decision: 'route' | 'none';
  outcome: 'answer' | 'no-answer';
  sentence: string;
  trace: ReadonlyArray<{
    routeId: string;
    name?: string;
    priority: number;
    outcome: string;
    sentence: string;
    conditions?: ReadonlyArray<{ condition: string; holds: boolean; sentence: string }>;
  }>;
  policies?: ReadonlyArray<{ policy: string; outcome: string; reason?: string; sentence: string }>;
  call?: View;
}

/** An explanation for people: the decision, then rule by rule, then policy by policy. */
export function explanationText({
  decision,
  outcome,
  sentence,
  trace,
  policies = [],
  call,
}: Explanation): string {
  const rules = trace.flatMap(({ routeId, name, priority, outcome, sentence: why, conditions = [] }) => [
    `${outcome === 'chosen' ? '*' : ' '} ${textOf(name ?? routeId)} (priority ${priority}): ${textOf(why)}`,
    ...conditions.map(
      ({ condition, holds, sentence: fact }) =>
        `      ${holds ? 'yes' : 'no '} ${condition}: ${textOf(fact)}`,
    ),
  ]);
  const decided = policies
    .filter(({ outcome }) => outcome !== 'not-reached')
    .map(({ policy, outcome, reason, sentence: why }) => {
      const end = outcome === 'ends' ? ` [ends${reason ? `: ${reason}` : ''}]` : '';
      return `  ${policy}: ${textOf(why)}${end}`;
    });
  return [
    `${decision === 'route' && outcome === 'no-answer' ? 'No answer: ' : ''}${textOf(sentence)}`,
    ...(rules.length > 0 ? ['', 'Rules, in the order in which they are checked:', ...rules] : []),
    ...(decided.length > 0 ? ['', 'Policies:', ...decided] : []),
    ...(call ? ['', 'Request to the agent:', JSON.stringify(call, null, 2)] : []),
  ].join('\n');
}

import type { ContextMessage } from '../../core/models.ts';

/** The messages that go along with another one as lines, `Ana: hello`, for an agent that reads text; undefined for none. */
export function contextText(context: readonly ContextMessage[] = []): string | undefined {
  if (context.length === 0) return undefined;
  const lines = context.map(({ name, text }) => `${name}: ${text}`);
  return ['Earlier messages in this chat, for information:', ...lines].join('\n');
}

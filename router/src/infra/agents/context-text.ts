import type { ContextMessage } from '../../core/models.ts';
import { indented, lineOfPerson, OWNER_NAME } from '../../core/person-name.ts';

/**
 * The messages that go along with another one as lines, `"Ana": hello`, for an agent that reads text; undefined for none. The
 * owner's name alone has no quotes, so that nobody else can write as the owner.
 */
export function contextText(context: readonly ContextMessage[] = []): string | undefined {
  if (context.length === 0) return undefined;
  const lines = context.map(({ by, name, text }) =>
    by === 'owner' ? `${OWNER_NAME}: ${indented(text)}` : lineOfPerson(name, text),
  );
  return ['Earlier messages in this chat, for information:', ...lines].join('\n');
}

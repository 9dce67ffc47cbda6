import { useTexts } from '../../app/language.ts';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import { useSectionTitle } from '../../schema-form/section-titles.ts';

/** A hook that returns the name of a field of a route in words, by its path: `config.reply.maxChars` is `Replies › Longest message`. */
export function useFieldName(): (path: string) => string {
  const text = useTexts('routes');
  const { label } = useFieldTexts();
  const titleOf = useSectionTitle();
  const kinds: Readonly<Record<string, string>> = text.kinds;
  const own: Readonly<Record<string, string>> = {
    name: text.name,
    channelId: text.chat,
    accountId: text.account,
    environment: text.environment,
    enabled: text.enabled,
    agentEndpoint: text.address,
    regexFilter: text.pattern,
    priority: text.priority,
  };
  return (path) => {
    const parts = path.split('.');
    const [first = '', ...others] = parts[0] === 'config' ? parts.slice(1) : parts;
    if (others.length === 0) return own[first] ?? kinds[first] ?? titleOf(first);
    const names = others.map((name, index) => label(name, [first, ...others.slice(0, index), name]));
    return [kinds[first] ?? titleOf(first), ...names].join(' › ');
  };
}

import { z } from 'zod';
import { envSchema } from './config.ts';

/** Lines of README.md between which `envTableMarkdown` stands. */
export const ENV_TABLE_START = '<!-- env:start -->';
export const ENV_TABLE_END = '<!-- env:end -->';

interface VariableDoc {
  name: string;
  description: string;
  /** As it would be written in the environment; undefined when there is none. */
  defaultValue: string | undefined;
  /** In words, for the table. */
  shownDefault: string;
}

function variableDocs(): VariableDoc[] {
  const { properties } = z.toJSONSchema(envSchema, { io: 'input' });
  return Object.entries(properties ?? {}).map(([name, property]) => {
    const {
      description,
      default: defaultValue,
      shownDefault,
    } = property as Record<string, string | undefined>;
    return {
      name,
      description: description ?? '',
      defaultValue,
      shownDefault: defaultValue ? `\`${defaultValue}\`` : (shownDefault ?? 'none'),
    };
  });
}

/** Contents of `.env.example`: every variable with its meaning, commented out, at its default. */
export function envExample(): string {
  const head = '# Settings of wa2ai. Copy to .env and take the # off what you change.\n';
  const blocks = variableDocs().map(({ name, description, defaultValue, shownDefault }) => {
    const lines = [`# ${description}`];
    if (defaultValue === undefined) lines.push(`# Default: ${shownDefault}.`);
    lines.push(`#${name}=${defaultValue ?? ''}`);
    return lines.join('\n');
  });
  return `${head}\n${blocks.join('\n\n')}\n`;
}

/** The README's table of environment variables, without the marker lines. */
export function envTableMarkdown(): string {
  const rows = variableDocs().map(
    ({ name, description, shownDefault }) => `| \`${name}\` | ${shownDefault} | ${description} |`,
  );
  return ['| Environment variable | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

import { z } from 'zod';
import { envSchema, OLD_VARIABLES } from '../../router/src/config/config.ts';

interface VariableDoc {
  name: string;
  group: string;
  description: string;
  /** Values it takes, in words. */
  values: string;
  /** As it would be written in the environment; undefined when there is none. */
  defaultValue: string | undefined;
  /** In words, for the table. */
  shownDefault: string;
}

function variableDocs(): VariableDoc[] {
  const { properties } = z.toJSONSchema(envSchema, { io: 'input' });
  return Object.entries(properties ?? {}).map(([name, property]) => {
    const {
      description = '',
      group = '',
      values = '',
      default: defaultValue,
      shownDefault,
      secret,
    } = property as Record<string, string | undefined>;
    return {
      name,
      group,
      description,
      values: secret ? `${values}; a secret` : values,
      defaultValue,
      shownDefault: defaultValue ? `\`${defaultValue}\`` : (shownDefault ?? 'none'),
    };
  });
}

/** Variables by group, in the order of the schema, without those for tests. */
function groupedDocs(): Array<[group: string, variables: VariableDoc[]]> {
  const groups = new Map<string, VariableDoc[]>();
  for (const variable of variableDocs().filter(({ group }) => group !== 'Tests')) {
    const variables = groups.get(variable.group) ?? [];
    groups.set(variable.group, variables);
    variables.push(variable);
  }
  return [...groups];
}

/** Contents of `.env.example`: every variable with its meaning, commented out, at its default. */
export function envExample(): string {
  const head = `# Settings of wa2ai. Copy this file to .env and remove the # from what you change.
# Times have a unit (ms, s, m, h, d), and sizes too (kB, MB, GB, TB). A secret can be in a file instead: NAME_FILE=path of the file.
`;
  const blocks = groupedDocs().flatMap(([group, variables]) => [
    `# ---- ${group} ----`,
    ...variables.map(({ name, description, values, defaultValue, shownDefault }) => {
      const lines = [`# ${description}`];
      if (values) lines.push(`# Values: ${values.replaceAll('`', '')}.`);
      if (defaultValue === undefined) lines.push(`# Default: ${shownDefault.replaceAll('`', '')}.`);
      lines.push(`#${name}=${defaultValue ?? ''}`);
      return lines.join('\n');
    }),
  ]);
  return `${head}\n${blocks.join('\n\n')}\n`;
}

const SETTINGS_HEAD = `# Settings

<!-- Generated from the schema in router/src/config/config.ts by scripts/write-docs.mjs. Do not edit. -->

Settings are environment variables, or lines of a file \`.env\` in the working directory (copy \`.env.example\`). A wrong value stops the
start with one sentence that names the variable. A variable that begins with \`WA2AI_\` and is not in this list is reported as a warning
with the name that was probably meant. An empty variable counts as not set.

A time is a number with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`, such as \`30s\`; a size is one with \`kB\`, \`MB\`, \`GB\` or \`TB\` (powers of 1,000), or \`KiB\` to \`TiB\`
(powers of 1,024). 0 needs no unit.

Each secret can be in a file instead, as Docker, Kubernetes and systemd provide it: \`NAME_FILE\` has the path of the file that contains the
value of \`NAME\`, such as \`WA2AI_API_KEY_FILE=/run/secrets/api_key\`.

Few installations need those under [Advanced](#advanced).
`;

/** Contents of docs/settings.md: every variable in a table for each group. */
export function settingsPage(): string {
  const tables = groupedDocs().map(([group, variables]) => {
    const rows = variables.map(
      ({ name, values, shownDefault, description }) =>
        `| \`${name}\` | ${values} | ${shownDefault} | ${description} |`,
    );
    return `\n## ${group}\n\n| Variable | Values | Default | Meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return SETTINGS_HEAD + tables.join('') + earlierNames();
}

function earlierNames(): string {
  const rows = OLD_VARIABLES.flatMap(({ names, to }) => names.map((name) => `| \`${name}\` | \`${to}\` |`));
  return `
## Earlier names

They work until the next version, with a warning in the log. Their values are numbers, whose unit is in the name;
\`WA2AI_AGENT_DISK_MB\` counts MiB.

| Earlier name | Name |
| --- | --- |
${rows.join('\n')}
`;
}

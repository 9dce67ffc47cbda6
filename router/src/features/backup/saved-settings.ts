import { envSchema } from '../../config/config.ts';
import { withSecretFiles } from '../../config/secret-files.ts';

/** Settings that say where this machine has something; another machine has its own. */
const OF_THE_MACHINE = new Set([
  'WA2AI_HOST',
  'WA2AI_PORT',
  'WA2AI_DATA_DIR',
  'WA2AI_NODE_ID',
  'DATABASE_URL',
  'WA2AI_FFMPEG',
  'WA2AI_MEDIA_DIR',
  'WA2AI_CONTAINER_ENGINE',
  'WA2AI_AGENTS_HOST_DIR',
  'WA2AI_AGENTS_OWN_CONTAINER',
  'WA2AI_FAULT_POINT',
]);

/**
 * The settings that another machine needs to run the same service: all that are set, except those of the machine and paths
 * of files. The admin key is one of them, also when a file contains it.
 * @param env the environment of the service
 */
export function savedSettings(env: Record<string, string | undefined>): Record<string, string> {
  const resolved = withSecretFiles(env, () => undefined);
  return Object.fromEntries(
    Object.keys(envSchema.shape).flatMap((name) => {
      const value = resolved[name]?.trim();
      const isOther = OF_THE_MACHINE.has(name) || name.endsWith('_FILE');
      return value === undefined || value === '' || isOther ? [] : [[name, value]];
    }),
  );
}

/** Settings as the text of a `.env` file. Values have no line end. */
export function settingsText(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => {
      // Inside double quotes a backslash and an n are a line end.
      const quote = ["'", '`', '"'].find((mark) => !value.includes(mark)) ?? '';
      return `${name}=${quote}${value}${quote}\n`;
    })
    .join('');
}

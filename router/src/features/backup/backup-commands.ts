import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { envSchema, loadConfig, readVariables } from '../../config/config.ts';
import { projectFolder } from '../../config/package-version.ts';
import type { Logger } from '../../core/logger.ts';
import { errorCode, errorMessage } from '../../infra/db/stores/storage-errors.ts';
import { type BackupReport, createBackup } from './create-backup.ts';
import { checkBackup } from './read-backup.ts';
import { drillBackup, type RestoreReport, restoreBackup } from './restore-backup.ts';
import { BackupError, passphraseOf } from './sealed-file.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What the commands need from outside. */
export interface BackupCommandDeps {
  /** The environment of the service: its settings. */
  env: Env;
  log: Logger;
  createTaskTables(databaseUrl: string): Promise<void>;
}

/** What a command did, for programs and for people. */
interface CommandResult {
  report: unknown;
  text: string;
}

export interface BackupCommand {
  passphraseFile?: string | undefined;
  /** Restores the new backup into a temporary database. */
  verify?: boolean | undefined;
}

/** `wa2ai backup FILE`. @throws {BackupError | DatabaseError | ConfigError} */
export async function runBackup(
  path: string,
  options: BackupCommand,
  deps: BackupCommandDeps,
): Promise<CommandResult> {
  const { env, log } = deps;
  const config = loadConfig(env, false);
  const passphrase = await passphraseOf({ file: options.passphraseFile, env, isNew: true });
  const prismaFolder = join(projectFolder(), 'prisma');
  const settings = savedSettings(env);
  const report = await createBackup({ config, prismaFolder, path, passphrase, settings, log });
  if (!options.verify) return { report, text: backupText(report) };
  const drill = await drillBackup({ ...deps, prismaFolder, path, passphrase }, dirname(path));
  return {
    report: { ...report, drill: drillReport(drill) },
    text: `${backupText(report)}\n${drillText(drill)}`,
  };
}

export interface RestoreCommand {
  passphraseFile?: string | undefined;
  /** Replaces what is in the database. */
  replace?: boolean | undefined;
  /** Restores into a temporary database only. */
  drill?: boolean | undefined;
  /** Writes the data keys of the backup to this file, and restores nothing. */
  dataKeyTo?: string | undefined;
  /** Writes the settings of the backup to this file, and restores nothing. */
  settingsTo?: string | undefined;
}

/** `wa2ai restore FILE`. @throws {BackupError | DatabaseError | ConfigError} */
export async function runRestore(
  path: string,
  options: RestoreCommand,
  deps: BackupCommandDeps,
): Promise<CommandResult> {
  const { env } = deps;
  const passphrase = await passphraseOf({ file: options.passphraseFile, env, isNew: false });
  const prismaFolder = join(projectFolder(), 'prisma');
  if (options.dataKeyTo !== undefined || options.settingsTo !== undefined) {
    return extract(path, passphrase, options);
  }
  if (options.drill) {
    const report = await drillBackup({ ...deps, prismaFolder, path, passphrase });
    return { report: drillReport(report), text: drillText(report) };
  }
  const config = loadConfig(env, false);
  const mayReplace = options.replace === true;
  const report = await restoreBackup({ ...deps, config, prismaFolder, path, passphrase, mayReplace });
  const missing = missingSettings(report.settings, env);
  return { report: { ...drillReport(report), missingSettings: missing }, text: restoreText(report, missing) };
}

async function extract(path: string, passphrase: string, options: RestoreCommand): Promise<CommandResult> {
  const { manifest } = await checkBackup(path, passphrase);
  const written: string[] = [];
  if (options.dataKeyTo !== undefined) {
    if (manifest.dataKeys === undefined) {
      throw new BackupError(
        'BACKUP_FILE',
        `${path} contains no data key: secrets in its database are not encrypted.`,
      );
    }
    await writeSecret(options.dataKeyTo, manifest.dataKeys);
    written.push(options.dataKeyTo);
  }
  if (options.settingsTo !== undefined) {
    await writeSecret(options.settingsTo, settingsText(manifest.settings));
    written.push(options.settingsTo);
  }
  return { report: { written }, text: `Written: ${written.join(', ')}. Nothing was restored.` };
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(path, text, { flag: 'wx', mode: 0o600, flush: true }).catch((error: unknown) => {
    throw new BackupError(
      'BACKUP_FILE',
      `${path} cannot be written (${errorCode(error) ?? errorMessage(error)}). Name a file that does not exist yet, in a folder that you may write.`,
      { cause: error },
    );
  });
}

/** Names of the settings of the backup that are not set here, or otherwise. Their values may be secret. */
function missingSettings(saved: Record<string, string>, env: Env): string[] {
  const here = savedSettings(env);
  return Object.keys(saved).filter((name) => saved[name] !== here[name]);
}

/** Without the settings, which may contain the admin key. */
function drillReport({ settings: _, ...report }: RestoreReport) {
  return report;
}

function backupText({ path, bytes, createdAt, tables, rows, files, leftOut }: BackupReport): string {
  return `${path}: ${sizeOf(bytes)}, snapshot of ${createdAt}, ${rows} rows of ${tables} tables, ${files} files of agents.\n${leftOutText(leftOut)}Keep the passphrase apart from the file: without it nobody can restore the backup.`;
}

function leftOutText({ count, files }: BackupReport['leftOut']): string {
  if (count === 0) return '';
  const named = files.slice(0, 10).map(({ path, reason }) => `  ${shown(path)}: ${reason}`);
  const others = count > named.length ? [`  and ${count - named.length} more`] : [];
  return [`Not in the backup, because they cannot be read: ${count}`, ...named, ...others, ''].join('\n');
}

/** Agents choose names: none writes control characters to a terminal. */
function shown(path: string): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(path).replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped);
}

function drillText({ rows, tables }: RestoreReport): string {
  return `Drill: restored into a temporary database, ${rows} rows of ${tables} tables are the same. The temporary database is removed.`;
}

function restoreText(report: RestoreReport, missing: readonly string[]): string {
  const { createdAt, wa2ai, rows, tables, files, migrated, dataKeyFile } = report;
  const lines = [
    `Restored: snapshot of ${createdAt} (wa2ai ${wa2ai}), ${rows} rows of ${tables} tables, ${files} files of agents.`,
  ];
  if (migrated.length > 0) lines.push(`Brought up to date with ${migrated.length} migrations.`);
  if (dataKeyFile !== undefined) lines.push(`The data key is in ${dataKeyFile}.`);
  if (missing.length > 0) {
    lines.push(
      `These settings of the backup are not set here, or otherwise: ${missing.join(', ')}. "wa2ai restore FILE --settings-to .env.restored" writes them.`,
    );
  }
  lines.push('Start wa2ai. Do not start the former one again: WhatsApp accepts one of them.');
  return lines.join('\n');
}

function sizeOf(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Settings that say where this machine has something, which another machine has elsewhere; and the key of the wallet, which is nowhere else. */
const NOT_SAVED = new Set([
  'WA2AI_HOST',
  'WA2AI_PORT',
  'WA2AI_DATA_DIR',
  'WA2AI_NODE_ID',
  'DATABASE_URL',
  'DATABASE_PASSWORD',
  'WA2AI_DATA_KEY_FILE',
  'WA2AI_NPC_WALLET_KEY',
  'WA2AI_FFMPEG',
  'WA2AI_MEDIA_DIR',
  'WA2AI_CONTAINER_ENGINE',
  'WA2AI_AGENTS_HOST_DIR',
  'WA2AI_AGENTS_OWN_CONTAINER',
  'WA2AI_FAULT_POINT',
]);

/**
 * The settings that another machine needs to run the same service, by their names of now: all that are set, except those of
 * the machine. The admin key is one of them, also when a file contains it.
 * @param env the environment of the service
 */
export function savedSettings(env: Record<string, string | undefined>): Record<string, string> {
  const { withSecrets } = readVariables(env, () => undefined);
  return Object.fromEntries(
    Object.keys(envSchema.shape).flatMap((name) => {
      const value = withSecrets[name];
      return value === undefined || NOT_SAVED.has(name) ? [] : [[name, value]];
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

import { z } from 'zod';
import type { Config } from './config.ts';
import { LOG_LEVELS } from './config-fields.ts';

const daysField = z.int().min(0).max(3_650).optional();

/** What an admin changes while wa2ai runs, on all nodes; an absent field has the value of its variable. */
export const serviceFields = z.strictObject({
  agentTimeoutMs: z
    .int()
    .min(100)
    .max(3_600_000)
    .optional()
    .describe(
      'Time limit of one attempt where the route names none, in milliseconds. Default: WA2AI_AGENT_TIMEOUT.',
    ),
  maxMessageAgeMs: z
    .int()
    .min(1_000)
    .max(2_592_000_000)
    .optional()
    .describe('Maximum age of a message that is answered, in milliseconds. Default: WA2AI_MAX_MESSAGE_AGE.'),
  exchanges: z
    .enum(['on', 'off'])
    .optional()
    .describe(
      'Whether the requests to agents and their answers are stored, for the trace of a message. Default: WA2AI_EXCHANGES.',
    ),
  logLevel: z
    .enum(LOG_LEVELS)
    .optional()
    .describe('Least severe level that is logged. `trace` contains message texts. Default: WA2AI_LOG_LEVEL.'),
  retention: z
    .strictObject({
      textDays: daysField.describe(
        'Texts of messages and answers, with traces and dead letters. 0: for ever. Default: WA2AI_RETENTION_TEXTS.',
      ),
      fileDays: daysField.describe(
        'Files of people, and those of answers that WhatsApp acknowledged. 0: for ever. Default: WA2AI_RETENTION_FILES.',
      ),
      recordDays: daysField.describe(
        'Entries of the audit log. 0: for ever. Default: WA2AI_RETENTION_RECORDS.',
      ),
    })
    .optional()
    .describe('Days to keep finished data.'),
});

type StoredService = z.output<typeof serviceFields>;

/** The values in force of what `serviceFields` has. */
export type ServiceSettings = Required<Omit<StoredService, 'retention'>> & {
  retention: Required<NonNullable<StoredService['retention']>>;
};

/** The variables of these settings. */
export type ServiceDefaults = Pick<Config, keyof ServiceSettings>;

/** What applies: what is stored, else the variables. What this version does not know or accept of the stored is left out. */
export function serviceSettingsOf(
  stored: unknown,
  { agentTimeoutMs, maxMessageAgeMs, exchanges, logLevel, retention }: ServiceDefaults,
): ServiceSettings {
  const given = storedService(stored);
  const defaults = { agentTimeoutMs, maxMessageAgeMs, exchanges, logLevel };
  return { ...defaults, ...given, retention: { ...retention, ...given.retention } };
}

/** The stored settings that this version knows and accepts. */
export function storedService(stored: unknown): StoredService {
  if (typeof stored !== 'object' || stored === null) return {};
  const known = Object.entries(serviceFields.shape).flatMap(([name, field]) => {
    const { data } = field.safeParse((stored as Record<string, unknown>)[name]);
    return data === undefined ? [] : [[name, data] as const];
  });
  return Object.fromEntries(known);
}

/** A phone may request a message again for two weeks. */
const MIN_REPLY_DAYS = 14;

/** How long each kind of finished data is kept, in days; 0 for ever. */
export function retentionDaysOf(
  { textDays, fileDays, recordDays }: ServiceSettings['retention'],
  { oldRetention }: Pick<Config, 'oldRetention'>,
) {
  const withTexts = (mostDays: number) => (textDays === 0 ? mostDays : Math.min(mostDays, textDays));
  return {
    text: textDays,
    outbox: textDays === 0 ? 0 : Math.max(MIN_REPLY_DAYS, textDays),
    files: fileDays,
    exchanges: withTexts(7),
    deadLetters: textDays,
    workflows: 1,
    journal: 7,
    oldKeys: 30,
    webhooks: withTexts(30),
    audit: recordDays,
    ...oldRetention,
  };
}

/** How long each kind of finished data is kept. */
export type RetentionDays = Record<Exclude<keyof ReturnType<typeof retentionDaysOf>, symbol>, number>;

import { z } from 'zod';
import { PHRASES } from '../core/phrases.ts';
import { group, size } from './config-fields.ts';

/** Where files are stored. */
export const mediaFields = group('Files', {
  WA2AI_MEDIA_STORE: z
    .enum(['database', 'disk', 's3'], { error: 'must be database, disk or s3' })
    .prefault('database')
    .describe(
      'Where new files of replies and of people are stored. Each file is read from where it was stored. The same on all nodes.',
    )
    .meta({ values: '`database`, `disk`, `s3`' }),
  WA2AI_MEDIA_RECEIVED: z
    .enum(['stored', 'not-stored'], { error: 'must be stored or not-stored' })
    .prefault('stored')
    .describe(
      'Whether a file of a person is stored when it is first loaded, for an agent, a transcript or the API. `not-stored`: it is loaded from WhatsApp each time.',
    )
    .meta({ values: '`stored`, `not-stored`' }),
  WA2AI_MEDIA_DIR: z
    .string()
    .optional()
    .describe(
      'Folder of the store `disk`. With DATABASE_URL it is required, and all nodes must share the folder.',
    )
    .meta({ shownDefault: '`media` in the data folder', values: 'path' }),
  WA2AI_MEDIA_MAX_SIZE: size('10MB', '10TB')
    .prefault('10GB')
    .describe(
      'Size of the store `disk`. When it is nearly full, the oldest files of people and of delivered replies are removed.',
    ),
  WA2AI_MEDIA_S3_ENDPOINT: z
    .string()
    .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), PHRASES['field.http-or-https-url'])
    .optional()
    .describe('URL of a server with the API of S3, such as `https://s3.eu-west-1.amazonaws.com`.')
    .meta({ values: 'URL' }),
  WA2AI_MEDIA_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe('Bucket for the files. It must exist.')
    .meta({ values: 'name of 3 to 63 characters' }),
  WA2AI_MEDIA_S3_REGION: z
    .string()
    .regex(/^[\w-]{1,50}$/, 'must be the name of a region')
    .prefault('us-east-1')
    .describe('Region of the bucket.')
    .meta({ values: 'name' }),
  WA2AI_MEDIA_S3_PREFIX: z
    .string()
    .regex(/^(?:[\w.-]{1,100}\/)*$/, 'must be empty or end with a slash')
    .prefault('wa2ai/')
    .describe('Begin of the names of the files in the bucket.')
    .meta({ values: 'text that ends with `/`' }),
  WA2AI_MEDIA_S3_ACCESS_KEY: z
    .string()
    .max(200)
    .optional()
    .describe('Id of the key of the S3 server.')
    .meta({ values: 'text' }),
  WA2AI_MEDIA_S3_SECRET_KEY: z
    .string()
    .max(500)
    .optional()
    .describe('Secret of that key.')
    .meta({ secret: true, values: 'text' }),
});

const NEEDED_OF_S3 = [
  'WA2AI_MEDIA_S3_ENDPOINT',
  'WA2AI_MEDIA_S3_BUCKET',
  'WA2AI_MEDIA_S3_ACCESS_KEY',
  'WA2AI_MEDIA_S3_SECRET_KEY',
] as const;

/** What is wrong with the variables together, by the name of the one to change. */
export function mediaProblems(variables: Record<string, string | undefined>): Map<string, string> {
  const problems = new Map<string, string>();
  const { WA2AI_MEDIA_STORE: store } = variables;
  if (store === 'disk' && variables.DATABASE_URL && !variables.WA2AI_MEDIA_DIR) {
    problems.set(
      'WA2AI_MEDIA_DIR',
      'WA2AI_MEDIA_DIR must be set when WA2AI_MEDIA_STORE is disk and DATABASE_URL is set: all nodes must share the folder.',
    );
  }
  const given = NEEDED_OF_S3.filter((name) => variables[name]);
  if (store === 's3' || given.length > 0) {
    for (const name of NEEDED_OF_S3) {
      if (!variables[name]) problems.set(name, `${name} must be set to use S3.`);
    }
  }
  return problems;
}

/** The store of new files, and the settings of each. */
export function mediaOf(values: z.infer<z.ZodObject<typeof mediaFields>>) {
  const { WA2AI_MEDIA_S3_ENDPOINT: endpoint, WA2AI_MEDIA_S3_BUCKET: bucket } = values;
  const { WA2AI_MEDIA_S3_ACCESS_KEY: accessKeyId, WA2AI_MEDIA_S3_SECRET_KEY: secretAccessKey } = values;
  const s3 = endpoint &&
    bucket &&
    accessKeyId &&
    secretAccessKey && {
      ...{ endpoint, bucket, accessKeyId, secretAccessKey },
      region: values.WA2AI_MEDIA_S3_REGION,
      prefix: values.WA2AI_MEDIA_S3_PREFIX,
    };
  return {
    store: values.WA2AI_MEDIA_STORE,
    storesReceived: values.WA2AI_MEDIA_RECEIVED === 'stored',
    dir: values.WA2AI_MEDIA_DIR,
    maxBytes: values.WA2AI_MEDIA_MAX_SIZE,
    s3: s3 || undefined,
  };
}

import { z } from 'zod';

export const PACE = {
  debounceMs: 0,
  maxWaitMs: 10_000,
  busy: 'queue' as 'queue' | 'merge' | 'interrupt',
};

export const paceField = z
  .strictObject({
    debounceMs: z
      .int()
      .min(0)
      .max(60_000)
      .optional()
      .describe(
        'Messages of one person that follow each other within this time become one question. 0: each message is a question. Default: 0.',
      ),
    maxWaitMs: z
      .int()
      .min(0)
      .max(300_000)
      .optional()
      .describe('The first of these messages waits no longer than this. Default: 10000.'),
    busy: z
      .enum(['queue', 'merge', 'interrupt'])
      .optional()
      .describe(
        '`queue`: a message that comes while the agent works waits; `merge`: all that came meanwhile become one question; `interrupt`: the call of the agent ends and starts again with the new message added. Default: queue.',
      ),
  })
  .describe('When messages that a person writes in a row are answered.');

export const editsField = z
  .enum(['follow', 'ignore'])
  .describe(
    '`follow`: an edited message is answered by its new text, and one that its author deleted is not answered; `ignore`: the first text counts. Default: follow.',
  );

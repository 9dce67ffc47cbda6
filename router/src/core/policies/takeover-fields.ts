import { z } from 'zod';

export const TAKEOVER = { minutes: 30, contextMessages: 20 };

export const takeoverField = z
  .strictObject({
    minutes: z
      .int()
      .min(0)
      .max(43_200)
      .optional()
      .describe(
        'How long the chat is paused after a message that the owner writes by hand. 0: such messages change nothing. Default: 30.',
      ),
    contextMessages: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .describe(
        'Messages of the time without answers, also those of the owner, that the agent gets with the next message. Default: 20.',
      ),
  })
  .describe('What happens when the owner writes in the chat.');

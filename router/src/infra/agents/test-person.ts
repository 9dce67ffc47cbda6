import type { IncomingMessage } from '../../core/models.ts';

/** Writes messages as one person of a test. */
export interface TestPerson {
  says(text: string): IncomingMessage;
}

/** A person with a number that no phone has and that is new, so that the conversation is new. */
export function newTestPerson(): TestPerson {
  const digits = `999${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  let sent = 0;
  return {
    says: (text) => {
      sent += 1;
      const id = `WA2AI-TEST-${digits}-${sent}`;
      return { id, from: `${digits}@s.whatsapp.net`, channelId: digits, text, timestamp: new Date() };
    },
  };
}

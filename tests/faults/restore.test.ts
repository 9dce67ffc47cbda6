import { afterEach, beforeEach, expect, it } from 'vitest';
import { untilState } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;

beforeEach(async () => {
  bed = await TestBed.startPaired();
});

afterEach(() => bed.close());

it('wa2ai restored from an older backup works without pairing and answers every message once and in order', async () => {
  const [ana, bo, cy] = [bed.person(), bed.person({ via: 'lid' }), bed.person()];
  const group = createGroup(bed.emulator, { subject: 'Team', members: [cy, bo, bed.phone] });
  let rounds = 0;
  const talk = async (texts: string[]) => {
    for (const text of texts) {
      rounds += 1;
      await Promise.all([
        ana.say(text, { to: bed.phone }),
        bo.say(text, { to: bed.phone }),
        cy.say(text, { to: group }),
      ]);
      // bo reads the group too
      await Promise.all([
        ana.waitForReceived(rounds),
        bo.waitForReceived(2 * rounds),
        cy.waitForReceived(rounds),
      ]);
    }
  };
  const bubbles = (person: Person, chat?: string) =>
    person.received
      .filter((bubble) => (bubble.chat === group.jid) === (chat === group.jid))
      .map(({ text }) => text);

  await talk(['one', 'two']);
  await bed.service.end();
  const backup = await bed.database.copy();
  try {
    await bed.restartService();
    await talk(['three', 'four', 'five']);
    await bed.service.end();

    await bed.restartService({ DATABASE_URL: backup.url });
    await untilState(bed.service, 'open');
    await talk(['six', 'seven']);
    const answers = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'].map((text) => `Echo: ${text}`);
    expect(bubbles(ana)).toEqual(answers);
    expect(bubbles(bo)).toEqual(answers);
    expect(bubbles(cy, group.jid)).toEqual(answers);
    await bed.service.end();
  } finally {
    await backup.drop();
  }
});

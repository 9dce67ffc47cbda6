import { afterEach, beforeEach, expect, it } from 'vitest';
import { untilState } from '../support/pairing.ts';
import { Stage } from '../support/stage.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.setAndPaired();
});

afterEach(() => stage.strike());

it('goes on from an older backup without pairing: everybody is answered once and in order, whatever keys moved on since', async () => {
  const [ana, bo, cy] = [stage.person(), stage.person({ via: 'lid' }), stage.person()];
  const group = createGroup(stage.emulator, { subject: 'Team', members: [cy, bo, stage.phone] });
  let rounds = 0;
  const talk = async (texts: string[]) => {
    for (const text of texts) {
      rounds += 1;
      await Promise.all([
        ana.say(text, { to: stage.phone }),
        bo.say(text, { to: stage.phone }),
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
  await stage.service.end();
  const backup = await stage.database.copy();
  try {
    await stage.restartService();
    await talk(['three', 'four', 'five']);
    await stage.service.end();

    await stage.restartService({ DATABASE_URL: backup.url });
    await untilState(stage.service, 'open');
    await talk(['six', 'seven']);
    const answers = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'].map((text) => `Echo: ${text}`);
    expect(bubbles(ana)).toEqual(answers);
    expect(bubbles(bo)).toEqual(answers);
    expect(bubbles(cy, group.jid)).toEqual(answers);
    await stage.service.end();
  } finally {
    await backup.drop();
  }
});

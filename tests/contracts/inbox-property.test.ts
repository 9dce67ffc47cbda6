import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import type { ChatClaim, Inbox, Stored } from '../../router/src/core/ports/inbox.ts';
import { runs } from '../support/property-runs.ts';
import { ADAPTERS, aMessage, anAccount, answered, aPerson, aReply, NODE, type Stores } from './adapters.ts';

const PEOPLE = 3;
type Form = 'phone' | 'lid' | 'both';

const form = fc.constantFrom<Form>('phone', 'lid', 'both');
/** Events: a person writes, WhatsApp redelivers a message, a worker runs a turn, or another node takes over a chat. */
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('write' as const),
        person: fc.nat(PEOPLE - 1),
        form,
        isIgnored: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat' as const), message: fc.nat() }) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('turn' as const), claim: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('take over' as const), claim: fc.nat() }) },
  ),
  { minLength: 5, maxLength: 40 },
);

/** Chat workers, one turn at a time on request. */
class Workers {
  readonly live: ChatClaim[] = [];
  readonly answeredTexts: string[] = [];
  readonly #inbox: Inbox;

  constructor(inbox: Inbox) {
    this.#inbox = inbox;
  }

  start({ worker, isNewWorker }: Partial<Pick<Stored, 'worker' | 'isNewWorker'>>): void {
    if (!worker || !isNewWorker) return;
    if (this.isLive(worker)) throw new Error(`chat ${worker.chatId} was claimed twice as ${worker.epoch}`);
    this.live.push(worker);
  }

  isLive(claim: Pick<ChatClaim, 'chatId' | 'epoch'>): boolean {
    return this.live.some((other) => other.chatId === claim.chatId && other.epoch === claim.epoch);
  }

  end(claim: ChatClaim): void {
    this.live.splice(this.live.indexOf(claim), 1);
  }

  async turn(claim: ChatClaim): Promise<void> {
    const turn = await this.#inbox.nextTurn(claim);
    if (!turn) {
      this.end(claim);
      return;
    }
    this.answeredTexts.push(turn.message.text);
    const reply = aReply(turn.accountId, turn.replyTo, turn.message.text);
    const { replies, isClaimed } = await this.#inbox.finishTurn(turn.messageId, answered([reply]), { claim });
    expect(replies).toHaveLength(1);
    if (!isClaimed) this.end(claim);
  }

  async takeOver(claim: ChatClaim): Promise<void> {
    const [worker] = await this.#inbox.claimChats([claim], 'node-2');
    this.end(claim);
    this.start({ worker, isNewWorker: true });
  }

  async drain(): Promise<void> {
    for (let turns = 0; this.live.length > 0; turns++) {
      if (turns > 500) throw new Error('the workers do not end');
      for (const claim of [...this.live]) await this.turn(claim);
    }
  }
}

describe.each(ADAPTERS)('inbox in $name, under any sequence of events', ({ name, open }) => {
  let stores: Stores;
  beforeAll(async () => {
    stores = await open();
  });
  afterAll(() => stores.close());

  /** One memory store per run, because it scans all its rows; all runs share the database. */
  const storesOfRun = () => (name === 'memory' ? open() : Promise.resolve(stores));

  const answersEverything = fc.asyncProperty(steps, async (script) => {
    const { inbox, outbox, log } = await storesOfRun();
    const accountId = anAccount();
    const people = Array.from({ length: PEOPLE }, aPerson);
    const workers = new Workers(inbox);
    const written: InboundMessage[] = [];
    const addressOf = (person: number, as: Form) => {
      const { phone, lid } = people[person] ?? aPerson();
      return { phone: { phone }, lid: { lid }, both: { phone, lid } }[as];
    };

    for (const step of script) {
      const claim = 'claim' in step ? workers.live[step.claim % Math.max(workers.live.length, 1)] : undefined;
      let stored: Stored | undefined;
      if (step.kind === 'write') {
        const address = addressOf(step.person, step.form);
        const ignoredReason = step.isIgnored ? 'too-old' : undefined;
        const message = aMessage(accountId, address, { ignoredReason });
        written.push(message);
        stored = await inbox.add(message, NODE);
      } else if (step.kind === 'repeat' && written.length > 0) {
        const again = written[step.message % written.length];
        if (!again) throw new Error('something was written');
        stored = await inbox.add(again, NODE);
        expect(stored.outcome).toBe('known');
      } else if (claim && step.kind === 'turn') await workers.turn(claim);
      else if (claim && step.kind === 'take over') await workers.takeOver(claim);
      workers.start(stored ?? {});

      const chatIds = new Set((await log.messages({ accountId, limit: 99 })).map((row) => row.chatId));
      const open = (await inbox.openChats([])).filter((one) => chatIds.has(one.chatId));
      for (const one of open)
        expect(workers.isLive(one), 'a worker runs where something is unanswered').toBe(true);
    }
    await workers.drain();

    const texts = written.filter((message) => !message.ignoredReason).map((message) => message.text);
    expect([...workers.answeredTexts].sort()).toEqual([...texts].sort());
    const replies = await outbox.undelivered(accountId, { limit: 100 });
    expect(replies.map((reply) => reply.message.text)).toEqual(workers.answeredTexts);
  });

  const tries = runs(name === 'memory' ? 150 : 10);

  it('answers each message once while people change between number and LID', async () => {
    await fc.assert(answersEverything, tries);
  });

  it('keeps the order of messages of each person with one address', async () => {
    const accountId = anAccount();
    const script = fc.array(fc.record({ person: fc.nat(PEOPLE - 1), turns: fc.nat(2), late: fc.boolean() }), {
      minLength: 3,
      maxLength: 25,
    });
    const keepsOrder = fc.asyncProperty(script, async (lines) => {
      const { inbox } = await storesOfRun();
      const people = Array.from({ length: PEOPLE }, aPerson);
      const workers = new Workers(inbox);
      const inOrder = people.map((): string[] => []);
      for (const { person, turns, late } of lines) {
        // Two messages in quick succession may be stored in reverse; the stanza order decides.
        const pair = [1, 2].map(() => aMessage(accountId, people[person] ?? {}));
        inOrder[person]?.push(...pair.map((message) => message.text));
        for (const message of late ? pair.reverse() : pair) workers.start(await inbox.add(message, NODE));
        for (let turn = 0; turn < turns; turn++) {
          const claim = workers.live[0];
          if (claim) await workers.turn(claim);
        }
      }
      await workers.drain();
      for (const texts of inOrder)
        expect(workers.answeredTexts.filter((text) => texts.includes(text))).toEqual(texts);
    });
    await fc.assert(keepsOrder, tries);
  });

  it('loses and repeats nothing under concurrency', async () => {
    const accountId = anAccount();
    const people = Array.from({ length: 8 }, aPerson);
    const seen = people.map((): string[] => []);
    const run = async (index: number, claim: ChatClaim | undefined) => {
      for (let turns = 0; claim && turns < 500; turns++) {
        const turn = await stores.inbox.nextTurn(claim);
        if (!turn) return;
        seen[index]?.push(turn.message.text);
        const reply = aReply(accountId, turn.replyTo, turn.message.text);
        const end = await stores.inbox.finishTurn(turn.messageId, answered([reply]), { claim });
        if (!end.isClaimed) return;
      }
    };
    const running: Array<Promise<void>> = [];
    const writers = people.map(async (person, index) => {
      const texts: string[] = [];
      for (let n = 0; n < 20; n++) {
        const message = aMessage(accountId, person);
        texts.push(message.text);
        const [stored, repeat] = await Promise.all([
          stores.inbox.add(message, NODE),
          stores.inbox.add(message, NODE),
        ]);
        for (const one of [stored, repeat]) {
          if (one.isNewWorker) running.push(run(index, one.worker));
        }
      }
      return texts;
    });
    const written = await Promise.all(writers);
    await Promise.all(running);
    expect(seen).toEqual(written);
    expect(await stores.outbox.undelivered(accountId, { limit: 1_000 })).toHaveLength(160);
  });
});

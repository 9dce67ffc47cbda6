import { beforeEach, describe, expect, it } from 'vitest';
import { ReplyDelivery } from '../../../../router/src/core/delivery/deliver-reply.ts';
import { MediaError, SendUncertainError, UploadFailedError } from '../../../../router/src/core/errors.ts';
import type { ReplyFile } from '../../../../router/src/core/models.ts';
import type { OutboxRow } from '../../../../router/src/core/ports/outbox.ts';
import { Slots } from '../../../../router/src/core/slots.ts';
import { StoredMedia } from '../../../../router/src/core/turns/load-media.ts';
import { repliesOf } from '../../../../router/src/core/turns/replies-of.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const bytes = Buffer.from('a picture');
const picture: ReplyFile = { kind: 'image', mimeType: 'image/png', bytes };
const sound: ReplyFile = { kind: 'audio', mimeType: 'audio/mpeg', bytes };

describe('the replies of an agent that answers with files', () => {
  const brief = (response: string | undefined, files?: ReplyFile[]) =>
    repliesOf({ success: true, response, files }).map(({ text, media }) => [media?.kind ?? 'text', text]);

  it.each([
    ['nothing', undefined, undefined, []],
    ['nothing but spaces', '  \n', [], []],
    ['words', ' hi ', [], [['text', ' hi ']]],
    ['a file', undefined, [picture], [['image', '']]],
    ['a file with a caption', 'look', [picture], [['image', 'look']]],
    [
      'words before a sound',
      'listen',
      [sound],
      [
        ['text', 'listen'],
        ['audio', ''],
      ],
    ],
    [
      'a caption on the first file that shows one',
      'look',
      [sound, picture, picture],
      [
        ['audio', ''],
        ['image', 'look'],
        ['image', ''],
      ],
    ],
    [
      'long words before the file',
      'x'.repeat(1_025),
      [picture],
      [
        ['text', 'x'.repeat(1_025)],
        ['image', ''],
      ],
    ],
  ] as const)('are %s', (_, response, files, expected) => {
    expect(brief(response, files && [...files])).toEqual(expected);
  });
});

describe('the delivery of a file', () => {
  let clock: FakeClock;
  let state: MemoryState;
  let outbox: MemoryOutbox;
  let delivery: ReplyDelivery;
  let uploads: number;
  let sent: Array<{ waMessageId: string; content: string | undefined }>;
  let upload: () => Promise<Uint8Array>;
  let failSend: Error | undefined;

  beforeEach(() => {
    clock = new FakeClock(Date.UTC(2026, 0, 1));
    state = new MemoryState(() => clock.now());
    outbox = new MemoryOutbox(state);
    uploads = 0;
    sent = [];
    failSend = undefined;
    upload = async () => Buffer.from(`uploaded ${uploads}`);
    delivery = new ReplyDelivery({
      outbox,
      clock,
      log: recordingLog(),
      provider: {
        accountId: 'default',
        status: () => ({ accountId: 'default', state: 'open', nextAction: '', sinceMs: 0 }),
        upload: async () => {
          uploads += 1;
          return upload();
        },
        send: async ({ waMessageId }, content) => {
          if (failSend) throw failSend;
          sent.push({ waMessageId, content: content && Buffer.from(content).toString() });
        },
      },
    });
  });

  async function reply(): Promise<string> {
    const inbox = new MemoryInbox(state);
    const phone = '5493777000001';
    const stored = await inbox.add(
      {
        accountId: 'default',
        waMessageId: 'IN1',
        chat: { kind: 'person', phone },
        sender: { phone },
        kind: 'text',
        text: 'draw',
        sentAtMs: clock.now(),
        stanzaOrder: 1n,
      },
      'n1',
    );
    const address = { accountId: 'default', to: `${phone}@s.whatsapp.net` };
    const rows = await inbox.finishTurn(stored.messageId, {
      state: 'answered',
      replies: [
        {
          ...address,
          waMessageId: 'WA1',
          text: 'look',
          media: { kind: 'image', mimeType: 'image/png', sizeBytes: 9 },
          file: bytes,
        },
        { ...address, waMessageId: 'WA2', text: 'after it' },
      ],
    });
    delivery.deliver(rows);
    await delivery.idle();
    return rows[0]?.outboxId ?? '';
  }
  const row = (id: string) => state.outbox.get(id) as OutboxRow;
  async function look(afterMs: number) {
    await clock.advanceMs(afterMs);
    delivery.pollQueue();
    await delivery.idle();
  }

  it('uploads it once and sends what was kept, before what follows in the chat', async () => {
    await reply();
    expect(sent).toEqual([
      { waMessageId: 'WA1', content: 'uploaded 1' },
      { waMessageId: 'WA2', content: undefined },
    ]);
  });

  it('sends the very same once more after a send that may not have happened', async () => {
    failSend = new SendUncertainError('The line broke.');
    const replied = reply();
    await clock.untilSleeping();
    failSend = undefined;
    await clock.advanceMs(2_000);
    await replied;
    expect(uploads).toBe(1);
    expect(sent).toContainEqual({ waMessageId: 'WA1', content: 'uploaded 1' });
  });

  it('waits longer after each upload that failed, and holds up its chat meanwhile', async () => {
    let failures = 2;
    upload = async () => {
      failures -= 1;
      if (failures >= 0) throw new UploadFailedError('The host is down.');
      return Buffer.from('at last');
    };
    const id = await reply();
    expect(row(id)).toMatchObject({ state: 'queued', error: 'The host is down.' });
    await look(1_999);
    expect(uploads).toBe(1);
    await look(1);
    expect(uploads).toBe(2);
    await look(3_999);
    expect([uploads, sent]).toEqual([2, []]);
    await look(1);
    expect(sent.map(({ waMessageId }) => waMessageId)).toEqual(['WA1', 'WA2']);
  });

  it('gives up after five uploads, with a dead letter, and goes on with the chat', async () => {
    upload = async () => {
      throw new UploadFailedError('The host is down.');
    };
    const id = await reply();
    for (let tries = 0; tries < 6; tries++) await look(60_000);
    expect(uploads).toBe(5);
    expect(row(id)).toMatchObject({ state: 'dead', error: 'The host is down. There were 5 attempts.' });
    expect(state.deadLetters).toMatchObject([{ reason: 'send-failed', outboxId: id }]);
    expect(sent.map(({ waMessageId }) => waMessageId)).toEqual(['WA2']);
  });
});

describe('the files of stored messages', () => {
  const { signal } = new AbortController();
  const turn = (messageId: string) => ({ messageId, accountId: 'default' });
  const gone = new MediaError('MEDIA_GONE', 'It is gone.');
  const nowhere = { reload: async () => undefined };

  it('are fetched a few at a time', async () => {
    const ends: Array<() => void> = [];
    const media = new StoredMedia({
      ...nowhere,
      inbox: { mediaReference: async (id) => `way to ${id}` },
      download: async (reference) => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return Buffer.from(reference);
      },
    });
    const ids = ['1', '2', '3', '4', '5', '6'];
    const loads = ids.map((id) => media.load(turn(id), signal));
    await settle();
    expect(ends).toHaveLength(4);
    for (const end of ends) end();
    await settle();
    for (const end of ends) end();
    expect((await Promise.all(loads)).map(String)).toEqual(ids.map((id) => `way to ${id}`));
  });

  it('that nobody knows the way to are gone', async () => {
    const inbox = { mediaReference: async () => undefined };
    const media = new StoredMedia({ ...nowhere, inbox, download: async () => bytes });
    await expect(media.load(turn('1'), signal)).rejects.toMatchObject({ code: 'MEDIA_GONE' });
  });

  it.each<[string, () => Promise<string | undefined>, string]>([
    ['come by the new way that a phone gave', async () => 'new', 'from new'],
    ['are gone when no phone can be asked', async () => undefined, 'It is gone.'],
    [
      'are gone when the phone does not have them',
      async () => Promise.reject(new Error('no')),
      'It is gone.',
    ],
  ])('that WhatsApp dropped %s', async (_, reload, expected) => {
    const media = new StoredMedia({
      inbox: { mediaReference: async () => 'old' },
      download: async (reference) => {
        if (reference === 'old') throw gone;
        return Buffer.from(`from ${reference}`);
      },
      reload,
    });
    const said = await media.load(turn('1'), signal).then(String, (error: Error) => error.message);
    expect(said).toBe(expected);
  });
});

describe('Slots', () => {
  it('are free again after a work that failed', async () => {
    const slots = new Slots(1);
    await expect(slots.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await slots.run(async () => 'yes')).toBe('yes');
  });
});

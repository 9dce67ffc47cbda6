import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ANY_CHANNEL,
  canonicalChannelId,
  canonicalRouteChannelId,
  channelIdOf,
  contractSessionId,
  contractUser,
  groupJid,
  hasTrunkZero,
  jidOfChannelId,
  lidJid,
  parseJid,
  phoneJid,
  writtenForms,
} from '../../../router/src/core/chat-id.ts';
import { anyText } from '../../support/any-text.ts';
import { runs } from '../../support/property-runs.ts';

const digits = (minLength: number, maxLength: number) =>
  fc
    .tuple(
      fc.constantFrom(...'123456789'),
      fc.array(fc.constantFrom(...'0123456789'), { minLength: minLength - 1, maxLength: maxLength - 1 }),
    )
    .map(([first, rest]) => first + rest.join(''));

const phone = digits(5, 15);
const lid = digits(5, 18);
const device = fc.integer({ min: 0, max: 99 });
const newGroup = digits(18, 18);
const oldGroup = fc.tuple(digits(8, 15), digits(10, 10)).map(([creator, made]) => `${creator}-${made}`);
const group = fc.oneof(newGroup, oldGroup);
/** Text that resembles an address and is usually invalid. */
const nearAddress = fc
  .array(
    fc.oneof(fc.constantFrom(...'0123456789@.:_-+* ()'), fc.constantFrom('lid', 'g.us', 's.whatsapp.net')),
    {
      maxLength: 30,
    },
  )
  .map((parts) => parts.join(''));
const anything = fc.oneof(anyText(60), nearAddress);

describe('parseJid', () => {
  it('reads a phone number from every server that carries one, with or without agent and device', () => {
    fc.assert(
      fc.property(
        phone,
        device,
        fc.constantFrom('s.whatsapp.net', 'c.us', 'hosted'),
        (number, of, server) => {
          expect(parseJid(`${number}@${server}`)).toEqual({ kind: 'phone', phone: number, device: 0 });
          expect(parseJid(`${number}:${of}@${server}`)).toEqual({ kind: 'phone', phone: number, device: of });
          expect(parseJid(`${number}_1:${of}@${server}`)).toEqual({
            kind: 'phone',
            phone: number,
            device: of,
          });
        },
      ),
    );
  });

  it('reads a LID with its device', () => {
    fc.assert(
      fc.property(lid, device, fc.constantFrom('lid', 'hosted.lid'), (id, of, server) => {
        expect(parseJid(`${id}:${of}@${server}`)).toEqual({ kind: 'lid', lid: id, device: of });
      }),
    );
  });

  it('reads groups, old ids with a dash too', () => {
    fc.assert(
      fc.property(group, (groupId) => {
        expect(parseJid(groupJid(groupId))).toEqual({ kind: 'group', groupId });
      }),
    );
  });

  it('distinguishes status, broadcast lists and newsletters from chats', () => {
    expect(parseJid('status@broadcast')).toEqual({ kind: 'status' });
    expect(parseJid('1612345678@broadcast')).toEqual({ kind: 'broadcast', id: '1612345678' });
    expect(parseJid('120363000000000001@newsletter')).toEqual({
      kind: 'newsletter',
      id: '120363000000000001',
    });
    for (const jid of ['status@broadcast', '1612345678@broadcast', '120363000000000001@newsletter']) {
      const address = parseJid(jid);
      expect(address && channelIdOf(address)).toBeUndefined();
    }
  });

  it('refuses text that is not an address', () => {
    for (const text of [
      '',
      '@',
      '@s.whatsapp.net',
      '549@',
      '5493777239922',
      'abc@s.whatsapp.net',
      '5493777239922@example.com',
      '+5493777239922@s.whatsapp.net',
      '5493777239922@s.whatsapp.net@s.whatsapp.net',
      '1234567890123456@s.whatsapp.net',
      '0@s.whatsapp.net',
      '12345-@g.us',
      '13135550002@bot',
    ]) {
      expect(parseJid(text), text).toBeUndefined();
    }
  });

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(anything, (text) => {
        parseJid(text);
        canonicalChannelId(text);
        contractUser(text);
        jidOfChannelId(text);
      }),
      runs(2_000),
    );
  });
});

describe('canonicalRouteChannelId', () => {
  it('takes user names as people write them, and every other channelId', () => {
    for (const written of ['@ana.b_1', ' @Ana.B_1 ']) {
      expect(canonicalRouteChannelId(written)).toBe('@ana.b_1');
    }
    expect(canonicalRouteChannelId('+54 9 3777 239922')).toBe('5493777239922');
    expect(canonicalRouteChannelId('49@lid')).toBe('49@lid');
  });

  it('refuses what is no user name', () => {
    for (const written of ['@', '@ab', '@123', '@a b c', '@ana@lid', `@${'a'.repeat(36)}`, '@añá']) {
      expect(canonicalRouteChannelId(written), written).toBeUndefined();
    }
  });

  it('is the only one: lists that allow something take no user names', () => {
    expect(canonicalChannelId('@ana.b_1')).toBeUndefined();
    expect(jidOfChannelId('@ana.b_1')).toBeUndefined();
  });
});

describe('writtenForms', () => {
  it('adds the other form of a number, and leaves what has one form', () => {
    expect(writtenForms(['5547989211984', '1@lid'])).toEqual(['5547989211984', '1@lid', '554789211984']);
    // A landline of Brazil, a number of Portugal, a group.
    for (const one of ['554733221984', '351912345678', '120363041234567890@g.us', '*', '@ana']) {
      expect(writtenForms([one])).toEqual([one]);
    }
  });

  it('is the same for both forms of a number', () => {
    fc.assert(
      fc.property(phone, (number) => {
        const forms = writtenForms([number]);
        for (const form of forms) expect(writtenForms([form]).sort()).toEqual([...forms].sort());
      }),
    );
  });
});

describe('canonicalChannelId', () => {
  it('reduces a number to its digits in any spelling', () => {
    for (const written of [
      '5493777239922',
      '+5493777239922',
      '005493777239922',
      ' +54 9 3777 23-9922 ',
      '+54 (9) 3777.239922',
      '+54 9 3777/239922',
      '\u202A+54\u00A09\u00A03777\u201123\u20119922\u202C',
      '5493777239922@s.whatsapp.net',
      '+5493777239922@s.whatsapp.net',
      '5493777239922@S.WhatsApp.Net',
      '5493777239922@c.us',
      '5493777239922:12@s.whatsapp.net',
    ]) {
      expect(canonicalChannelId(written), JSON.stringify(written)).toBe('5493777239922');
    }
  });

  it('drops the 0 of national calls in brackets, and refuses one that was joined with the country code', () => {
    expect(canonicalChannelId('+49 (0) 171 2345678')).toBe('491712345678');
    for (const written of ['+49 0171 2345678', '0044 07700 900123', '+55 047 98921-1984']) {
      expect(canonicalChannelId(written), written).toBeUndefined();
    }
    expect(canonicalChannelId('+39 06 6982 1234')).toBe('390669821234');
    expect(hasTrunkZero('4901712345678')).toBe(true);
    for (const other of ['701709967208682@lid', '100363000000000001@g.us', '*', '@10a']) {
      expect(hasTrunkZero(other)).toBe(false);
    }
  });

  it('keeps LIDs, groups and the wildcard apart from numbers', () => {
    expect(canonicalChannelId('123456789012345:3@lid')).toBe('123456789012345@lid');
    expect(canonicalChannelId('120363041234567890')).toBe('120363041234567890@g.us');
    expect(canonicalChannelId('120363041234567890@g.us')).toBe('120363041234567890@g.us');
    expect(canonicalChannelId('5493777239922-1412345678')).toBe('5493777239922-1412345678@g.us');
    expect(canonicalChannelId(' * ')).toBe(ANY_CHANNEL);
  });

  it('refuses text that is not the address of a chat', () => {
    for (const text of [
      '',
      'everyone',
      '**',
      '1234',
      // A national number is ambiguous without its country.
      '0377715239922',
      'status@broadcast',
      '120363000000000001@newsletter',
      // Longer than any number, and a group id contains no spaces.
      '+54 9 3777 23 9922 1234 5',
      '12345678901234567890123456',
      'call 5493777239922',
      '5493777239922,5493777239923',
      '5493777239922@example.com',
    ]) {
      expect(canonicalChannelId(text), text).toBeUndefined();
    }
  });

  it('changes nothing when applied to its own result', () => {
    const addresses = fc.oneof(
      anything,
      phone,
      phone.map(phoneJid),
      lid.map(lidJid),
      group,
      group.map(groupJid),
    );
    fc.assert(
      fc.property(addresses, (written) => {
        const canonical = canonicalChannelId(written);
        if (canonical !== undefined) expect(canonicalChannelId(canonical)).toBe(canonical);
      }),
      runs(3_000),
    );
  });

  it('agrees with the JID of the stored form', () => {
    fc.assert(
      fc.property(fc.oneof(phone.map(phoneJid), lid.map(lidJid), group.map(groupJid)), (jid) => {
        const channelId = canonicalChannelId(jid);
        expect(channelId && jidOfChannelId(channelId)).toBe(jid);
        const address = parseJid(jid);
        expect(address && channelIdOf(address)).toBe(channelId);
      }),
    );
  });

  it('never gives two people or groups the same form', () => {
    const jid = fc.oneof(phone.map(phoneJid), lid.map(lidJid), group.map(groupJid));
    fc.assert(
      fc.property(jid, jid, (one, other) => {
        fc.pre(one !== other);
        expect(canonicalChannelId(one)).not.toBe(canonicalChannelId(other));
      }),
    );
  });
});

describe('identifiers of the agent contract', () => {
  it('builds the session id of the contract from person and chat', () => {
    expect(contractSessionId('5493777239922@s.whatsapp.net', '5493777239922')).toBe(
      '5493777239922_5493777239922',
    );
    expect(contractSessionId('5493777239922:7@s.whatsapp.net', '120363041234567890@g.us')).toBe(
      '5493777239922_120363041234567890',
    );
    expect(contractSessionId('123456789012345@lid', '123456789012345@lid')).toBe(
      '123456789012345_123456789012345',
    );
  });

  it('contains only letters, digits and dashes in a user id, for any input', () => {
    fc.assert(
      fc.property(anything, (text) => {
        expect(contractUser(text)).toMatch(/^[A-Za-z0-9-]*$/);
      }),
    );
  });
});

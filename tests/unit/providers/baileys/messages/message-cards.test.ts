import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readContent } from '../../../../../router/src/providers/baileys/messages/message-content.ts';

const vcard = [
  'BEGIN:VCARD',
  'FN:Ana Lopez',
  'item1.TEL;waid=34600000001:+34 600 00 00 01',
  'TEL;type=CELL:600 2',
  'TEL;type=HOME;waid=34600000001:+34600000001',
  'END:VCARD',
].join('\r\n');

/** The card of a message with this content. */
function cardOf(message: unknown) {
  const content = readContent(message);
  return 'skip' in content ? undefined : content.card;
}

describe('the card of a message', () => {
  it.each([
    [
      { locationMessage: { degreesLatitude: 1.5, degreesLongitude: -2, name: 'Café', address: 'Main St 1' } },
      { kind: 'location', latitude: 1.5, longitude: -2, name: 'Café', address: 'Main St 1' },
    ],
    [
      { liveLocationMessage: { degreesLatitude: 0, degreesLongitude: 180 } },
      { kind: 'location', latitude: 0, longitude: 180, isLive: true },
    ],
    [{ locationMessage: { degreesLatitude: 91, degreesLongitude: 0 } }, undefined],
    [{ locationMessage: { degreesLatitude: Number.NaN, degreesLongitude: 0 } }, undefined],
    [
      { contactMessage: { vcard } },
      { kind: 'contacts', contacts: [{ name: 'Ana Lopez', phones: ['34600000001', '600 2'] }] },
    ],
    [
      { contactsArrayMessage: { contacts: [{ displayName: 'Bo' }, null, { displayName: 'Cy' }] } },
      {
        kind: 'contacts',
        contacts: [
          { name: 'Bo', phones: [] },
          { name: 'Cy', phones: [] },
        ],
      },
    ],
    [
      {
        pollCreationMessageV3: {
          name: 'When?',
          options: [{ optionName: 'Mon' }, {}],
          selectableOptionsCount: 1,
        },
      },
      { kind: 'poll', question: 'When?', options: ['Mon'], selectable: 1 },
    ],
    [
      {
        eventMessage: {
          name: 'Party',
          location: { name: 'Home' },
          startTime: { low: 1_700_000_000, high: 0 },
        },
      },
      { kind: 'event', name: 'Party', place: 'Home', startsAt: '2023-11-14T22:13:20.000Z' },
    ],
    [{ eventMessage: { name: 'Party', startTime: '99999999999999' } }, { kind: 'event', name: 'Party' }],
    [
      {
        extendedTextMessage: { text: 'see https://a.example', matchedText: 'https://a.example', title: 'A' },
      },
      { kind: 'link', url: 'https://a.example', title: 'A' },
    ],
    [{ extendedTextMessage: { text: 'no link' } }, undefined],
    [
      { buttonsResponseMessage: { selectedButtonId: 'b1', selectedDisplayText: 'Yes' } },
      { kind: 'choice', id: 'b1', title: 'Yes' },
    ],
    [{ listResponseMessage: { singleSelectReply: { selectedRowId: 'r1' } } }, { kind: 'choice', id: 'r1' }],
    [{ templateButtonReplyMessage: { selectedId: 't1' } }, { kind: 'choice', id: 't1' }],
    [
      {
        interactiveResponseMessage: {
          body: { text: 'Ok' },
          nativeFlowResponseMessage: { paramsJson: '{"id":"i1"}' },
        },
      },
      { kind: 'choice', id: 'i1', title: 'Ok' },
    ],
    [{ interactiveResponseMessage: { nativeFlowResponseMessage: { paramsJson: '{' } } }, undefined],
    [{ conversation: 'hello' }, undefined],
  ])('of %j', (node, card) => {
    expect(cardOf(node)).toEqual(card);
  });

  it('never throws', () => {
    const keys = [
      'locationMessage',
      'contactMessage',
      'contactsArrayMessage',
      'pollCreationMessage',
      'eventMessage',
    ];
    const fields = ['vcard', 'contacts', 'options', 'startTime', 'location', 'name', 'degreesLatitude'];
    const anyNode = fc.tuple(
      fc.constantFrom(...keys),
      fc.dictionary(fc.constantFrom(...fields), fc.anything(), { noNullPrototype: true }),
    );
    fc.assert(
      fc.property(anyNode, ([key, inner]) => {
        cardOf({ [key]: inner });
      }),
    );
  });
});

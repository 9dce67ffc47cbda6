import { expect, it } from 'vitest';
import { ChatLanes } from '../../../../../router/src/providers/baileys/inbound/chat-lanes.ts';

const PHONE = '34600000002@s.whatsapp.net';
const LID = '900000000000002@lid';

it('gives a person one lane once a stanza named both addresses', () => {
  const lanes = new ChatLanes();
  expect(lanes.of({ from: PHONE })).not.toBe(lanes.of({ from: LID }));
  lanes.of({ from: LID, sender_pn: PHONE });
  expect(lanes.of({ from: PHONE })).toBe(lanes.of({ from: LID }));
});

it('gives a group one lane, whoever writes, and each person another', () => {
  const lanes = new ChatLanes();
  const group = '120363000000000001@g.us';
  expect(lanes.of({ from: group, participant: PHONE })).toBe(lanes.of({ from: group, participant: LID }));
  expect(lanes.of({ from: group, participant: PHONE })).not.toBe(lanes.of({ from: PHONE }));
});

it('puts what the own phone wrote into the lane of the chat it wrote in', () => {
  const lanes = new ChatLanes();
  expect(lanes.of({ from: '34600000001@s.whatsapp.net', recipient: PHONE })).toBe(lanes.of({ from: PHONE }));
});

import { describe, expect, it } from 'vitest';
import { chatHash, jidHash } from '../../../router/src/core/chat-id.ts';

const ana = '5493777000001@s.whatsapp.net';

describe('chatHash', () => {
  it('is the same for the same stored chat, and eight hexadecimal digits', () => {
    expect(chatHash('17')).toBe(chatHash('17'));
    expect(chatHash('17')).toMatch(/^[0-9a-f]{8}$/);
  });

  it('differs between chats', () => {
    expect(new Set(Array.from({ length: 1_000 }, (_, id) => chatHash(`${id}`))).size).toBe(1_000);
  });
});

describe('jidHash', () => {
  it('is the same for the same address, and eight hexadecimal digits', () => {
    expect(jidHash('a', ana)).toBe(jidHash('a', ana));
    expect(jidHash('a', ana)).toMatch(/^[0-9a-f]{8}$/);
  });

  it('differs between addresses and between accounts', () => {
    const hashes = ['a', 'b'].flatMap((account) =>
      Array.from({ length: 500 }, (_, index) => jidHash(account, `54937770${index}@s.whatsapp.net`)),
    );
    expect(new Set(hashes).size).toBe(1_000);
  });
});

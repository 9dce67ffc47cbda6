import { describe, expect, it } from 'vitest';
import { chatHash } from '../../../router/src/core/chat-hash.ts';

const ana = '5493777000001@s.whatsapp.net';

describe('chatHash', () => {
  it('is the same for the same chat, and eight hexadecimal digits', () => {
    expect(chatHash('a', ana)).toBe(chatHash('a', ana));
    expect(chatHash('a', ana)).toMatch(/^[0-9a-f]{8}$/);
  });

  it('differs between chats and between accounts', () => {
    const hashes = ['a', 'b'].flatMap((account) =>
      Array.from({ length: 500 }, (_, index) => chatHash(account, `54937770${index}@s.whatsapp.net`)),
    );
    expect(new Set(hashes).size).toBe(1_000);
  });
});

import { describe, expect, it } from 'vitest';
import { LANGUAGES, languageOf, textOf } from '../../../../router/src/core/policies/texts.ts';

describe('languageOf', () => {
  it.each([
    ['Hello, how are you?', '5491122334455', 'en'],
    ['¿Dónde está el pedido?', '4930123456', 'es'],
    ['Olá, você pode ajudar?', undefined, 'pt'],
    ['Wie ist das Wetter?', '34600000000', 'de'],
    ['Bonjour, comment ça va ?', undefined, 'fr'],
    ['ok', '5511999999999', 'pt'],
    ['', '5493777239922', 'es'],
    ['/help', '33612345678', 'fr'],
    ['👍', '14155550100', 'en'],
    ['', undefined, 'en'],
  ] as const)('of %j from %s is %s', (text, phone, language) => {
    expect(languageOf(text, phone)).toBe(language);
  });
});

describe('textOf', () => {
  it('has every text in every language, with its values', () => {
    for (const language of LANGUAGES) {
      expect(textOf('quota', language, { minutes: 7 })).toMatch(/\b7\b/);
      expect(textOf('failed', language)).not.toMatch(/[{}]/);
    }
  });
});

import { describe, expect, it } from 'vitest';
import { CHAT_LANGUAGES, type TextName } from '../../../../router/src/core/policies/languages.ts';
import { LANGUAGES, languageOf, textOf } from '../../../../router/src/core/policies/texts.ts';

const NAMES = Object.keys(CHAT_LANGUAGES.en.texts) as TextName[];

describe('languageOf', () => {
  it.each([
    ['Hello, how are you?', '5491122334455', 'en'],
    ['¿Dónde está el pedido?', '4930123456', 'es'],
    ['Olá, você pode ajudar?', undefined, 'pt-BR'],
    ['Olá, pode ajudar? Obrigado', '351912345678', 'pt'],
    ['Olá, você pode ajudar?', '34600000000', 'pt-BR'],
    ['Buongiorno, vorrei una pizza', undefined, 'it'],
    ['Merhaba, nasılsın?', undefined, 'tr'],
    ['Halo kak, berapa harga ini?', undefined, 'id'],
    ['आप कैसे हैं?', undefined, 'hi'],
    ['مرحبا، كيف حالك؟', undefined, 'ar'],
    ['Здравствуйте, сколько стоит?', '14155550100', 'ru'],
    ['こんにちは、いくらですか', undefined, 'ja'],
    ['Привіт, як справи? Дякую', '380501234567', 'en'],
    ['سلام، من خوبم', '989123456789', 'en'],
    ['', '819012345678', 'ja'],
    ['', '393331234567', 'it'],
    ['', '77011234567', 'ru'],
    ['che, ¿cómo estás?', undefined, 'es'],
    ['How is the pizza? come here please', undefined, 'en'],
    ['Wie ist das Wetter?', '34600000000', 'de'],
    ['Bonjour, comment ça va ?', undefined, 'fr'],
    ['ok', '5511999999999', 'pt-BR'],
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
      expect(textOf('quota', language, { minutes: 7 })).toContain('7');
      expect(textOf('failed', language)).not.toMatch(/[{}]/);
      for (const name of NAMES) {
        const valuesOf = (text: string) => (text.match(/\{\w+\}|#\w+/g) ?? []).sort();
        expect(valuesOf(CHAT_LANGUAGES[language].texts[name]), `${language} ${name}`).toEqual(
          valuesOf(CHAT_LANGUAGES.en.texts[name]),
        );
      }
    }
  });
});

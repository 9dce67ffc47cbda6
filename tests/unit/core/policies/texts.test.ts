import { describe, expect, it } from 'vitest';
import {
  FORMS_OF_ADDRESS,
  LANGUAGES,
  languageOf,
  TEXT_NAMES,
  textOf,
  unknownPlaceholder,
} from '../../../../router/src/core/policies/texts.ts';

const USUAL = { formOfAddress: 'usual', own: {} } as const;

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
  it.each(FORMS_OF_ADDRESS)('has every text in every language, with its values: %s', (formOfAddress) => {
    const values = {
      name: 'N1',
      address: 'A1',
      text: 'T1',
      id: 17,
      draft: 'D1',
      since: 'S1',
      minutes: 7,
      task: 'K1',
    };
    const valuesIn = (text: string) => (text.match(/N1|A1|T1|D1|S1|K1|17|7|#\w+|[{}]/g) ?? []).sort();
    for (const language of LANGUAGES) {
      for (const name of TEXT_NAMES) {
        const text = textOf(name, language, { formOfAddress, own: {} }, values);
        expect(valuesIn(text), `${language} ${name}`).toEqual(valuesIn(textOf(name, 'en', USUAL, values)));
      }
    }
  });

  it.each([
    ['es', 'usual', 'Puedes escribir:'],
    ['es', 'informal', 'Puedes escribir:'],
    ['es', 'formal', 'Puede escribir:'],
    ['de', 'formal', 'Sie können schreiben:'],
    ['fr', 'usual', 'Vous pouvez écrire :'],
    ['fr', 'informal', 'Tu peux écrire :'],
    ['id', 'informal', 'Kamu bisa menulis:'],
    ['en', 'formal', 'You can write:'],
  ] as const)('addresses people in %s as asked: %s', (language, formOfAddress, text) => {
    expect(textOf('help', language, { formOfAddress, own: {} })).toBe(text);
  });

  it("is the operator's own text in that language only, with its values", () => {
    const own = { 'es.quota': 'Espere {minutes} min.' };
    const texts = { formOfAddress: 'formal', own } as const;
    expect(textOf('quota', 'es', texts, { minutes: 7 })).toBe('Espere 7 min.');
    expect(textOf('quota', 'de', texts, { minutes: 7 })).toContain('Bitte schreiben Sie in 7 Minuten');
    expect(textOf('failed', 'es', texts)).toContain('Inténtelo');
  });
});

describe('textOf in Arabic', () => {
  const ISOLATED = /\u200f\u2068([^\u2069]*)\u2069/g;
  it('isolates commands, numbers and names, and no line that is a draft', () => {
    const values = { name: 'Ana', address: '+5493777239922', text: 'hi', id: 17, draft: 'Of course.' };
    const isolated = (name: 'ownerAsk' | 'ownerDraft') =>
      [...textOf(name, 'ar', USUAL, values).matchAll(ISOLATED)].map(([, inner]) => inner);
    expect(isolated('ownerAsk')).toEqual(['Ana', '+5493777239922', 'hi', '#approve 17', '#refuse 17']);
    expect(isolated('ownerDraft').slice(2)).toEqual(['hi', '#send 17', '#edit 17', '#drop 17']);
    expect(textOf('ownerDraft', 'ar', USUAL, values)).toContain('\n\nOf course.\n\n');
    expect(textOf('ownerAsk', 'en', USUAL, values)).not.toMatch(ISOLATED);
  });
});

describe('unknownPlaceholder', () => {
  it.each([
    ['Wait {minutes} minutes.', undefined],
    ['Wait.', undefined],
    ['Wait {minutes}, {name}.', '{name}'],
  ])('of %j is %s', (text, placeholder) => {
    expect(unknownPlaceholder('quota', text)).toBe(placeholder);
  });
});

import { supportedLanguages, toISO2 } from 'tinyld';
import { describe, expect, it } from 'vitest';
import { LANGUAGE_CODES } from '../../../../router/src/core/routing/when-fields.ts';
import { TinyldLanguageDetector } from '../../../../router/src/infra/matching/tinyld-language-detector.ts';

const detector = new TinyldLanguageDetector();

describe('TinyldLanguageDetector', () => {
  it.each([
    ['en', 'what time do you open?'],
    ['es', 'necesito un turno para mañana'],
    ['pt', 'pode me ajudar por favor?'],
    ['de', 'ich möchte zwei Pizzen bestellen'],
    ['fr', 'à quelle heure ouvrez-vous ?'],
    ['it', 'mi potete aiutare per favore?'],
    ['ru', 'во сколько вы открываетесь?'],
    ['zh', '你们几点开门？'],
    ['es', 'hola'],
    ['en', 'Hello!'],
    ['de', 'danke'],
    ['es', 'quiero pedir esto https://example.com/the/menu/of/today @5493777239922'],
  ])('recognizes %s in %j', async (language, text) => {
    expect(await detector.languageOf(text)).toBe(language);
  });

  it.each(['', '12345', '👍', 'https://example.com', '?!', 'ok'])('cannot tell it of %j', async (text) => {
    expect(await detector.languageOf(text)).toBeUndefined();
  });

  it('recognizes every language that a route can name', () => {
    const known = new Set(supportedLanguages.map((language) => toISO2(language)));
    expect([...LANGUAGE_CODES].filter((code) => !known.has(code))).toEqual([]);
  });

  it('reads the beginning of a long text', async () => {
    const text = `${'¿a qué hora abren mañana? '.repeat(40)}${'what time do you open? '.repeat(4_000)}`;
    expect(await detector.languageOf(text)).toBe('es');
  });
});

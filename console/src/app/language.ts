import { useEffect, useState } from 'preact/hooks';
import { Stored, useStored } from './stored.ts';

export const LANGUAGES = ['en', 'es'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The language of the console: chosen, else that of the browser. */
export const language = new Stored<Language>(
  'language',
  LANGUAGES,
  navigator.language.startsWith('es') ? 'es' : 'en',
);

/** The same shape with texts of another language. */
type Translated<Texts> = {
  [Key in keyof Texts]: Texts[Key] extends string
    ? string
    : Texts[Key] extends (...args: infer Args) => string
      ? (...args: Args) => string
      : Translated<Texts[Key]>;
};

/** A hook that returns the texts of a page or component in the chosen language. A missing text is a type error. */
export function texts<const Texts extends object>(en: Texts, es: Translated<Texts>): () => Translated<Texts> {
  const all: Record<Language, Translated<Texts>> = { en: en as Translated<Texts>, es };
  return () => all[useStored(language)];
}

/**
 * A hook that returns a module of Spanish texts, which is loaded when the console is in Spanish; undefined in English, until it is
 * there, and when it cannot be loaded: the texts stay in English.
 * @param load imports it, always the same
 */
export function useSpanish<Module>(load: () => Promise<Module>): Module | undefined {
  const isSpanish = useStored(language) === 'es';
  const [loaded, setLoaded] = useState<Module>();
  useEffect(() => {
    let isGone = false;
    const show = (texts: Module) => {
      if (!isGone) setLoaded(texts);
    };
    if (isSpanish) load().then(show, () => undefined);
    return () => {
      isGone = true;
    };
  }, [isSpanish, load]);
  return isSpanish ? loaded : undefined;
}

import { useTexts } from '../app/language.ts';
import type { Phrase } from './en.ts';
import { useTranslation } from './use-translation.ts';

/**
 * A sentence of the service. Without a translation, what its code means stands before the English sentence.
 * @param props.phrase undefined: an earlier version stored the sentence
 */
export function ServiceText({
  text,
  phrase,
  code,
}: {
  text: string;
  phrase: Phrase | undefined;
  code?: string | undefined;
}) {
  const { sentence, meaning } = useTranslation();
  const isEnglish = useTexts('service') === undefined;
  const translated = sentence(phrase);
  if (isEnglish || translated !== undefined) return <span>{translated ?? text}</span>;
  const means = code === undefined ? undefined : meaning(code);
  return (
    <>
      {means !== undefined && `${means} `}
      <span lang="en">{text}</span>
    </>
  );
}

/** A reason or error code, with what it means where the console is not in English. */
export function Reason({ code }: { code: string }) {
  const means = useTranslation().meaning(code);
  return (
    <>
      <code>{code}</code>
      {means !== undefined && ` ${means}`}
    </>
  );
}

import { baseUrl } from '../api/base-url.ts';
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

/** Where the documentation explains a reason or error code. A reason may name a kind after a colon. */
export function reasonHref(code: string): string {
  return `${baseUrl}docs/troubleshooting.md#${code.split(':')[0]?.toLowerCase()}`;
}

/** A reason or error code that leads to its explanation, with what it means where the console is not in English. */
export function Reason({ code }: { code: string }) {
  const means = useTranslation().meaning(code);
  return (
    <>
      <a href={reasonHref(code)} target="_blank" rel="noreferrer">
        <code>{code}</code>
      </a>
      {means !== undefined && ` ${means}`}
    </>
  );
}

import { useTranslation } from './use-translation.ts';

/** A sentence of the service. Without a translation, what its code means stands before the English sentence. */
export function ServiceText({ text, code }: { text: string; code?: string }) {
  const { sentence, languageOf, meaning } = useTranslation();
  const lang = languageOf(text);
  const means = lang === undefined || code === undefined ? undefined : meaning(code);
  return (
    <>
      {means !== undefined && `${means} `}
      <span lang={lang}>{sentence(text)}</span>
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

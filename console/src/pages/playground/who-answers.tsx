import { useEffect, useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import type { Phrase } from '../../translation/en.ts';
import { ServiceText } from '../../translation/service-text.tsx';
import { ACCOUNT_TAG, type PlayChat } from './people.ts';
import { useText } from './texts.ts';

/** How long nothing is typed before the service is asked. */
const PAUSE_MS = 300;

/** Says which route the text would take, while it is typed. */
export function WhoAnswers(props: {
  chat: PlayChat;
  as: string;
  text: string;
  isMention: boolean;
  /** The text quotes a message of the account. */
  quotesUs: boolean;
}) {
  const { chat, as, text, isMention, quotesUs } = props;
  const t = useText();
  const [said, setSaid] = useState<{ sentence: string; phrase?: Phrase }>();
  useEffect(() => {
    if (text.trim() === '') return setSaid(undefined);
    const gone = new AbortController();
    const timer = setTimeout(() => {
      const from = chat.people.find(({ name }) => name === as)?.phone;
      const isGroup = chat.kind === 'group';
      const body = {
        ...{ accountId: 'playground', channelId: chat.channelId },
        text: isGroup && isMention ? `${ACCOUNT_TAG} ${text}` : text,
        ...(isGroup && from !== undefined && { from }),
        ...(isGroup && { isMentioned: isMention, quotesUs }),
      };
      call('POST /api/routes/explain', { body, signal: gone.signal }).then(
        ({ data }) => setSaid(data),
        () => setSaid(undefined),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [chat, as, text, isMention, quotesUs]);
  if (said === undefined) return null;
  return (
    <p class="hint" role="status">
      {t('whoAnswers')}: <ServiceText text={said.sentence} phrase={said.phrase} />
    </p>
  );
}

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { urlOf } from '../api/call.ts';
import { Dialog } from '../components/dialog.tsx';
import { ServiceText } from '../translation/service-text.tsx';
import { useTranslation } from '../translation/use-translation.ts';
import { CardView } from './card-view.tsx';
import type { Bubble, Tick } from './conversation.ts';
import { kindKey, useText } from './texts.ts';
import { useTimes } from './times.ts';
import { type Span, spansOf } from './whatsapp-marks.ts';

const TICKS: Record<Tick, string> = {
  draft: '✎',
  waiting: '🕓',
  sent: '✓',
  delivered: '✓✓',
  read: '✓✓',
  failed: '⚠',
};

const WRITERS = {
  notice: 'noticeBy',
  agent: 'answeredBy',
  program: 'program',
  operator: 'operator',
  owner: 'owner',
} as const;

const TAGS = { bold: 'strong', italic: 'em', strike: 's' } as const;

/** One message of a conversation. */
export function BubbleView({
  bubble,
  isOpen,
  onTrace,
  onPicture,
  actions,
  end,
}: {
  bubble: Bubble;
  isOpen: boolean;
  onTrace?(): void;
  /** Shows its picture large. */
  onPicture(): void;
  /** What a person can do with it. */
  actions?: ComponentChildren;
  end?: ComponentChildren;
}) {
  const t = useText();
  const { clock } = useTimes();
  const { meaning, word } = useTranslation();
  const writerOf = useWriter();
  if (bubble.kind === 'notice') return <p class="notice-line">{bubble.text || t(kindKey(bubble.content))}</p>;
  const { side, writer, name, tick, isEdited, isDeleted, reactions, reason, error, phrase, turn } = bubble;
  return (
    <div class={`bubble ${side}${isDeleted ? ' deleted' : ''}`} data-id={bubble.id}>
      {writer === 'person' && name && <span class="bubble-name">{name}</span>}
      {bubble.quote && <blockquote>{bubble.quote}</blockquote>}
      <Content bubble={bubble} onPicture={onPicture} />
      {bubble.text && (
        <span class="bubble-text">
          <Marked spans={spansOf(bubble.text)} />
        </span>
      )}
      {error && (
        <span class="bubble-error">
          <ServiceText text={error} phrase={phrase} code={reason} />
        </span>
      )}
      <span class="bubble-meta">
        {writer !== 'person' && <span>{writerOf(bubble)}</span>}
        {isEdited && <span>{t('edited')}</span>}
        {isDeleted && <span>{t('deleted')}</span>}
        {turn && reason && !isDeleted && !error && <span>{meaning(reason) ?? word(reason)}</span>}
        <time dateTime={bubble.at}>{clock(bubble.at)}</time>
        {tick && <TickView tick={tick} />}
        {turn && onTrace && (
          <button type="button" class="link" aria-pressed={isOpen} onClick={onTrace}>
            {t('trace')}
          </button>
        )}
      </span>
      {actions && <span class="bubble-actions">{actions}</span>}
      {end}
      {reactions.length > 0 && (
        <span class="reactions" role="img" aria-label={t('reactions', { emojis: reactions.join(' ') })}>
          {reactions.join(' ')}
        </span>
      )}
    </div>
  );
}

/** A function that says who wrote a bubble; undefined: the person of the chat. */
export function useWriter(): (bubble: Bubble) => string | undefined {
  const t = useText();
  return ({ writer, name }) => {
    if (writer === 'person') return name;
    return writer === 'agent' && name ? t('agentOf', { name }) : t(WRITERS[writer]);
  };
}

/** The sign of how far a message came. */
export function TickView({ tick }: { tick: Tick }) {
  const t = useText();
  const name = t(`tick.${tick}`);
  return (
    <span class={`tick ${tick}`} role="img" aria-label={name} title={name}>
      {TICKS[tick]}
    </span>
  );
}

/** A text as the phone shows it. */
function Marked({ spans }: { spans: readonly Span[] }) {
  return (
    <>
      {spans.map((span, index) => {
        if (span.kind === 'text') return span.text;
        if (span.kind === 'code') return <code key={index}>{span.text}</code>;
        if (span.kind === 'block') return <pre key={index}>{span.text}</pre>;
        const Tag = TAGS[span.kind];
        return (
          <Tag key={index}>
            <Marked spans={span.spans} />
          </Tag>
        );
      })}
    </>
  );
}

/** What a message has besides its text. */
function Content({ bubble, onPicture }: { bubble: Bubble; onPicture(): void }) {
  const t = useText();
  const { file, card, content, isViewOnce } = bubble;
  if (file) return <FileView bubble={bubble} onPicture={onPicture} />;
  if (card) return <CardView card={card} />;
  if (content === 'text') return null;
  return (
    <span class="bubble-kind">
      {t(kindKey(content))}
      {isViewOnce && ` · ${t('viewOnce')}`}
    </span>
  );
}

function FileView({ bubble, onPicture }: { bubble: Bubble; onPicture(): void }) {
  const t = useText();
  const { file, hasFile, text } = bubble;
  if (!file) return null;
  const url = fileUrlOf(bubble);
  const name = file.fileName ?? t(kindKey(file.kind));
  const size = file.sizeBytes === undefined ? '' : ` · ${bytes(file.sizeBytes)}`;
  if (!hasFile) {
    return (
      <span class="bubble-file">
        {name}
        {size} · {t('fileGone')}
      </span>
    );
  }
  return (
    <span class="bubble-file">
      <Player kind={file.kind} url={url} name={text || name} onPicture={onPicture} />
      <span>
        {name}
        {size}{' '}
        <a href={url} download={file.fileName ?? ''}>
          {t('download')}
        </a>
      </span>
    </span>
  );
}

/** A picture, or a player that loads nothing before it plays; nothing for a document. */
function Player(props: { kind: string; url: string; name: string; onPicture(): void }) {
  const { kind, url, name, onPicture } = props;
  switch (kind) {
    case 'image':
    case 'sticker':
      return <Picture url={url} name={name} isSmall={kind === 'sticker'} onOpen={onPicture} />;
    case 'video':
      // biome-ignore lint/a11y/useMediaCaption: files of people have no captions
      return <video src={url} controls preload="none" aria-label={name} />;
    case 'audio':
    case 'voice':
      // biome-ignore lint/a11y/useMediaCaption: sounds of people have no captions
      return <audio src={url} controls preload="none" aria-label={name} />;
    default:
      return null;
  }
}

/** How large pictures were when they were last in the document, by their URL. */
export const PictureSizes = createContext(new Map<string, { width: number; height: number }>());

/** A picture, loaded when it comes near the screen. Its place is kept until then. */
function Picture(props: { url: string; name: string; isSmall: boolean; onOpen(): void }) {
  const { url, name, isSmall, onOpen } = props;
  const t = useText();
  const sizes = useContext(PictureSizes);
  const [state, setState] = useState<'loading' | 'shown' | 'failed'>('loading');
  const before = state === 'loading' ? sizes.get(url) : undefined;
  if (state === 'failed') return <span class="hint">{t('pictureFailed')}</span>;
  return (
    <button type="button" class="picture-button" aria-label={t('openPicture', { name })} onClick={onOpen}>
      <img
        class={`bubble-picture ${state}${isSmall ? ' small' : ''}`}
        {...(before && { style: { width: `${before.width}px`, height: `${before.height}px` } })}
        src={url}
        alt={name}
        loading="lazy"
        decoding="async"
        onLoad={({ currentTarget }) => {
          setState('shown');
          requestAnimationFrame(() => {
            const { width, height } = currentTarget.getBoundingClientRect();
            if (width > 0) sizes.set(url, { width, height });
          });
        }}
        onError={() => setState('failed')}
      />
    </button>
  );
}

/** The picture of a bubble, as large as the screen allows, to look at and to save. */
export function PictureDialog({ bubble, onClose }: { bubble: Bubble; onClose(): void }) {
  const t = useText();
  const { file, text } = bubble;
  if (!file) return null;
  const url = fileUrlOf(bubble);
  const name = file.fileName ?? t(kindKey(file.kind));
  return (
    <Dialog title={name} onClose={onClose}>
      <img class="large-picture" src={url} alt={text || name} />
      {text && <p class="picture-caption">{text}</p>}
      <div class="actions end">
        <a class="button" href={url} download={file.fileName ?? ''}>
          {t('download')}
        </a>
      </div>
    </Dialog>
  );
}

function fileUrlOf({ fileUrl, id }: Bubble): string {
  return fileUrl ?? urlOf('GET /api/messages/{id}/file', { path: { id } });
}

function bytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  return size < 1_000_000 ? `${Math.round(size / 1_000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

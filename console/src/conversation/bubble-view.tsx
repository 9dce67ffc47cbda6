import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { urlOf } from '../api/call.ts';
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
  actions,
}: {
  bubble: Bubble;
  isOpen: boolean;
  onTrace?(): void;
  /** What a person can do with it. */
  actions?: ComponentChildren;
}) {
  const t = useText();
  const { clock, duration } = useTimes();
  if (bubble.kind === 'notice') return <p class="notice-line">{bubble.text || t(kindKey(bubble.content))}</p>;
  const { side, writer, tick, isEdited, isDeleted, reactions, reason, error, turn } = bubble;
  return (
    <div class={`bubble ${side}${isDeleted ? ' deleted' : ''}`} data-id={bubble.id}>
      {bubble.name && <span class="bubble-name">{bubble.name}</span>}
      {bubble.quote && <blockquote>{bubble.quote}</blockquote>}
      {bubble.file ? (
        <FileView bubble={bubble} />
      ) : (
        bubble.content !== 'text' && <span class="bubble-kind">{t(kindKey(bubble.content))}</span>
      )}
      {bubble.text && (
        <span class="bubble-text">
          <Marked spans={spansOf(bubble.text)} />
        </span>
      )}
      {error && <span class="bubble-error">{error}</span>}
      <span class="bubble-meta">
        {writer !== 'person' && <span>{t(WRITERS[writer])}</span>}
        {isEdited && <span>{t('edited')}</span>}
        {isDeleted && <span>{t('deleted')}</span>}
        {turn && reason && !isDeleted && <span>{reason}</span>}
        {turn?.agentMs !== undefined && <span>{duration(turn.agentMs)}</span>}
        <time dateTime={bubble.at}>{clock(bubble.at)}</time>
        {tick && (
          <span class={`tick ${tick}`} role="img" aria-label={t(`tick.${tick}`)} title={t(`tick.${tick}`)}>
            {TICKS[tick]}
          </span>
        )}
        {turn && onTrace && (
          <button type="button" class="link" aria-pressed={isOpen} onClick={onTrace}>
            {t('trace')}
          </button>
        )}
        {actions}
      </span>
      {reactions.length > 0 && (
        <span class="reactions" role="img" aria-label={t('reactions', { emojis: reactions.join(' ') })}>
          {reactions.join(' ')}
        </span>
      )}
    </div>
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

function FileView({ bubble }: { bubble: Bubble }) {
  const t = useText();
  const [isShown, setIsShown] = useState(false);
  const { file, hasFile, id } = bubble;
  if (!file) return null;
  const url = bubble.fileUrl ?? urlOf('GET /api/messages/{id}/file', { path: { id } });
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
  const canShow = ['image', 'sticker', 'video', 'audio', 'voice'].includes(file.kind);
  return (
    <span class="bubble-file">
      {isShown && (file.kind === 'image' || file.kind === 'sticker') && (
        <img src={url} alt={bubble.text || name} />
      )}
      {/* biome-ignore lint/a11y/useMediaCaption: files of people have no captions */}
      {isShown && file.kind === 'video' && <video src={url} controls aria-label={name} />}
      {isShown && (file.kind === 'audio' || file.kind === 'voice') && <Sound url={url} name={name} />}
      <span>
        {name}
        {size}{' '}
        {canShow && !isShown && (
          <button type="button" class="link" onClick={() => setIsShown(true)}>
            {t('showFile')}
          </button>
        )}{' '}
        <a href={url} download={file.fileName ?? ''}>
          {t('download')}
        </a>
      </span>
    </span>
  );
}

function Sound({ url, name }: { url: string; name: string }) {
  // biome-ignore lint/a11y/useMediaCaption: sounds of people have no captions
  return <audio src={url} controls aria-label={name} />;
}

function bytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  return size < 1_000_000 ? `${Math.round(size / 1_000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

import { useEffect, useRef, useState } from 'preact/hooks';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { MAX_LINES, useLog } from './use-log.ts';

/**
 * What the program of an agent writes, as it writes it.
 * @param agentState the log is read again when it changes: that of an agent that starts has ended before its program writes
 */
export function AgentLog({ id, agentState }: { id: string; agentState: string }) {
  const text = useTexts('agents');
  const [isPaused, setPaused] = useState(false);
  const [wanted, setWanted] = useState('');
  const [round, setRound] = useState(0);
  const { lines, state } = useLog(id, `${agentState} ${round}`, isPaused);
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const shown = wanted === '' ? lines : lines.filter((line) => fits(line.text, wanted));
  useEffect(() => {
    // Who has scrolled up reads; who is at the end follows.
    if (isAtEnd.current) box.current?.scrollTo(0, box.current.scrollHeight);
  }, [shown.length, lines.at(-1)?.number]);
  const hint = { live: text.logsFollow, ended: text.logsEnded, lost: text.logsLost }[state];
  return (
    <Card
      title={text.logs}
      actions={<Badge mood={state === 'live' ? 'good' : state === 'ended' ? 'quiet' : 'busy'}>{hint}</Badge>}
    >
      <div class="stack">
        <div class="log-tools">
          <TextField type="search" label={text.find} value={wanted} onInput={setWanted} />
          <Button isPressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? text.goOn : text.pause}
          </Button>
          {state === 'ended' && <Button onClick={() => setRound(round + 1)}>{text.again}</Button>}
        </div>
        <div
          ref={box}
          class="log-lines"
          role="log"
          aria-label={text.logs}
          aria-live="off"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: so that the keyboard can scroll it
          tabIndex={0}
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
            isAtEnd.current = scrollTop + clientHeight > scrollHeight - 8;
          }}
        >
          {shown.length === 0 && <p class="faint">{text.logsNone}</p>}
          {shown.map(({ number, stream, text: line }) => (
            <p key={number} class={stream}>
              {line}
            </p>
          ))}
        </div>
        {lines.length >= MAX_LINES && <p class="hint">{text.bounded(String(MAX_LINES))}</p>}
      </div>
    </Card>
  );
}

function fits(line: string, wanted: string): boolean {
  return line.toLowerCase().includes(wanted.toLowerCase());
}

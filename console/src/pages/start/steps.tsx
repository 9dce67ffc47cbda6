import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Icon } from '../../components/icon.tsx';
import { Card } from '../../components/page.tsx';

/** What to do until the first answered message. */
export function Steps(props: { isPaired: boolean; hasRoute: boolean }) {
  const text = useTexts('start');
  const steps = [
    { path: '/accounts', title: text.pair, hint: text.pairHint, isDone: props.isPaired },
    { path: '/routes', title: text.agent, hint: text.agentHint, isDone: props.hasRoute },
    { path: '/chats', title: text.hello, hint: text.helloHint, isDone: false },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <Card title={text.steps}>
      <ol class="steps">
        {steps.map(({ path, title, hint, isDone }, index) => (
          <li key={path} class={isDone ? 'done' : ''} aria-current={index === next ? 'step' : undefined}>
            <span class="step-mark" aria-hidden="true">
              {isDone ? <Icon name="check" /> : index + 1}
            </span>
            <div>
              <a href={hrefOf(path)}>{title}</a>
              <span class="hidden"> ({isDone ? text.done : text.open})</span>
              <p class="faint">{hint}</p>
            </div>
          </li>
        ))}
      </ol>
      <p class="without-phone">
        {text.withoutPhone} <a href={hrefOf('/playground')}>{text.playground}</a>
      </p>
    </Card>
  );
}

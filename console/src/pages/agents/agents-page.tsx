import './agents.css';
import { useMay } from '../../app/caller.tsx';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { PageFrame } from '../../components/page.tsx';
import type { PageProps } from '../../pages.ts';
import { Cards } from './cards.tsx';
import { HostedAgent } from './hosted-agent.tsx';
import { HostedAgents } from './hosted-agents.tsx';
import { Tasks } from './tasks.tsx';

const PARTS = ['hosted', 'cards', 'tasks'] as const;

/** Agents: those that wa2ai runs, the cards of those behind routes, and their tasks. */
export function AgentsPage({ parts: [opened, id] }: PageProps) {
  const text = useTexts('agents');
  const may = useMay();
  const shown = PARTS.filter((part) => part !== 'hosted' || may('agents:manage'));
  const part = shown.find((each) => each === opened) ?? shown[0];
  if (part === 'hosted' && id !== undefined) return <HostedAgent key={id} id={id} />;
  return (
    <PageFrame title={text.title} lead={text.leads[part ?? 'cards']}>
      <nav class="parts" aria-label={text.parts}>
        {shown.map((each) => (
          <a key={each} href={hrefOf(`/agents/${each}`)} aria-current={each === part ? 'page' : undefined}>
            {text[each]}
          </a>
        ))}
      </nav>
      {part === 'hosted' && <HostedAgents />}
      {part === 'cards' && <Cards />}
      {part === 'tasks' && <Tasks />}
    </PageFrame>
  );
}

import './settings.css';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { PageFrame } from '../../components/page.tsx';
import type { PageProps } from '../../pages.ts';
import { Environment } from './environment.tsx';
import { FORMS, type FormName } from './forms.ts';
import { Nodes } from './nodes.tsx';
import { SettingsForm } from './settings-form.tsx';

const TABS = [...FORMS, 'environment', 'nodes'] as const;
type Tab = (typeof TABS)[number];

/** Every setting: those of the environment to read, those that the API can change to edit. */
export function SettingsPage({ parts: [part], query }: PageProps) {
  const text = useTexts('settings');
  const open: Tab = TABS.find((each) => each === part) ?? TABS[0];
  return (
    <PageFrame title={text.title} lead={text.leads[open]}>
      <nav class="tabs" aria-label={text.title}>
        {TABS.map((each) => (
          <a
            key={each}
            href={hrefOf(each === TABS[0] ? '/settings' : `/settings/${each}`)}
            aria-current={each === open ? 'page' : undefined}
          >
            {text.tabs[each]}
          </a>
        ))}
      </nav>
      {open === 'environment' && <Environment key={query.get('find')} wanted={query.get('find') ?? ''} />}
      {open === 'nodes' && <Nodes />}
      {isForm(open) && <SettingsForm key={open} name={open} />}
    </PageFrame>
  );
}

function isForm(tab: Tab): tab is FormName {
  return (FORMS as readonly string[]).includes(tab);
}

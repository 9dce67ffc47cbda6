import { useQuery } from '../../api/use-query.ts';
import { PageFrame } from '../../components/page.tsx';
import { ErrorState, Loading } from '../../components/states.tsx';
import './start.css';
import { useTexts } from '../../app/language.ts';
import { useHasMessages, useNeeds } from '../../app/needs.tsx';
import { Health } from './health.tsx';
import { NeedsList } from './needs-list.tsx';
import { Steps } from './steps.tsx';

/** What to do until the first answered message; from the first message on, what needs the person, and how the service does. */
export function StartPage() {
  const text = useTexts('start');
  const { isBegun, problem } = useNeeds();
  const accounts = useQuery('GET /api/accounts', {}, ['account']);
  const routes = useQuery('GET /api/routes', { query: { limit: 500 } }, ['route']);
  const { has: isAnswered } = useHasMessages({ state: 'answered' }, 'turn');
  return (
    <PageFrame title={text.title}>
      {accounts.problem && <ErrorState problem={accounts.problem} retry={accounts.reload} />}
      {isBegun === undefined && (problem ? <ErrorState problem={problem} /> : <Loading />)}
      {isBegun !== undefined && isAnswered === false && accounts.data && routes.data && (
        <Steps
          isPaired={accounts.data.data.some((each) => each.isConnected && each.provider === undefined)}
          hasRoute={routes.data.data.length > 0}
        />
      )}
      {isBegun && <NeedsList />}
      {isBegun && <Health accounts={accounts.data?.data} routes={routes.data?.data.length} />}
    </PageFrame>
  );
}

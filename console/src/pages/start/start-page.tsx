import { useQuery } from '../../api/use-query.ts';
import { PageFrame } from '../../components/page.tsx';
import { ErrorState } from '../../components/states.tsx';
import './start.css';
import { useTexts } from '../../app/language.ts';
import { Health } from './health.tsx';
import { Steps } from './steps.tsx';

/** What to do until the first answered message, then the health of the service. */
export function StartPage() {
  const text = useTexts('start');
  const accounts = useQuery('GET /api/accounts', {}, ['account']);
  const routes = useQuery('GET /api/routes', { query: { limit: 500 } }, ['route']);
  const answered = useQuery('GET /api/messages', { query: { limit: 1, state: 'answered' } }, ['turn']);
  return (
    <PageFrame title={text.title}>
      {accounts.problem && <ErrorState problem={accounts.problem} retry={accounts.reload} />}
      {accounts.data && routes.data && answered.data && (
        <Steps
          isPaired={accounts.data.data.some((each) => each.isConnected && each.provider === undefined)}
          hasRoute={routes.data.data.length > 0}
          isAnswered={answered.data.data.length > 0}
        />
      )}
      <Health accounts={accounts.data?.data} routes={routes.data?.data.length} />
    </PageFrame>
  );
}

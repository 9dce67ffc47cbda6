import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { texts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';

const useText = texts(
  { accounts: 'Accounts connected', nodes: 'Nodes', letters: 'Dead letters', routes: 'Routes' },
  { accounts: 'Cuentas conectadas', nodes: 'Nodos', letters: 'Mensajes fallidos', routes: 'Rutas' },
);

/** Numbers about the service; each is a link to where it comes from. */
export function Health({ accounts }: { accounts: Array<Schemas['Account']> }) {
  const text = useText();
  const nodes = useQuery('GET /api/nodes', {}, ['account']);
  const letters = useQuery('GET /api/dead-letters', { query: { limit: 100 } }, ['dead-letter']);
  const routes = useQuery('GET /api/routes', {}, ['route']);
  const connected = accounts.filter(({ isConnected }) => isConnected).length;
  const waiting = letters.data?.data.length;
  const figures = [
    {
      path: '/accounts',
      label: text.accounts,
      value: `${connected} / ${accounts.length}`,
      isBad: connected < accounts.length,
    },
    { path: '/routes', label: text.routes, value: routes.data?.data.length },
    { path: '/settings', label: text.nodes, value: nodes.data?.data.length },
    {
      path: '/dead-letters',
      label: text.letters,
      value: letters.data?.next === undefined ? waiting : `${waiting}+`,
      isBad: (waiting ?? 0) > 0,
    },
  ];
  return (
    <ul class="figures">
      {figures.map(({ path, label, value, isBad }) => (
        <li key={path}>
          <a class="card figure" href={hrefOf(path)}>
            <strong class={isBad ? 'attention' : ''}>{value ?? '–'}</strong>
            <span>{label}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

import type { Schemas } from '../../api/call.ts';
import { useTexts } from '../../app/language.ts';
import { Badge } from '../../components/page.tsx';
import { useFieldName } from './use-field-name.ts';

const MOODS = { created: 'good', changed: 'busy', deleted: 'bad' } as const;

/** What changed of routes, field by field. */
export function RouteChanges({ changes }: { changes: readonly Schemas['RouteChange'][] }) {
  const text = useTexts('routes');
  const nameOf = useFieldName();
  const shown = (field: string, value: unknown) => {
    if (typeof value === 'boolean') return value ? text.yes : text.no;
    if (field === 'channelId' && value === '*') return text.everyChat;
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  if (changes.length === 0) return <p>{text.nothingChanges}</p>;
  return (
    <ul class="route-changes">
      {changes.map(({ change, routeId, name, channelId, fields }, index) => (
        <li key={routeId ?? `new ${index}`}>
          <p>
            <Badge mood={MOODS[change]}>{text.changes[change]}</Badge>{' '}
            <strong>{name ?? routeId ?? text.thisRoute}</strong>{' '}
            <span class="faint">{channelId === '*' ? text.everyChat : channelId}</span>
          </p>
          {change !== 'deleted' && (
            <table class="diff">
              <caption class="hidden">{`${text.fields}: ${name ?? routeId ?? ''}`}</caption>
              <thead class="hidden">
                <tr>
                  <th scope="col">{text.field}</th>
                  <th scope="col">{text.before}</th>
                  <th scope="col">{text.after}</th>
                </tr>
              </thead>
              <tbody>
                {(change === 'created' ? fields.filter(isTold) : fields).map(({ field, before, after }) => (
                  <tr key={field}>
                    <th scope="row" title={field}>
                      {nameOf(field)}
                    </th>
                    <td>{before !== undefined && <del>{shown(field, before)}</del>}</td>
                    <td>{after !== undefined && <ins>{shown(field, after)}</ins>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </li>
      ))}
    </ul>
  );
}

/** A new route is of the environment of the service, of which most have one. */
function isTold({ field }: { field: string }): boolean {
  return field !== 'environment';
}

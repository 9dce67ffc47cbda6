import { useState } from 'preact/hooks';
import { urlOf } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { Allowed } from '../../app/caller.tsx';
import { hrefOf, navigate } from '../../app/location.ts';
import { Icon } from '../../components/icon.tsx';
import { Menu } from '../../components/menu.tsx';
import { Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import type { PageProps } from '../../pages.ts';
import { DryRun } from './dry-run.tsx';
import { ImportRoutes } from './import-routes.tsx';
import { RouteEditor, type SavedRoute } from './route-editor.tsx';
import { RouteTable } from './route-table.tsx';
import { RouteVersions } from './route-versions.tsx';
import { useFieldName } from './use-field-name.ts';
import './routes.css';
import { useTexts } from '../../app/language.ts';
import { ServiceText } from '../../translation/service-text.tsx';

/** Routes: `routes` the table, `routes/new` and `routes/ID` the form, `routes/versions` the history. */
export function RoutesPage({ parts: [part], query }: PageProps) {
  const [saved, setSaved] = useState<SavedRoute>();
  const onSaved = (route: SavedRoute) => {
    setSaved(route);
    navigate('/routes');
  };
  if (part === 'new') return <RouteEditor key="new" onSaved={onSaved} />;
  if (part === 'versions') return <RouteVersions before={query.get('before') ?? undefined} />;
  if (part !== undefined) return <RouteEditor key={part} id={part} onSaved={onSaved} />;
  return <RouteList {...(saved && { saved })} />;
}

function RouteList({ saved }: { saved?: SavedRoute }) {
  const text = useTexts('routes');
  const nameOf = useFieldName();
  const routes = useQuery('GET /api/routes', {}, ['route']);
  const [isImporting, setImporting] = useState(false);
  return (
    <PageFrame
      title={text.title}
      lead={text.lead}
      actions={
        <>
          <Allowed scope="routes:write">
            <a class="button main" href={hrefOf('/routes/new')}>
              <Icon name="plus" />
              {text.add}
            </a>
          </Allowed>
          <Menu
            items={[
              { title: text.versions, href: hrefOf('/routes/versions') },
              { title: text.exportFile, href: urlOf('GET /api/routes/export'), download: 'routes.yaml' },
              { title: text.importFile, scope: 'routes:write', onChoose: () => setImporting(true) },
            ]}
          />
        </>
      }
    >
      {saved && saved.warnings.length > 0 && (
        <div class="notice busy" role="status">
          <strong>{text.warnings.replace('{name}', saved.route.name ?? saved.route.channelId)}</strong>
          {saved.warnings.map(({ code, field, message, phrase }) => (
            <p key={code + field}>
              <strong>{field === undefined ? code : nameOf(field)}</strong>{' '}
              <ServiceText text={message} phrase={phrase} code={code} />
            </p>
          ))}
        </div>
      )}
      <Loaded query={routes}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon="route" title={text.none}>
              <p>{text.noneHint}</p>
            </EmptyState>
          ) : (
            <>
              <Card>
                <RouteTable routes={data} reload={routes.reload} />
              </Card>
              <DryRun />
            </>
          )
        }
      </Loaded>
      {isImporting && <ImportRoutes onClose={() => setImporting(false)} onApplied={routes.reload} />}
    </PageFrame>
  );
}

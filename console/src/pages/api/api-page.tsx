import './api.css';
import { useEffect, useState } from 'preact/hooks';
import { baseUrl } from '../../api/base-url.ts';
import { type Problem, problemOf } from '../../api/problem.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/form.tsx';
import { Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx';
import type { PageProps } from '../../pages.ts';
import { type ApiDocument, fits, loadDocument, type Operation } from './document.ts';
import { OperationView } from './operation-view.tsx';

/** The document does not change while the service runs. */
let loaded: ApiDocument | undefined;

/** The reference of the REST API, with calls to try. */
export function ApiPage({ parts: [opened] }: PageProps) {
  const text = useTexts('api');
  const [document, setDocument] = useState(loaded);
  const [problem, setProblem] = useState<Problem>();
  const [wanted, setWanted] = useState('');
  const load = () => {
    setProblem(undefined);
    loadDocument().then(
      (found) => {
        loaded = found;
        setDocument(found);
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  useEffect(() => {
    if (!document) load();
  }, []);
  if (!document) {
    return (
      <PageFrame title={text.title} lead={text.lead}>
        {problem ? <ErrorState problem={problem} retry={load} /> : <Loading />}
      </PageFrame>
    );
  }
  if (opened !== undefined) {
    const operation = document.operations.find(({ operationId }) => operationId === opened);
    return (
      <PageFrame title={operation?.summary ?? text.unknown}>
        <p>
          <a href={hrefOf('/api')}>{text.back}</a>
        </p>
        {operation && (
          <OperationView key={operation.operationId} operation={operation} schemas={document.schemas} />
        )}
      </PageFrame>
    );
  }
  const shown = document.operations.filter((operation) => fits(operation, wanted));
  const groups = document.tags
    .map((tag) => ({ ...tag, operations: shown.filter(({ tags }) => tags?.includes(tag.name)) }))
    .filter(({ operations }) => operations.length > 0);
  return (
    <PageFrame title={text.title} lead={text.lead}>
      <div class="api-find">
        <TextField type="search" label={text.find} value={wanted} onInput={setWanted} />
        <p class="faint" role="status">
          {text.count(String(shown.length))} ·{' '}
          <a href={new URL('openapi.json', baseUrl).href}>{text.document}</a> {document.version}
        </p>
      </div>
      <nav class="api-groups" aria-label={text.groups}>
        {groups.map(({ name }) => (
          <Button key={name} onClick={() => goTo(name)}>
            {name}
          </Button>
        ))}
      </nav>
      {shown.length === 0 && <EmptyState icon="code" title={text.none} />}
      {groups.map((group) => (
        <Group key={group.name} {...group} />
      ))}
    </PageFrame>
  );
}

/** Shows a group, and gives its first operation the focus. */
function goTo(name: string): void {
  const group = window.document.getElementById(idOf(name));
  group?.scrollIntoView();
  group?.querySelector('a')?.focus({ preventScroll: true });
}

function idOf(name: string): string {
  return `group-${name}`;
}

function Group(props: { name: string; description?: string | undefined; operations: Operation[] }) {
  return (
    <Card title={props.name} id={idOf(props.name)}>
      {props.description && <p class="faint">{props.description}</p>}
      <ul class="api-list">
        {props.operations.map(({ operationId, method, path, summary }) => (
          <li key={operationId}>
            <a href={hrefOf(`/api/${operationId}`)}>
              <Method method={method} />
              <code>{path}</code>
              <span class="api-summary">{summary}</span>
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The method of a call, with its colour. */
export function Method({ method }: { method: string }) {
  return <span class={`method ${method.toLowerCase()}`}>{method}</span>;
}

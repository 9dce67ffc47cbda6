import { useTexts } from '../../app/language.ts';
import { Badge, Card } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { Method } from './api-page.tsx';
import { type Operation, scopesOf } from './document.ts';
import { type Schema, schemaText } from './schema-text.ts';
import { TryIt } from './try-it.tsx';

/** One operation: what it needs, takes and answers, and a form that calls it. */
export function OperationView(props: { operation: Operation; schemas: Record<string, Schema> }) {
  const { operation, schemas } = props;
  const text = useTexts('api');
  const { method, path, description, parameters = [], requestBody, responses } = operation;
  const scopes = scopesOf(operation);
  const needs = scopes === undefined ? text.everybody : text.anyKey;
  const body = Object.entries(requestBody?.content ?? {});
  return (
    <>
      <p class="api-path">
        <Method method={method} /> <code>{path}</code>
      </p>
      <p>
        {text.needs}:{' '}
        {scopes && scopes.length > 0
          ? scopes.map((scope) => (
              <Badge key={scope} mood="quiet">
                {scope}
              </Badge>
            ))
          : needs}
      </p>
      {meaningOf(description).map((part) => (
        <p key={part} class="lead">
          {part.replaceAll('`', '')}
        </p>
      ))}
      {parameters.length > 0 && (
        <Card title={text.parameters}>
          <Table
            caption={text.parameters}
            rows={parameters}
            keyOf={({ name, in: where }) => `${where} ${name}`}
            columns={[
              {
                title: text.name,
                cell: ({ name, required }) => (
                  <span>
                    <code>{name}</code> {required && <span class="faint">{text.required}</span>}
                  </span>
                ),
              },
              { title: text.place, cell: (parameter) => parameter.in },
              {
                title: text.meaning,
                cell: ({ description: meaning, schema }) => (
                  <div>
                    {meaning && <p>{meaning}</p>}
                    <code>{schemaText(schema, schemas)}</code>
                  </div>
                ),
              },
            ]}
          />
        </Card>
      )}
      {body.map(([type, { schema }]) => (
        <Card key={type} title={`${text.body}: ${type}`}>
          <Code text={schemaText(schema, schemas)} label={`${text.body}: ${type}`} />
        </Card>
      ))}
      <TryIt operation={operation} schemas={schemas} />
      <Card title={text.responses}>
        <div class="stack">
          {Object.entries(responses).map(([status, { description: meaning, content }]) => {
            const [type, { schema } = {}] = Object.entries(content ?? {})[0] ?? [];
            return (
              <details key={status}>
                <summary>
                  <code>{status}</code> {meaning}
                </summary>
                {type !== undefined && (
                  <Code
                    text={schema ? schemaText(schema, schemas) : type}
                    label={`${text.schema} ${status}`}
                  />
                )}
              </details>
            );
          })}
        </div>
      </Card>
    </>
  );
}

/** The paragraphs of a description, without the scopes, which are shown beside. */
function meaningOf(description = ''): string[] {
  return description.split('\n\n').filter((part) => part !== '' && !part.startsWith('Scope: '));
}

/** A text with lines, which the keyboard can scroll. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that the keyboard can scroll it
    <section class="api-code" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  );
}

import { useState } from 'preact/hooks';
import { call, urlOf } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { language, useTexts } from '../../app/language.ts';
import { useStored } from '../../app/stored.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Card } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { UploadFile } from './upload-file.tsx';

/** The files of an agent: upload, download and delete. */
export function AgentFiles({ id }: { id: string }) {
  const text = useTexts('agents');
  const chosen = useStored(language);
  const path = { id };
  const files = useQuery('GET /api/agents/{id}/files', { path });
  const [asked, setAsked] = useState<string>();
  const [isUploading, setUploading] = useState(false);
  const remove = useAction(async (file: string) => {
    await call('DELETE /api/agents/{id}/files', { path, query: { path: file } });
    files.reload();
  }, text.fileRemoved);
  return (
    <Card
      title={text.files}
      actions={
        <>
          <Button onClick={() => setUploading(true)}>{text.upload}</Button>
          <Menu
            of={text.files}
            items={[
              { title: text.reload, onChoose: files.reload },
              {
                title: text.downloadAll,
                href: urlOf('GET /api/agents/{id}/files/archive', { path }),
                download: `${id}.tar`,
              },
            ]}
          />
        </>
      }
    >
      <Loaded query={files}>
        {({ data, bytes }) =>
          data.length === 0 ? (
            <p class="faint">{text.filesNone}</p>
          ) : (
            <>
              <Table
                caption={text.files}
                rows={data}
                keyOf={(file) => file.path}
                columns={[
                  { title: text.path, cell: (file) => <code>{file.path}</code> },
                  { title: text.size, isNumber: true, cell: (file) => sizeText(file.bytes, chosen) },
                  { title: text.changed, cell: ({ changedAt }) => <Time at={changedAt} /> },
                  {
                    title: text.actions,
                    isTitleHidden: true,
                    cell: (file) => (
                      <Menu
                        of={file.path}
                        items={[
                          {
                            title: text.download,
                            href: urlOf('GET /api/agents/{id}/files/content', {
                              path,
                              query: { path: file.path },
                            }),
                            download: file.path.split('/').at(-1) ?? '',
                          },
                          { title: text.remove, isDanger: true, onChoose: () => setAsked(file.path) },
                        ]}
                      />
                    ),
                  },
                ]}
              />
              <p class="hint">{text.total(sizeText(bytes, chosen))}</p>
            </>
          )
        }
      </Loaded>
      {isUploading && <UploadFile id={id} onStored={files.reload} onClose={() => setUploading(false)} />}
      {asked !== undefined && (
        <ConfirmDialog
          title={`${text.remove}: ${asked}`}
          action={text.remove}
          confirm={() => remove.run(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{text.fileRemoveAsk}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;

function sizeText(bytes: number, chosen: string): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const unit = UNITS[step] ?? 'byte';
  const format = {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: step === 0 ? 0 : 1,
  } as const;
  return new Intl.NumberFormat(chosen, format).format(bytes / 1_000 ** step);
}

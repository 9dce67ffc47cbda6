import type { ComponentChildren } from 'preact';

/** A column of a table. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right. */
  isNumber?: boolean;
  /** The title is only read, not shown. */
  isTitleHidden?: boolean;
}

/** A table. On a narrow screen each row becomes a block with the titles beside the values. */
export function Table<Row>(props: {
  caption: string;
  columns: ReadonlyArray<Column<Row>>;
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Class of a row. */
  classOf?: (row: Row) => string | undefined;
}) {
  return (
    <table class="table">
      <caption class="hidden">{props.caption}</caption>
      <thead>
        <tr>
          {props.columns.map(({ title, isNumber, isTitleHidden }) => (
            <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
              {isTitleHidden ? <span class="hidden">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {props.rows.map((row) => (
          <tr key={props.keyOf(row)} class={props.classOf?.(row)}>
            {props.columns.map(({ title, cell, isNumber, isTitleHidden }) => (
              <td key={title} class={isNumber ? 'number' : undefined} data-title={isTitleHidden ? '' : title}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

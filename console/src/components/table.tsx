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
}) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: a block on narrow screens would lose its role
    <table class="table" role="table">
      <caption class="hidden">{props.caption}</caption>
      {/* biome-ignore lint/a11y/noRedundantRoles: as above */}
      <thead role="rowgroup">
        {/* biome-ignore lint/a11y/noRedundantRoles: as above */}
        <tr role="row">
          {props.columns.map(({ title, isNumber, isTitleHidden }) => (
            // biome-ignore lint/a11y/noRedundantRoles: as above
            <th key={title} scope="col" role="columnheader" class={isNumber ? 'number' : undefined}>
              {isTitleHidden ? <span class="hidden">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      {/* biome-ignore lint/a11y/noRedundantRoles: as above */}
      <tbody role="rowgroup">
        {props.rows.map((row) => (
          // biome-ignore lint/a11y/noRedundantRoles: as above
          <tr key={props.keyOf(row)} role="row">
            {props.columns.map(({ title, cell, isNumber, isTitleHidden }) => (
              // biome-ignore lint/a11y/noRedundantRoles: as above
              <td
                key={title}
                role="cell"
                class={isNumber ? 'number' : undefined}
                data-title={isTitleHidden ? '' : title}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

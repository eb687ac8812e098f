// A table of rows: what to show while it loads, fails or is empty, more rows on demand, and which columns a phone
// leaves out.

import { Box, Button, Card, Group, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Rows } from '../queries.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';
import { Waiting } from './waiting.tsx';

export interface Column<Row> {
  /** Unique in its table. */
  name: string;
  label: ReactNode;
  show: (row: Row) => ReactNode;
  align?: 'left' | 'right' | 'center';
  /** Left out below this width: "sm" on phones, "lg" also on small screens. */
  from?: 'sm' | 'md' | 'lg';
}

interface DataTableProps<Row> {
  /** What the table is of, for readers of the screen. */
  label: string;
  columns: readonly Column<Row>[];
  rows: Rows<Row>;
  keyOf: (row: Row) => string;
  /** What stands there instead of a table without rows. */
  empty: ReactNode;
  /** Also goes there on a click anywhere on the row; the first column should have the link itself, for the keyboard. */
  onOpen?: (row: Row) => void;
}

export function DataTable<Row>({ label, columns, rows, keyOf, empty, onOpen }: DataTableProps<Row>) {
  if (rows.failure !== null && rows.rows.length === 0)
    return <FailureNotice failure={rows.failure} onRetry={rows.reload} />;
  if (rows.isLoading) return <Waiting />;
  if (rows.rows.length === 0 && rows.showMore === null) return <Box>{empty}</Box>;
  return (
    <Card withBorder p={0}>
      <Table.ScrollContainer minWidth={0} type="native">
        <Table highlightOnHover={onOpen !== undefined} verticalSpacing="xs" horizontalSpacing="md" aria-label={label}>
          <Table.Thead>
            <Table.Tr>
              {columns.map(({ name, label: head, align, from }) => (
                <Table.Th key={name} ta={align ?? 'left'} {...(from !== undefined && { visibleFrom: from })}>
                  {head}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.rows.map((row) => (
              <Table.Tr
                key={keyOf(row)}
                {...(onOpen !== undefined && { className: 'row-link', onClick: opener(row, onOpen) })}
              >
                {columns.map(({ name, show, align, from }) => (
                  <Table.Td key={name} ta={align ?? 'left'} {...(from !== undefined && { visibleFrom: from })}>
                    {show(row)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {rows.showMore !== null && (
        <Group justify="center" p="sm" className="no-print">
          <Button variant="default" size="xs" onClick={rows.showMore} loading={rows.isLoadingMore}>
            {words.parts.more}
          </Button>
        </Group>
      )}
    </Card>
  );
}

/** Links and buttons within a row are their own; so is text that somebody selects. */
function opener<Row>(row: Row, onOpen: (row: Row) => void) {
  return (event: React.MouseEvent) => {
    if ((event.target as Element).closest('a, button, input, [role="menuitem"]') !== null) return;
    if (window.getSelection()?.toString()) return;
    onOpen(row);
  };
}

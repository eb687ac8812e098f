// The tables of the console. `DataTable` lists rows of the API: loading, failure and empty states, more rows on demand,
// and a choice of columns. `PlainTable` is the table itself, for rows that the page already has.

import { Box, Button, Card, Group, Stack, Table, Text, UnstyledButton, useMantineTheme } from '@mantine/core';
import { useLocalStorage, useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { countFilters, type Order, type Sorting, useFilters } from '../filters.ts';
import { digitsOf, type Precision } from '../money.ts';
import type { Rows } from '../queries.ts';
import { StatusBadge } from './badges.tsx';
import { MenuButton } from './later.tsx';
import { ActionButton, Icon, TextLink, useGoTo } from './link.tsx';
import { Money, Rate } from './money.tsx';
import { EmptyState, type EmptyStateProps, FailureNotice, Hint, Loading } from './page.tsx';
import { When } from './times.tsx';

export interface Column<Row> {
  /** Unique within the table. */
  name: string;
  label: string;
  /** `digits` are the fraction digits of the rates of the column. */
  show: (row: Row, digits: number) => ReactNode;
  /** The rate of a row, for columns of rates: all are shown with the same fraction digits. */
  rate?: (row: Row) => string | null | undefined;
  align?: 'left' | 'right' | 'center';
  /** Hidden below this width: "sm" hides it on phones, "lg" also on small screens. A user who chooses it sees it. See `isFolding`. */
  from?: 'xs' | 'sm' | 'md' | 'lg';
  /** Explains the label. */
  title?: string;
  /** Whether the user can hide or show the column, and what applies until then. */
  choice?: 'shown' | 'hidden';
  /** The cell in the row of totals. */
  total?: ReactNode;
  /** The order that a first click on the label chooses, if the table can be sorted by this column. */
  sort?: SortBy;
}

interface SortBy {
  /** As the API names it. */
  by: string;
  first: Order;
}

type Look<Row> = Pick<Column<Row>, 'from' | 'choice' | 'title' | 'total' | 'sort'>;

export function moneyColumn<Row>(
  name: string,
  label: string,
  usd: (row: Row) => string | null | undefined,
  { precision, ...look }: Look<Row> & { precision?: Precision } = {},
): Column<Row> {
  const show = (row: Row) => <Money usd={usd(row)} {...(precision !== undefined && { precision })} />;
  return { name, label, align: 'right', show, ...look };
}

/** A column of exact rates. */
export function rateColumn<Row>(
  name: string,
  label: string,
  rate: (row: Row) => string | null | undefined,
  look: Look<Row> = {},
): Column<Row> {
  const show = (row: Row, digits: number) => <Rate usd={rate(row)} digits={digits} />;
  return { name, label, align: 'right', rate, show, ...look };
}

/** The fraction digits of the rates of a column. */
function digitsOfColumn<Row>({ rate }: Column<Row>, rows: readonly Row[]): number {
  return rate === undefined ? 0 : digitsOf(rows.map((row) => rate(row) ?? null));
}

export function timeColumn<Row>(
  name: string,
  label: string,
  at: (row: Row) => string | null | undefined,
  look: Look<Row> & { isRelative?: boolean } = {},
): Column<Row> {
  const { isRelative = false, ...others } = look;
  return { name, label, show: (row) => <When at={at(row)} isRelative={isRelative} />, ...others };
}

export function statusColumn<Row extends { status: string }>(look: Look<Row> = {}): Column<Row> {
  return { name: 'status', label: 'Status', show: ({ status }) => <StatusBadge status={status} />, ...look };
}

interface PlainTableProps<Row> {
  /** For screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** False: no row of column labels. */
  hasHead?: boolean;
  /** Narrower rows, for tables within a section. */
  isCompact?: boolean;
  /** False: the cells extend to the border of the page or section. */
  isPadded?: boolean;
  isStrong?: (row: Row) => boolean;
  /** Shows hidden columns in the first one, for rows that have no page of their own. */
  isFolding?: boolean;
  /** A row before the totals that spans all columns. */
  note?: ReactNode;
  /** Handles a click on a row. */
  onOpen?: ((row: Row) => void) | undefined;
  /** The present order, if labels of columns change it. */
  sorting?: Sorting | undefined;
}

export function PlainTable<Row>(table: PlainTableProps<Row>) {
  const {
    label,
    columns,
    rows,
    keyOf,
    hasHead = true,
    isCompact = true,
    isPadded = true,
    isStrong,
    isFolding = false,
    note,
    onOpen,
    sorting,
  } = table;
  const folded = useFolded(isFolding ? columns : []);
  const digits = new Map(columns.map((column) => [column.name, digitsOfColumn(column, rows)]));
  return (
    <Table.ScrollContainer minWidth={0} type="native">
      <Table
        aria-label={label}
        highlightOnHover={onOpen !== undefined}
        verticalSpacing={isCompact ? 6 : 'xs'}
        horizontalSpacing={isPadded ? 'md' : 'xs'}
      >
        {hasHead && (
          <Table.Thead>
            <Table.Tr>
              {columns.map((column) => (
                <HeadCell key={column.name} column={column} sorting={sorting} />
              ))}
            </Table.Tr>
          </Table.Thead>
        )}
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr
              key={keyOf(row)}
              {...(isStrong?.(row) === true && { fw: 650 })}
              {...(onOpen !== undefined && { className: 'row-link', onClick: opener(row, onOpen) })}
            >
              <Cells
                columns={columns}
                show={(column) => column.show(row, digits.get(column.name) ?? 0)}
                fold={folded.length > 0 ? <Folded columns={folded} row={row} /> : null}
              />
            </Table.Tr>
          ))}
          {note !== undefined && (
            <Table.Tr>
              <Table.Td colSpan={columns.length} c="dimmed">
                {note}
              </Table.Td>
            </Table.Tr>
          )}
        </Table.Tbody>
        {columns.some(({ total }) => total !== undefined) && (
          <Table.Tfoot>
            <Table.Tr fw={650}>
              <Cells columns={columns} show={({ total }) => total} fold={null} />
            </Table.Tr>
          </Table.Tfoot>
        )}
      </Table>
    </Table.ScrollContainer>
  );
}

interface HeadCellProps<Row> {
  column: Column<Row>;
  sorting: Sorting | undefined;
}

function HeadCell<Row>({ column, sorting }: HeadCellProps<Row>) {
  const { label, title, sort } = column;
  if (sort === undefined || sorting === undefined)
    return (
      <Table.Th {...lookOf(column)} title={title}>
        {label}
      </Table.Th>
    );
  const order = sorting.by === sort.by ? sorting.order : null;
  const next = order === null ? sort.first : order === 'asc' ? 'desc' : 'asc';
  return (
    <Table.Th {...lookOf(column)} title={title} aria-sort={order === null ? 'none' : `${order}ending`}>
      <UnstyledButton
        className={column.align === 'right' ? 'sort-button sort-button-right' : 'sort-button'}
        fz="inherit"
        fw="inherit"
        onClick={() => sorting.set(sort.by, next)}
      >
        {label}
        <Icon name={order === 'asc' ? 'up' : 'down'} sizePx={14} />
      </UnstyledButton>
    </Table.Th>
  );
}

interface CellsProps<Row> {
  columns: readonly Column<Row>[];
  show: (column: Column<Row>) => ReactNode;
  /** Below the first cell. */
  fold: ReactNode;
}

function Cells<Row>({ columns, show, fold }: CellsProps<Row>) {
  return columns.map((column, place) => (
    <Table.Td key={column.name} {...lookOf(column)}>
      {show(column)}
      {place === 0 && fold}
    </Table.Td>
  ));
}

/** The columns that the window is too narrow for. */
function useFolded<Row>(columns: readonly Column<Row>[]): Column<Row>[] {
  const { breakpoints } = useMantineTheme();
  const isBelow = {
    xs: useIsBelow(breakpoints.xs),
    sm: useIsBelow(breakpoints.sm),
    md: useIsBelow(breakpoints.md),
    lg: useIsBelow(breakpoints.lg),
  };
  return columns.filter(({ from }) => from !== undefined && isBelow[from]);
}

function useIsBelow(width: string): boolean {
  return useMediaQuery(`not all and (min-width: ${width})`, false, { getInitialValueInEffect: false });
}

function Folded<Row>({ columns, row }: { columns: readonly Column<Row>[]; row: Row }) {
  return columns.map((column) => {
    const value = column.show(row, 0);
    return (
      value !== null &&
      value !== false &&
      value !== '' && (
        <Box key={column.name} fz="xs" className="folded">
          <Text span inherit c="dimmed" mr={6}>
            {column.label}
          </Text>
          <div>{value}</div>
        </Box>
      )
    );
  });
}

function lookOf<Row>({ align = 'left', from }: Column<Row>) {
  return { ta: align, ...(from !== undefined && { visibleFrom: from }) };
}

interface DataTableProps<Row> extends Omit<PlainTableProps<Row>, 'rows'> {
  rows: Rows<Row>;
  /** Replaces a table without rows. */
  empty: ReactNode;
  /** The page that a click on a row opens. The first column must contain the same link for keyboard users. */
  linkTo?: (row: Row) => string;
}

export function DataTable<Row>({ rows, empty, linkTo, columns, onOpen, ...table }: DataTableProps<Row>) {
  const goTo = useGoTo();
  const { shown, choices, choose } = useColumnChoice(table.label, columns);
  if (rows.failure !== null && rows.rows.length === 0)
    return <FailureNotice failure={rows.failure} onRetry={rows.reload} />;
  if (rows.isLoading) return <Loading />;
  if (rows.rows.length === 0 && rows.showMore === null) return <div>{empty}</div>;
  return (
    <Card p={0}>
      {choices.length > 0 && <ColumnMenu columns={choices} shown={shown} onChoose={choose} />}
      <PlainTable
        isCompact={false}
        {...table}
        columns={shown}
        rows={rows.rows}
        onOpen={linkTo === undefined ? onOpen : (row) => void goTo(linkTo(row))}
      />
      {rows.showMore !== null && (
        <Group justify="center" p="sm" className="no-print">
          <ActionButton label="Show more" size="xs" onClick={rows.showMore} loading={rows.isLoadingMore} />
        </Group>
      )}
    </Card>
  );
}

/** The columns that the user sees. The browser keeps the choice, by the label of the table. */
function useColumnChoice<Row>(label: string, columns: readonly Column<Row>[]) {
  const [chosen, setChosen] = useLocalStorage<Record<string, boolean>>({
    key: `turnpike-columns-${label}`,
    defaultValue: {},
    getInitialValueInEffect: false,
  });
  const shown = columns.flatMap(({ from, ...column }) => {
    const wish = column.choice === undefined ? undefined : chosen[column.name];
    if (wish === false || (wish === undefined && column.choice === 'hidden')) return [];
    return [wish === undefined && from !== undefined ? { ...column, from } : column];
  });
  return {
    shown,
    choices: columns.filter(({ choice }) => choice !== undefined),
    choose: (name: string, isShown: boolean) => setChosen({ ...chosen, [name]: isShown }),
  };
}

interface ColumnMenuProps<Row> {
  columns: readonly Column<Row>[];
  shown: readonly Column<Row>[];
  onChoose: (name: string, isShown: boolean) => void;
}

function ColumnMenu<Row>({ columns, shown, onChoose }: ColumnMenuProps<Row>) {
  return (
    <Group justify="flex-end" px="xs" pt="xs" className="no-print">
      <MenuButton
        position="bottom-end"
        closeOnItemClick={false}
        entries={columns.map(({ name, label }) => {
          const isChecked = shown.some((column) => column.name === name);
          return { name, label, isChecked, onClick: () => onChoose(name, !isChecked) };
        })}
        button={(opens) => (
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            leftSection={<Icon name="sliders" sizePx={16} />}
            {...opens}
          >
            Columns
          </Button>
        )}
      />
    </Group>
  );
}

interface NameLinkProps {
  to: string;
  search?: Record<string, string>;
  name: string;
  /** A second line. */
  note?: ReactNode;
  isMonospace?: boolean;
}

/** The first cell of a row: a link to its page, with a note below it. */
export function NameLink({ to, search, name, note, isMonospace = false }: NameLinkProps) {
  return (
    <Stack gap={0} className="name-cell">
      <TextLink to={to} search={search} fw={600} size="sm" className="wrap">
        {name}
      </TextLink>
      <Hint size="xs" className="wrap" lineClamp={2} {...(isMonospace && { ff: 'monospace' })}>
        {note}
      </Hint>
    </Stack>
  );
}

interface NoMatchesProps {
  title: string;
  text: string;
  onClear: () => void;
}

/** Replaces a table whose filters match no row. */
export function NoMatches({ title, text, onClear }: NoMatchesProps) {
  const clear = <ActionButton label="Clear filters" onClick={onClear} />;
  return <EmptyState icon="search" title={title} text={text} action={clear} />;
}

interface NoRowsProps extends EmptyStateProps {
  /** What the table lists: "payments". */
  of: string;
  /** Whether the table has the rows of the time range only. */
  isOfRange?: boolean;
  /** For filters that match none. */
  advice?: string;
}

/** Replaces a table without rows, with what the list will have unless the address has filters. */
export function NoRows({ of, isOfRange = false, advice = 'Change or clear the filters.', ...nothing }: NoRowsProps) {
  const { values, clear } = useFilters();
  if (countFilters(values) === 0)
    return <EmptyState {...nothing} {...(isOfRange && { title: `No ${of} in this time range` })} />;
  return <NoMatches title={`No matching ${of}`} text={advice} onClear={clear} />;
}

/** Ignores clicks on links and buttons within the row, and the end of a text selection. */
function opener<Row>(row: Row, onOpen: (row: Row) => void) {
  return (event: React.MouseEvent) => {
    if ((event.target as Element).closest('a, button, input, [role="menuitem"]') !== null) return;
    if (window.getSelection()?.toString()) return;
    onOpen(row);
  };
}

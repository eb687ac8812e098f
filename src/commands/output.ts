// Prints the output of commands: one JSON value, or text in aligned columns. Lists are printed page by page, so that
// a million rows need little memory.

import type { Row } from './admin-client.ts';
import type { Invocation } from './command.ts';

/** A heading with a member of the row, "health.up" for one inside another, or with a function that makes the cell. */
export type Column = readonly [heading: string, cell: string | ((row: Row) => unknown)];

const HEADINGS: Readonly<Record<string, string>> = {
  request_id: 'REQUEST',
  rpm: 'REQUESTS/MIN',
  input_tpm: 'INPUT TOKENS/MIN',
  output_tpm: 'OUTPUT TOKENS/MIN',
  input_tokens: 'INPUT',
  output_tokens: 'OUTPUT',
  cache_read_input_tokens: 'CACHE READ',
  cache_creation_input_tokens: 'CACHE WRITE',
  usage_source: 'COUNTS',
  revenue_without_margin: 'WITHOUT MARGIN',
  grace_ends_at: 'OLD SECRET ENDS',
  has_credential: 'CREDENTIAL',
  payment_method: 'METHOD',
  'event.id': 'EVENT',
  'failure.message': 'FAILURE',
  'last_failure.message': 'LAST FAILURE',
  'price_source.catalogue': 'TAKEN FROM LIST OF',
};

/** Columns for members, with headings made of their names: "created_at" becomes CREATED. */
export function columns(members: string): Column[] {
  const heading = (member: string) =>
    HEADINGS[member] ??
    member
      .replace(/^.*\.|_at$/g, '')
      .replaceAll('_', ' ')
      .toUpperCase();
  return members.split(' ').map((member) => [heading(member), member]);
}

/** Prints one object: as JSON, or one line per column with the heading on the left. */
export async function printObject({ json, world }: Invocation, row: Row, columns: readonly Column[]): Promise<void> {
  if (json) return world.write(`${JSON.stringify(row, null, 2)}\n`);
  const width = Math.max(...columns.map(([heading]) => heading.length));
  const lines = columns.map(([heading, cell]) => `${heading.padEnd(width)}  ${cellText(row, cell)}`.trimEnd());
  await world.write(`${lines.join('\n')}\n`);
}

/** Prints rows: as one JSON array, or as a table whose first page sets the column widths. */
export async function printRows(
  { json, world }: Invocation,
  pages: AsyncIterable<Row[]>,
  columns: readonly Column[],
  whenEmpty: string,
): Promise<void> {
  let printed = 0;
  let widths: number[] = [];
  for await (const rows of pages) {
    if (rows.length === 0) continue;
    if (json) {
      await world.write(`${printed === 0 ? '[\n' : ',\n'}${rows.map((row) => JSON.stringify(row)).join(',\n')}`);
    } else {
      const cells = rows.map((row) => columns.map(([, cell]) => cellText(row, cell)));
      if (printed === 0) {
        cells.unshift(columns.map(([heading]) => heading));
        widths = columns.map((_, at) => Math.max(...cells.map((line) => characters(line[at] as string))));
      }
      await world.write(cells.map((line) => alignedLine(line, widths)).join(''));
    }
    printed += rows.length;
  }
  if (json) await world.write(printed === 0 ? '[]\n' : '\n]\n');
  else if (printed === 0) await world.writeError(`${whenEmpty}\n`);
}

/** Rows that are in memory already, for `printRows`. */
export async function* onePage(rows: Row[]): AsyncGenerator<Row[]> {
  yield rows;
}

function alignedLine(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, at) => cell + ' '.repeat(Math.max(0, (widths[at] as number) - characters(cell))));
  return `${padded.join('  ').trimEnd()}\n`;
}

/** A value as text: "-" for none, lists joined by commas, control characters of terminals removed. */
function cellText(row: Row, cell: Column[1]): string {
  const value = typeof cell === 'string' ? memberOf(row, cell) : cell(row);
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return text.replace(/\p{Cc}+/gu, ' ');
}

function memberOf(row: Row, path: string): unknown {
  return path.split('.').reduce<unknown>((value, member) => (value as Row | null)?.[member], row);
}

function characters(text: string): number {
  return [...text].length;
}

// What commands print: one JSON value, or text for people in aligned columns. Lists go out page by
// page, so that a million rows need no memory.

import type { Row } from './admin-client.ts';
import type { Invocation } from './command.ts';

/** A column: its heading, and the member of the row or what is made of it. */
export type Column = readonly [heading: string, cell: string | ((row: Row) => unknown)];

/** Prints one object: as JSON, or a line for each column with the headings on the left. */
export async function printObject({ json, world }: Invocation, row: Row, columns: readonly Column[]): Promise<void> {
  if (json) return world.write(`${JSON.stringify(row, null, 2)}\n`);
  const width = Math.max(...columns.map(([heading]) => heading.length));
  const lines = columns.map(([heading, cell]) => `${heading.padEnd(width)}  ${cellText(row, cell)}`.trimEnd());
  await world.write(`${lines.join('\n')}\n`);
}

/** Prints rows: as one JSON array, or a table. The first page sets the widths; later cells may stand out. */
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

function alignedLine(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, at) => cell + ' '.repeat(Math.max(0, (widths[at] as number) - characters(cell))));
  return `${padded.join('  ').trimEnd()}\n`;
}

/** A value in words: "-" for none, lists joined by commas; what could steer a terminal is taken out. */
function cellText(row: Row, cell: Column[1]): string {
  const value = typeof cell === 'string' ? row[cell] : cell(row);
  if (value === null || value === undefined || value === '') return '-';
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return text.replace(/\p{Cc}+/gu, ' ');
}

function characters(text: string): number {
  return [...text].length;
}

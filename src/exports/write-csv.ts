// Writes rows as CSV (RFC 4180), with amounts in USD as exact decimals.

import { formatUsd } from '../base/money.ts';
import type { AnyColumn, CellValue, Column } from './columns.ts';
import type { FileWriter } from './file-writer.ts';

export function csvWriter(columns: readonly AnyColumn[]): FileWriter {
  let isBegun = false;
  const begin = () => {
    if (isBegun) return '';
    isBegun = true;
    return lineOf(columns.map(({ name }) => name));
  };
  return {
    async write(rows) {
      const lines = rows.map((row) => lineOf(columns.map((column) => cellOf(column, row))));
      return Buffer.from(`${begin()}${lines.join('')}`);
    },
    end: async () => Buffer.from(begin()),
  };
}

function cellOf(column: Column<unknown>, row: unknown): string {
  const value: CellValue = column.of(row);
  if (value === null) return '';
  switch (column.type) {
    case 'amount':
    case 'sum':
      return formatUsd(value as number | bigint);
    case 'time':
      return new Date(value as number).toISOString();
    case 'text':
      return textCell(value as string);
    default:
      return String(value);
  }
}

/** A text that a spreadsheet would run as a formula gets a leading apostrophe. */
function textCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function lineOf(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}

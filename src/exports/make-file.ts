// Makes files: reads the rows of a question page by page, and writes them in its format.

import { bounds } from '../config/config.ts';
import { costsSheet } from './costs-sheet.ts';
import type { ExportFormat, ExportKind, ExportQuestion, Place, Reading } from './export-question.ts';
import type { FileWriter } from './file-writer.ts';
import { focusSheet } from './focus-sheet.ts';
import { recordsSheet } from './records-sheet.ts';
import type { Sheet } from './sheet.ts';
import { csvWriter } from './write-csv.ts';

const sheets: Readonly<Record<ExportKind, (reading: Reading, question: ExportQuestion) => Sheet>> = {
  records: recordsSheet,
  costs: costsSheet,
  focus: focusSheet,
};

export const contentTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
};

export interface FilePiece {
  bytes: Uint8Array;
  rows: number;
  /** Set on the last piece only: where the next file continues, or null at the end. */
  next?: Place | null;
}

/**
 * The bytes of one file in pieces, from a place on. It ends after at least `rowsMax` rows where a later file can continue. Throws like
 * `readCharges`, and invalid_request if there are too many groups.
 */
export async function* makeFile(
  reading: Reading,
  question: ExportQuestion,
  { from = null, rowsMax = Number.POSITIVE_INFINITY }: { from?: Place | null; rowsMax?: number } = {},
): AsyncGenerator<FilePiece> {
  const sheet = sheets[question.kind](reading, question);
  const writer = await openWriter(question.format, sheet);
  let count = 0;
  let last: Place | null = null;
  for await (const { rows, next } of sheet.pages(from)) {
    count += rows.length;
    for (let at = 0; at < rows.length; at += bounds.exportPageRows) {
      const some = rows.slice(at, at + bounds.exportPageRows);
      yield { bytes: await writer.write(some), rows: some.length };
    }
    last = next;
    if (count >= rowsMax && next !== null) break;
    last = null;
  }
  yield { bytes: await writer.end(), rows: 0, next: last };
}

/** Parquet's library is loaded with the first file that needs it. */
async function openWriter(format: ExportFormat, { columns }: Sheet): Promise<FileWriter> {
  if (format === 'csv') return csvWriter(columns);
  return (await import('./write-parquet.ts')).parquetWriter(columns);
}

// Exports a list as CSV page by page, with progress and a cancel button.

import { Group } from '@mantine/core';
import { useRef, useState } from 'react';
import { fetchPages, type Query } from '../api.ts';
import type { ListPath, RowOf } from '../endpoints.ts';
import { countOf } from '../figures.ts';
import { ActionButton } from './link.tsx';
import { failureText, Hint } from './page.tsx';

/** Bounds the memory of an export. */
const CSV_ROWS_MAX = 100_000;

export interface CsvColumn<Row> {
  name: string;
  value: (row: Row) => string | number | boolean | null | undefined;
}

interface CsvButtonProps<Path extends ListPath> {
  path: Path;
  id?: string;
  query: Query;
  columns: readonly CsvColumn<RowOf<Path>>[];
  fileName: string;
}

export function CsvButton<Path extends ListPath>({ path, id, query, columns, fileName }: CsvButtonProps<Path>) {
  const [progress, setProgress] = useState<string | null>(null);
  const [running, setRunning] = useState(false);
  const stopping = useRef<AbortController | null>(null);
  const save = async () => {
    stopping.current = new AbortController();
    setRunning(true);
    try {
      const parts = [csvLine(columns.map(({ name }) => name))];
      let count = 0;
      for await (const rows of fetchPages(path, { id, query, signal: stopping.current.signal }, CSV_ROWS_MAX)) {
        parts.push(...rows.map((row) => csvLine(columns.map(({ value }) => value(row)))));
        count += rows.length;
        setProgress(`${countOf(count, 'row')}…`);
      }
      saveFile(fileName, parts);
      setProgress(
        count >= CSV_ROWS_MAX
          ? `Exported the newest ${countOf(count, 'row')}. Choose a shorter time range for the rest.`
          : `${countOf(count, 'row')} exported`,
      );
    } catch (failure) {
      setProgress(stopping.current.signal.aborted ? null : failureText(failure));
    } finally {
      setRunning(false);
    }
  };
  return (
    <Group gap="xs">
      {progress !== null && (
        <Hint size="xs" role="status">
          {progress}
        </Hint>
      )}
      {running ? (
        <ActionButton label="Cancel" onClick={() => stopping.current?.abort()} icon="stop" />
      ) : (
        <ActionButton label="Export CSV" onClick={() => void save()} icon="download" />
      )}
    </Group>
  );
}

/** One line of RFC 4180. Text that a spreadsheet would run as a formula gets a leading apostrophe; numbers do not. */
export function csvLine(values: readonly (string | number | boolean | null | undefined)[]): string {
  const cells = values.map((value) => {
    const text = value === null || value === undefined ? '' : String(value);
    const isNumber = /^-?\d+(?:\.\d+)?$/.test(text);
    const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  });
  return `${cells.join(',')}\r\n`;
}

export function saveFile(fileName: string, parts: string[], type = 'text/csv;charset=utf-8'): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

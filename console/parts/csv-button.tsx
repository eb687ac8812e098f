// Saves a list as CSV, page by page, with its progress and a way to stop.

import { Button, Group, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { askPages, type Query } from '../api.ts';
import { words } from '../words.ts';
import { wordsOfFailure } from './failure-notice.tsx';
import { Icon } from './icon.tsx';

/** More would need more memory than a page should take. */
export const CSV_ROWS_MAX = 100_000;

export interface CsvColumn<Row> {
  name: string;
  value: (row: Row) => string | number | boolean | null | undefined;
}

interface CsvButtonProps<Row> {
  path: string;
  query: Query;
  columns: readonly CsvColumn<Row>[];
  fileName: string;
}

export function CsvButton<Row>({ path, query, columns, fileName }: CsvButtonProps<Row>) {
  const [progress, setProgress] = useState<string | null>(null);
  const [running, setRunning] = useState(false);
  const stopping = useRef<AbortController | null>(null);
  const save = async () => {
    stopping.current = new AbortController();
    setRunning(true);
    try {
      const parts = [csvLine(columns.map(({ name }) => name))];
      let count = 0;
      for await (const rows of askPages<Row>(path, query, CSV_ROWS_MAX, stopping.current.signal)) {
        parts.push(...rows.map((row) => csvLine(columns.map(({ value }) => value(row)))));
        count += rows.length;
        setProgress(words.parts.exporting(count));
      }
      saveFile(fileName, parts);
      setProgress(count >= CSV_ROWS_MAX ? words.parts.exportCut(count) : words.parts.exported(count));
    } catch (failure) {
      setProgress(stopping.current.signal.aborted ? null : wordsOfFailure(failure));
    } finally {
      setRunning(false);
    }
  };
  return (
    <Group gap="xs">
      {progress !== null && (
        <Text size="xs" c="dimmed" role="status">
          {progress}
        </Text>
      )}
      {running ? (
        <Button variant="default" onClick={() => stopping.current?.abort()} leftSection={<Icon name="stop" />}>
          {words.parts.cancel}
        </Button>
      ) : (
        <Button variant="default" onClick={() => void save()} leftSection={<Icon name="download" />}>
          {words.parts.exportCsv}
        </Button>
      )}
    </Group>
  );
}

/**
 * One line of RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe before it: names
 * come from strangers. Numbers are left alone.
 */
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

// A test of what lies in the file of SQLite: it is none where the service has its store in PostgreSQL. No tests of its own.

import { test } from 'bun:test';
import { isOverPostgres } from '../support/test-store.ts';

export function testOnFile(name: string, run: () => Promise<void>, msMax?: number): void {
  if (!isOverPostgres) test(name, run, msMax);
}

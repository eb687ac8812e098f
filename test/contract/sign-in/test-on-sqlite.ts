// Registers tests of the SQLite file, and skips them if the service stores its data in PostgreSQL. It has no tests of
// its own.

import { test } from 'bun:test';
import { isOverPostgres } from '../../support/test-store.ts';

export function testOnSqlite(name: string, run: () => Promise<void>, msMax?: number): void {
  if (!isOverPostgres) test(name, run, msMax);
}

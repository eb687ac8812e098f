// The door of the migrations: the versions of the stored tables, in order. A version that was
// released is never changed; the next one alters what it made.

import { spine } from './0001-spine.ts';

export interface Migration {
  version: number;
  name: string;
  /** Statements for SQLite, separated by semicolons. */
  sqlite: string;
}

export const migrations: readonly Migration[] = [spine];

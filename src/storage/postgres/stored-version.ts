// Of which version the tables of a database are, without making any.

import { migrations } from '../migrations/migrations.ts';
import type { Reader } from './read-pool.ts';
import { readSnapshot } from './read-snapshot.ts';

/** The version of the tables, and what programs may use them. */
export interface TablesVersion {
  /** 0 where there are none. */
  stored: number;
  /** The least version that a program must know to work on them. */
  leastKnown: number;
  /** The latest that this program knows. */
  known: number;
}

/** Throws what the driver throws. */
export function readTablesVersion(url: string): Promise<TablesVersion> {
  return readSnapshot(url, readVersion);
}

export async function readVersion(reader: Reader): Promise<TablesVersion> {
  const known = migrations.at(-1)?.version ?? 0;
  const [found] = await reader.read<{ is_there: boolean }>(
    `SELECT to_regclass('schema_versions') IS NOT NULL AS is_there`,
  );
  if (found?.is_there !== true) return { stored: 0, leastKnown: 0, known };
  const [row] = await reader.read<{ stored: number; least_known: number }>(
    'SELECT coalesce(max(version), 0) AS stored, coalesce(max(least_known), 0) AS least_known FROM schema_versions',
  );
  return { stored: row?.stored ?? 0, leastKnown: row?.least_known ?? 0, known };
}

// Snapshots of the in-memory store before and after a request: added, changed and removed rows, and restoring the
// earlier state.

import type { MemoryTables } from '../../../support/memory-store/memory-store.ts';

type Table = Map<unknown, unknown>;
export type Snapshot = ReadonlyMap<string, ReadonlyMap<unknown, unknown>>;

export interface RowChange {
  table: keyof MemoryTables;
  before: unknown;
  after: unknown;
}

/** Rows are never modified in place. They are frozen here, so that such a modification fails the request. */
export function takeSnapshot(tables: MemoryTables): Snapshot {
  return new Map(
    Object.entries(tables).map(([name, table]) => {
      const rows = rowsOf(table);
      for (const row of rows.values()) freeze(row);
      return [name, rows];
    }),
  );
}

export function changesSince(tables: MemoryTables, snapshot: Snapshot): RowChange[] {
  const changes: RowChange[] = [];
  for (const [name, table] of Object.entries(tables) as [keyof MemoryTables, Table | unknown[]][]) {
    const before = snapshot.get(name) as ReadonlyMap<unknown, unknown>;
    const see = (row: unknown, key: unknown) => {
      const rowBefore = before.get(key);
      if (rowBefore !== row && !Bun.deepEquals(rowBefore, row))
        changes.push({ table: name, before: rowBefore, after: row });
    };
    table.forEach(see);
    // Without fewer rows, a removed row means that another was added.
    const isLess = (Array.isArray(table) ? table.length : table.size) < before.size;
    if (isLess || changes.length > 0)
      for (const [key, row] of before)
        if (!has(table, key)) changes.push({ table: name, before: row, after: undefined });
  }
  return changes;
}

function has(table: Table | unknown[], key: unknown): boolean {
  return Array.isArray(table) ? (key as number) < table.length : table.has(key);
}

export function restore(tables: MemoryTables, snapshot: Snapshot): void {
  for (const [name, table] of Object.entries(tables) as [string, Table | unknown[]][]) {
    const before = snapshot.get(name) as ReadonlyMap<unknown, unknown>;
    if (Array.isArray(table)) table.splice(0, table.length, ...before.values());
    else {
      table.clear();
      for (const [key, row] of before) table.set(key, row);
    }
  }
}

function rowsOf(table: Table | unknown[]): Map<unknown, unknown> {
  return new Map(Array.isArray(table) ? table.entries() : table);
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}

// One version of the stored tables.

export interface Migration {
  version: number;
  name: string;
  /** Statements for SQLite, separated by semicolons. */
  sqlite: string;
}

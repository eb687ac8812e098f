// One version of the stored tables.

export interface Migration {
  version: number;
  name: string;
  /** Statements for SQLite, separated by semicolons. */
  sqlite: string;
  /** Statements for PostgreSQL. Those of the first five versions make their tables as the fifth left them: no release had others. */
  postgres: string;
  /** The least version that a program must know to run on PostgreSQL's tables as this leaves them: nodes of two releases may run at once. */
  leastKnown: number;
}

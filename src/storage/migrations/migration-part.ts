// Statements for both databases, written once where they differ only in words.

export interface MigrationPart {
  sqlite: string;
  postgres: string;
}

/**
 * `statements` are PostgreSQL's, and are translated for SQLite: other names of types, strict tables without storage parameters,
 * and `seq` as the rowid. A line "@sqlite" or "@postgres" begins statements of one database, "@both" ends them. In the baseline,
 * a rowid may be used again after its row is deleted, and ends every index unwritten.
 */
export function forBoth(statements: string, { isBaseline = false } = {}): MigrationPart {
  const [first = '', ...marked] = statements.split(/^@(both|sqlite|postgres)$/m);
  const part = { sqlite: toSqlite(first, isBaseline), postgres: first };
  for (let at = 0; at < marked.length; at += 2) {
    const [mark, section = ''] = marked.slice(at);
    if (mark !== 'postgres') part.sqlite += mark === 'both' ? toSqlite(section, isBaseline) : section;
    if (mark !== 'sqlite') part.postgres += section;
  }
  return part;
}

function toSqlite(statements: string, isBaseline: boolean): string {
  const typed = statements
    .replaceAll(
      'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
      isBaseline ? 'INTEGER PRIMARY KEY' : 'INTEGER PRIMARY KEY AUTOINCREMENT',
    )
    .replaceAll(/\btext COLLATE "C"|\btext\b/g, 'TEXT')
    .replaceAll(/\b(?:bigint|smallint|integer)\b/g, 'INTEGER')
    .replaceAll(/(CREATE TABLE[^;]*?\))(?: WITH \([^()]*\))?;/g, (_, table: string) =>
      table.includes('INTEGER PRIMARY KEY') ? `${table} STRICT;` : `${table} STRICT, WITHOUT ROWID;`,
    );
  return isBaseline ? typed.replaceAll(/(CREATE (?:UNIQUE )?INDEX [^;]*?), seq\)/g, '$1)') : typed;
}

export function joined(parts: readonly MigrationPart[]): MigrationPart {
  return {
    sqlite: parts.map(({ sqlite }) => sqlite).join('\n'),
    postgres: parts.map(({ postgres }) => postgres).join('\n'),
  };
}

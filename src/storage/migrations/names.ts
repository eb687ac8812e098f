// Version 12: indexes of accounts and keys by name, in lower case (A to Z). The expressions are those of the sorted lists.

import type { MigrationPart } from './migration-part.ts';

export const nameIndexes: MigrationPart = {
  sqlite: `
    CREATE INDEX accounts_by_name ON accounts (lower(json_extract(document, '$.name')), id);
    CREATE INDEX keys_by_name ON keys (lower(json_extract(document, '$.name')), id);
  `,
  postgres: `
    CREATE INDEX accounts_by_name ON accounts (lower((document::json #>> '{name}') COLLATE "C"), id);
    CREATE INDEX keys_by_name ON keys (lower((document::json #>> '{name}') COLLATE "C"), id);
  `,
};

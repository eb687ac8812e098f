// Version 16: `people.email` has only claimed emails. Invited and disabled people of an account claim none, so that they keep an
// address from nobody; the document of a person still has it. Several people may have one address, which an index finds.

import type { MigrationPart } from './migration-part.ts';

const release = `UPDATE people SET email = NULL WHERE account_id IS NOT NULL AND status <> 'enabled';`;

export const emailClaims: MigrationPart = {
  sqlite: `
    ${release}
    CREATE INDEX people_by_email ON people (json_extract(document, '$.email'), status, created_at_ms, id) WHERE email IS NULL;
  `,
  postgres: `
    ${release}
    CREATE INDEX people_by_email ON people ((document::json #>> '{email}'), status, created_at_ms, id) WHERE email IS NULL;
  `,
};

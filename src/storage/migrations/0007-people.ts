// People who sign in: operators and viewers of the installation, owners and members of an account. What is looked for
// stands in columns beside the document: an e-mail, the hash of a one-time link, how many are of a role.

import type { Migration } from './migration.ts';

export const people: Migration = {
  version: 7,
  name: 'people',
  // Who does not know of people lets none in, and takes nothing from them: nodes of the release before may go on.
  leastKnown: 6,
  sqlite: `
    CREATE TABLE people (
      id INTEGER PRIMARY KEY,
      account_id INTEGER REFERENCES accounts (id),
      email TEXT UNIQUE,
      link_hash TEXT UNIQUE,
      role TEXT NOT NULL,
      status TEXT NOT NULL,
      created_at_ms INTEGER NOT NULL,
      document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX people_in_order ON people (created_at_ms, id);
    CREATE INDEX people_of_account ON people (account_id, created_at_ms, id);
    CREATE INDEX people_in_role ON people (role, status);
  `,
  postgres: `
    CREATE TABLE people (
      id bigint PRIMARY KEY,
      account_id bigint REFERENCES accounts (id),
      email text COLLATE "C" UNIQUE,
      link_hash text COLLATE "C" UNIQUE,
      role text COLLATE "C" NOT NULL,
      status text COLLATE "C" NOT NULL,
      created_at_ms bigint NOT NULL,
      document text NOT NULL
    );
    CREATE INDEX people_in_order ON people (created_at_ms, id);
    CREATE INDEX people_of_account ON people (account_id, created_at_ms, id);
    CREATE INDEX people_in_role ON people (role, status);
  `,
};

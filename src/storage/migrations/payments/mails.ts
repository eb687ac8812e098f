// Queued mails, links that are mailed, and sign-ups.

import { forBoth } from '../migration-part.ts';

export const mailsPart = forBoth(`
  CREATE TABLE mails (
    id bigint PRIMARY KEY,
    created_at_ms bigint NOT NULL,
    next_at_ms bigint NOT NULL,
    tries bigint NOT NULL,
    document text NOT NULL,
    secret_sealed text
  );
  CREATE INDEX mails_due ON mails (next_at_ms, id);
  CREATE TABLE mailed_links (
    hash text COLLATE "C" PRIMARY KEY,
    purpose text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL,
    expires_at_ms bigint NOT NULL,
    document text NOT NULL
  );
  CREATE INDEX mailed_links_of_email ON mailed_links (purpose, email);
  CREATE INDEX mailed_links_that_end ON mailed_links (expires_at_ms);
  CREATE TABLE sign_ups (
    account_id bigint PRIMARY KEY,
    at_ms bigint NOT NULL,
    email_key text COLLATE "C" NOT NULL,
    is_credited bigint NOT NULL
  );
  CREATE INDEX sign_ups_in_order ON sign_ups (at_ms);
  CREATE UNIQUE INDEX sign_ups_credited ON sign_ups (email_key) WHERE is_credited = 1;
`);

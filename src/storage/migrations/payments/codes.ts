// The tables of redemption codes.

import { forBoth } from '../migration-part.ts';

export const codesPart = forBoth(`
  CREATE TABLE code_batches (
    id bigint PRIMARY KEY,
    created_at_ms bigint NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    count bigint NOT NULL,
    redeemed bigint NOT NULL CHECK (redeemed BETWEEN 0 AND count),
    expires_at_ms bigint,
    once_per_account smallint NOT NULL,
    note text,
    status text NOT NULL,
    made_by text NOT NULL
  );
  CREATE INDEX code_batches_in_order ON code_batches (created_at_ms, id);
  CREATE TABLE codes (
    batch_id bigint NOT NULL REFERENCES code_batches (id),
    number bigint NOT NULL,
    hash text COLLATE "C" NOT NULL UNIQUE,
    account_id bigint,
    redeemed_by text,
    redeemed_at_ms bigint,
    once_account_id bigint,
    PRIMARY KEY (batch_id, number)
  );
  CREATE UNIQUE INDEX codes_once_per_account ON codes (batch_id, once_account_id) WHERE once_account_id IS NOT NULL;
`);

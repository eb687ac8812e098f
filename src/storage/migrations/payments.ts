// Version 10: debts, plans, payments, redemption codes, events with their destinations, and mails.

import { forBoth, joined, type MigrationPart } from './migration-part.ts';

const accountColumns = forBoth(`
  ALTER TABLE account_meters ADD COLUMN debt bigint NOT NULL DEFAULT 0 CHECK (debt >= 0);
  ALTER TABLE account_meters ADD COLUMN plan text;
  ALTER TABLE account_meters ADD COLUMN low_balances text;
`);

const tables = forBoth(`
  CREATE TABLE payments (
    id bigint PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES accounts (id),
    kind text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    source text COLLATE "C" UNIQUE,
    version bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    check_at_ms bigint,
    document text NOT NULL
  );
  CREATE TABLE billing (
    account_id bigint PRIMARY KEY REFERENCES accounts (id),
    version bigint NOT NULL,
    customer text COLLATE "C" NOT NULL UNIQUE,
    document text NOT NULL
  );
  CREATE TABLE payment_events (
    id text COLLATE "C" PRIMARY KEY,
    at_ms bigint NOT NULL,
    type text NOT NULL,
    payment_id bigint
  );
  CREATE INDEX payments_in_order ON payments (created_at_ms, id);
  CREATE INDEX payments_of_account ON payments (account_id, created_at_ms, id);
  CREATE INDEX payments_of_status ON payments (status, created_at_ms, id);
  CREATE INDEX payments_of_kind ON payments (kind, created_at_ms, id);
  CREATE INDEX payments_due ON payments (check_at_ms) WHERE check_at_ms IS NOT NULL;
  CREATE UNIQUE INDEX one_pending_recharge ON payments (account_id) WHERE kind = 'auto_recharge' AND status = 'pending';
  CREATE INDEX payment_events_in_order ON payment_events (at_ms);

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

  CREATE TABLE events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms bigint NOT NULL,
    account_id bigint,
    type text COLLATE "C" NOT NULL,
    dedupe text COLLATE "C" UNIQUE,
    document text NOT NULL,
    spread bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX events_in_order ON events (at_ms, seq);
  CREATE INDEX events_of_account ON events (account_id, at_ms, seq);
  CREATE INDEX events_not_spread ON events (seq) WHERE spread = 0;

  CREATE TABLE destinations (
    id bigint PRIMARY KEY,
    account_id bigint REFERENCES accounts (id),
    created_at_ms bigint NOT NULL,
    status text NOT NULL,
    disabled_reason text,
    version bigint NOT NULL,
    failing_since_ms bigint,
    delivered_at_ms bigint,
    document text NOT NULL
  );
  CREATE INDEX destinations_in_order ON destinations (created_at_ms, id);
  CREATE INDEX destinations_of_account ON destinations (account_id, created_at_ms, id);

  CREATE TABLE deliveries (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_seq bigint NOT NULL,
    destination_id bigint NOT NULL,
    account_id bigint,
    lane bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    tries bigint NOT NULL,
    next_at_ms bigint,
    done_at_ms bigint,
    attempts text NOT NULL,
    UNIQUE (event_seq, destination_id)
  );
  CREATE INDEX deliveries_in_order ON deliveries (created_at_ms, seq);
  CREATE INDEX deliveries_of_account ON deliveries (account_id, seq);
  CREATE INDEX deliveries_of_destination ON deliveries (destination_id, seq);
  CREATE INDEX deliveries_due ON deliveries (next_at_ms, seq) WHERE next_at_ms IS NOT NULL;
  CREATE INDEX deliveries_waiting ON deliveries (destination_id, lane, event_seq) WHERE status = 'pending';
  CREATE INDEX key_meters_that_end ON key_meters (expires_at_ms, id) WHERE expires_at_ms IS NOT NULL;

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

export const paymentTables = joined([accountColumns, tables]);

/** Version 17: development builds of 25 and 26 November 2026 made version 10 without some of these tables. */
export const missingPaymentTables: MigrationPart = {
  sqlite: ifMissing(tables.sqlite),
  postgres: ifMissing(tables.postgres),
};

function ifMissing(statements: string): string {
  return statements.replaceAll(/CREATE (TABLE|INDEX|UNIQUE INDEX) /g, 'CREATE $1 IF NOT EXISTS ');
}

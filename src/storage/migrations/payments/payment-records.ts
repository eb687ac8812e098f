// Payments, facts about accounts at the payment provider, and the webhook events that were handled.

import { forBoth } from '../migration-part.ts';

export const paymentRecordsPart = forBoth(`
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
`);

// Version 25: sources of provider bills, and the bills by day with their comparison.

import { forBoth } from './migration-part.ts';

export const providerBillTables = forBoth(`
  CREATE TABLE provider_bill_sources (
    provider text COLLATE "C" PRIMARY KEY,
    document text NOT NULL
  );
  CREATE TABLE provider_bills (
    provider text COLLATE "C" NOT NULL,
    day_ms bigint NOT NULL,
    document text NOT NULL,
    models text NOT NULL,
    PRIMARY KEY (provider, day_ms)
  );
  CREATE INDEX provider_bills_in_order ON provider_bills (day_ms, provider);
`);

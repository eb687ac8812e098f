// Version 39: the units of messages that are not billed by tokens of text alone, in a table beside the daily totals. Records know the parts of
// their cost since then: units of earlier ones, and of those that nodes of earlier versions write, are not counted.

import { forBoth } from './migration-part.ts';

export const unitsInTotals = forBoth(`
  CREATE TABLE unit_totals (
    day_ms bigint NOT NULL,
    account_id bigint NOT NULL,
    key_id bigint NOT NULL,
    model text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    group_name text COLLATE "C" NOT NULL,
    person_id bigint NOT NULL,
    tag_set bigint NOT NULL,
    unit text COLLATE "C" NOT NULL,
    quantity bigint NOT NULL,
    cost bigint NOT NULL,
    PRIMARY KEY (day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set, unit)
  ) WITH (fillfactor = 40);
  CREATE INDEX unit_totals_of_account ON unit_totals (account_id, day_ms, key_id, model, provider, group_name, person_id, tag_set, unit);
  CREATE INDEX unit_totals_of_key ON unit_totals (key_id, day_ms, model, provider, group_name, person_id, tag_set, unit);
`);

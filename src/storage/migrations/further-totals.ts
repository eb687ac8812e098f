// Version 31: the coarsest totals of closed days, for reports of everything with many keys. A trigger adds them up from the untagged
// totals when a day is rolled up, by whichever version. All days are rolled up anew.

import { forBoth } from './migration-part.ts';
import { SUMS } from './rolled-totals.ts';

const TABLES = {
  model_totals: 'day_ms, model, provider, group_name',
  account_totals: 'day_ms, account_id',
  key_totals: 'day_ms, account_id, key_id, person_id',
};

const typeOf = (name: string) => (/^(?:model|provider|group_name)$/.test(name) ? 'text COLLATE "C"' : 'bigint');

const created = Object.entries(TABLES)
  .map(([table, key]) => {
    const columns = key.split(', ').map((name) => `${name} ${typeOf(name)} NOT NULL,`);
    return `CREATE TABLE ${table} (${columns.join(' ')} ${SUMS}, PRIMARY KEY (${key}));`;
  })
  .join('\n');

/** Statements that add up the untagged totals of the day `new`. */
export const filled = Object.entries(TABLES)
  .map(
    ([table, key]) => `DELETE FROM ${table} WHERE day_ms = new.day_ms;
    INSERT INTO ${table} SELECT ${key}, SUM(messages), SUM(input_tokens), SUM(output_tokens), SUM(cache_read_tokens), SUM(cache_write_tokens),
      SUM(cost), SUM(written_off), SUM(provider_cost), SUM(costed_messages), SUM(costed_revenue)
      FROM untagged_totals WHERE day_ms = new.day_ms GROUP BY ${key};`,
  )
  .join('\n');

export const furtherTotals = forBoth(`
  DELETE FROM rolled_days;
  ${created}
  CREATE INDEX account_totals_of_account ON account_totals (account_id, day_ms);
  CREATE INDEX key_totals_of_account ON key_totals (account_id, day_ms, key_id, person_id);
  CREATE INDEX key_totals_of_key ON key_totals (key_id, day_ms, person_id);
@sqlite
  CREATE TRIGGER day_rolled_up AFTER INSERT ON rolled_days BEGIN
    ${filled}
  END;
@postgres
  CREATE FUNCTION day_rolled_up() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ${filled}
    RETURN NULL;
  END $$;
  CREATE TRIGGER day_rolled_up AFTER INSERT ON rolled_days FOR EACH ROW EXECUTE FUNCTION day_rolled_up();
`);

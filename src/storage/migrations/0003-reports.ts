// What reports need: of daily totals, how much of them has a known provider cost, and the way to one
// account or key; of usage and audit, the ways to what is searched for. An index that a completed
// message is not in costs it nothing; one of daily totals costs only the first message of a day.

import type { Migration } from './migration.ts';

export const reports: Migration = {
  version: 3,
  name: 'reports',
  leastKnown: 3,
  sqlite: `
    ALTER TABLE daily_totals ADD COLUMN costed_messages INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE daily_totals ADD COLUMN costed_revenue INTEGER NOT NULL DEFAULT 0;
    UPDATE daily_totals SET (costed_messages, costed_revenue) = (
      SELECT COUNT(*), COALESCE(SUM(r.cost - r.written_off), 0) FROM usage_records r
      WHERE r.key_id = daily_totals.key_id AND r.account_id = daily_totals.account_id
        AND r.at_ms >= daily_totals.day_ms AND r.at_ms < daily_totals.day_ms + 86400000
        AND r.model = daily_totals.model AND r.provider_cost IS NOT NULL);
    CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model);
    CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model);

    CREATE INDEX cut_usage ON usage_records (outcome, at_ms) WHERE outcome <> 'completed';
    CREATE INDEX cut_usage_of_account ON usage_records (account_id, outcome, at_ms) WHERE outcome <> 'completed';
    CREATE INDEX cut_usage_of_key ON usage_records (key_id, outcome, at_ms) WHERE outcome <> 'completed';

    CREATE INDEX audit_of_actor_in_account ON audit_records (actor, account_id, at_ms);
  `,
  postgres: `
    ALTER TABLE daily_totals ADD COLUMN costed_messages bigint NOT NULL DEFAULT 0;
    ALTER TABLE daily_totals ADD COLUMN costed_revenue bigint NOT NULL DEFAULT 0;
    CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model);
    CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model);

    CREATE INDEX cut_usage ON usage_records (outcome, at_ms, seq) WHERE outcome <> 'completed';
    CREATE INDEX cut_usage_of_account ON usage_records (account_id, outcome, at_ms, seq) WHERE outcome <> 'completed';
    CREATE INDEX cut_usage_of_key ON usage_records (key_id, outcome, at_ms, seq) WHERE outcome <> 'completed';

    CREATE INDEX audit_of_actor_in_account ON audit_records (actor, account_id, at_ms, seq);
  `,
};

// Statements that give a database the tables of before a version, for tests of earlier data. Rows stay, without what later columns
// have. A new migration is undone here too.

import { filled } from '../../src/storage/migrations/further-totals.ts';
import { addedKeys, completed, postgresFunction, sqliteTrigger } from '../../src/storage/migrations/spans-of-totals.ts';

interface Undone {
  version: number;
  sqlite: string;
  postgres: string;
}

const dropTables = (...tables: string[]) => tables.map((table) => `DROP TABLE ${table};`).join(' ');
const dropIndexes = (...indexes: string[]) => indexes.map((index) => `DROP INDEX ${index};`).join(' ');
const dropColumns = (table: string, ...columns: string[]) =>
  columns.map((column) => `ALTER TABLE ${table} DROP COLUMN ${column};`).join(' ');
const onBoth = (version: number, ...statements: string[]): Undone => {
  const text = statements.join(' ');
  return { version, sqlite: text, postgres: text };
};

const RECORDS = dropColumns('usage_records', 'person_id', 'session', 'provider', 'tag_set');

const NAMES =
  'messages input_tokens output_tokens cache_read_tokens cache_write_tokens cost written_off provider_cost costed_messages costed_revenue'.split(
    ' ',
  );
const SUMS = NAMES.map((name) => `SUM(${name})`).join(', ');

const ROLLED = dropTables('rolled_days', 'untagged_totals', 'tag_totals');
const BEFORE_GROUPS = 'day_ms, account_id, key_id, model, provider, person_id, tag_set';

const FURTHER = dropTables('model_totals', 'account_totals', 'key_totals');

const SPANS = dropTables('rolled_spans', 'key_weeks', 'key_four_weeks');

const VALUES = dropTables(
  'tag_value_totals',
  'untagged_weeks',
  'untagged_four_weeks',
  'total_weeks',
  'total_four_weeks',
);

const ROLLED_UNITS = dropTables('model_unit_totals', 'unit_weeks', 'unit_four_weeks');

/** The latest first. */
const undone: readonly Undone[] = [
  {
    version: 40,
    sqlite: `DROP TRIGGER units_rolled_up; DROP TRIGGER unit_spans_rolled_up; ${ROLLED_UNITS}`,
    postgres: `DROP FUNCTION units_rolled_up CASCADE; DROP FUNCTION unit_spans_rolled_up CASCADE; ${ROLLED_UNITS}`,
  },
  onBoth(39, dropTables('unit_totals')),
  onBoth(38, dropIndexes('batch_results_counted')),
  onBoth(
    37,
    dropIndexes('batches_of_account', 'batches_by_time', 'batches_open'),
    dropColumns('batch_results', 'cost'),
  ),
  onBoth(36, dropTables('batch_parts')),
  {
    version: 35,
    sqlite: `DROP TRIGGER day_rolled_up; ${sqliteTrigger('day_rolled_up', 'INSERT ON rolled_days', `${filled} ${completed}`)}
      DROP TRIGGER span_rolled_up; ${sqliteTrigger('span_rolled_up', 'INSERT ON rolled_spans', addedKeys)} ${VALUES}`,
    postgres: `${postgresFunction('day_rolled_up', `${filled} ${completed}`)} ${postgresFunction('span_rolled_up', addedKeys)} ${VALUES}`,
  },
  {
    version: 34,
    sqlite: `DROP TRIGGER day_taken_out; DROP TRIGGER day_rolled_up; ${SPANS}
      CREATE TRIGGER day_rolled_up AFTER INSERT ON rolled_days BEGIN ${filled} END;`,
    postgres: `DROP FUNCTION day_taken_out CASCADE; DROP FUNCTION span_rolled_up CASCADE; ${SPANS}
      CREATE OR REPLACE FUNCTION day_rolled_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${filled} RETURN NULL; END $$;`,
  },
  onBoth(33, dropTables('batches', 'batch_results')),
  onBoth(32, dropTables('saved_views')),
  {
    version: 31,
    sqlite: `DROP TRIGGER day_rolled_up; ${FURTHER}`,
    postgres: `DROP FUNCTION day_rolled_up CASCADE; ${FURTHER}`,
  },
  onBoth(30, dropTables('files')),
  onBoth(29, dropColumns('refusals', 'scope')),
  {
    version: 28,
    sqlite: `DROP TRIGGER day_changed_by_insert; DROP TRIGGER day_changed_by_update; ${ROLLED}`,
    postgres: `DROP FUNCTION roll_up_day; DROP FUNCTION day_changed CASCADE; ${ROLLED}`,
  },
  onBoth(27, dropTables('incidents')),
  {
    version: 26,
    sqlite: `ALTER TABLE usage_records DROP COLUMN group_in_totals; ALTER TABLE daily_totals RENAME TO later_totals;
      DROP INDEX totals_of_account; DROP INDEX totals_of_key;
      CREATE TABLE daily_totals (day_ms INTEGER NOT NULL, account_id INTEGER NOT NULL, key_id INTEGER NOT NULL, model TEXT NOT NULL,
        messages INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL, cost INTEGER NOT NULL, written_off INTEGER NOT NULL, provider_cost INTEGER NOT NULL,
        costed_messages INTEGER NOT NULL DEFAULT 0, costed_revenue INTEGER NOT NULL DEFAULT 0, provider TEXT NOT NULL DEFAULT '',
        person_id INTEGER NOT NULL DEFAULT 0, tag_set INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (${BEFORE_GROUPS})) STRICT, WITHOUT ROWID;
      INSERT INTO daily_totals SELECT day_ms, account_id, key_id, model, ${SUMS}, provider, person_id, tag_set
        FROM later_totals GROUP BY ${BEFORE_GROUPS};
      DROP TABLE later_totals;
      CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model, provider, person_id, tag_set);
      CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model, provider, person_id, tag_set);`,
    postgres: `ALTER TABLE usage_records DROP COLUMN group_in_totals;
      INSERT INTO attributed_totals (day_ms, account_id, key_id, model, provider, person_id, tag_set, ${NAMES.join(', ')})
        SELECT ${BEFORE_GROUPS}, ${SUMS} FROM grouped_totals GROUP BY ${BEFORE_GROUPS};
      DROP TABLE grouped_totals;
      ${dropIndexes('totals_in_order', 'attributed_totals_in_order', 'totals_of_account', 'totals_of_key')}
      ${dropIndexes('attributed_totals_of_account', 'attributed_totals_of_key')}
      ${dropColumns('daily_totals', 'group_name')}
      CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model, provider, person_id, tag_set);
      CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model, provider, person_id, tag_set);
      CREATE INDEX attributed_totals_of_account ON attributed_totals (account_id, day_ms, key_id, model, provider, person_id, tag_set);
      CREATE INDEX attributed_totals_of_key ON attributed_totals (key_id, day_ms, model, provider, person_id, tag_set);`,
  },
  onBoth(25, dropTables('provider_bill_sources', 'provider_bills')),
  onBoth(24, dropTables('exports', 'export_runs')),
  onBoth(23, dropTables('agent_grants', 'agent_keys', 'device_codes')),
  onBoth(22, dropTables('scim_users', 'scim_groups', 'scim_members')),
  onBoth(21, dropTables('directory_groups'), dropIndexes('people_by_identity'), dropColumns('people', 'identity')),
  {
    version: 20,
    sqlite: `DROP TABLE tag_sets; DROP INDEX usage_of_session; ${RECORDS}`, // the migration leaves columns of totals out
    postgres: `DROP TABLE tag_sets; DROP INDEX usage_of_session; ${RECORDS}
      INSERT INTO daily_totals SELECT day_ms, account_id, key_id, model, ${SUMS} FROM attributed_totals GROUP BY 1, 2, 3, 4;
      DROP TABLE attributed_totals; DROP INDEX totals_of_account; DROP INDEX totals_of_key;
      ${dropColumns('daily_totals', 'provider', 'person_id', 'tag_set')}
      CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model);
      CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model);`,
  },
  onBoth(
    19,
    dropIndexes('accounts_below', 'keys_of_person'),
    dropTables('person_meters'),
    dropColumns('accounts', 'parent_id'),
    dropColumns('account_meters', 'company'),
    dropColumns('keys', 'person_id'),
    dropColumns('key_meters', 'person_id'),
  ),
  {
    version: 18,
    sqlite: '',
    postgres: 'DROP FUNCTION make_usage_month, drop_usage_month, carry_entries, carried_before_ms;',
  },
  onBoth(16, dropIndexes('people_by_email')),
  onBoth(15, dropColumns('account_meters', 'past_windows', 'reversals')),
];

/** From the latest version to the one before `version`, at least 15. */
export function tablesBefore(version: number): { sqlite: string; postgres: string } {
  const steps = undone.filter((step) => step.version >= version);
  const sqlite = steps.map((step) => step.sqlite).join(' ');
  const postgres = steps.map((step) => step.postgres).join(' ');
  return {
    sqlite: `${sqlite} PRAGMA user_version = ${version - 1}`,
    postgres: `${postgres} DELETE FROM schema_versions WHERE version >= ${version}`,
  };
}

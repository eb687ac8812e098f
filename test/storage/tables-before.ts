// Statements that give a database the tables of before a version, for tests of earlier data. Rows stay, without what later columns
// have. A new migration is undone here too.

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

const SUMS =
  'messages input_tokens output_tokens cache_read_tokens cache_write_tokens cost written_off provider_cost costed_messages costed_revenue'
    .split(' ')
    .map((name) => `SUM(${name})`)
    .join(', ');

/** The latest first. */
const undone: readonly Undone[] = [
  onBoth(26, dropTables('incidents')),
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

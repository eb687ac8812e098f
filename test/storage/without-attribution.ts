// Statements that give a database the tables of before version 20, for tests of earlier data. Rows stay, without what they are
// attributed to.

const RECORDS = ['person_id', 'session', 'provider', 'tag_set']
  .map((column) => `ALTER TABLE usage_records DROP COLUMN ${column};`)
  .join(' ');

export const withoutAttribution = {
  sqlite: `DROP TABLE tag_sets; DROP INDEX usage_of_session; ${RECORDS}`, // the migration leaves columns of totals out
  postgres: `DROP TABLE tag_sets; DROP INDEX usage_of_session; ${RECORDS}
    ALTER TABLE daily_totals DROP CONSTRAINT daily_totals_pkey;
    DROP INDEX totals_of_account; DROP INDEX totals_of_key;
    ALTER TABLE daily_totals DROP COLUMN provider, DROP COLUMN person_id, DROP COLUMN tag_set;
    ALTER TABLE daily_totals ADD PRIMARY KEY (day_ms, account_id, key_id, model);
    CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model);
    CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model);`,
};

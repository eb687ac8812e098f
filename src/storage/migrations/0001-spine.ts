// Accounts, keys, their meters, holds, the journal, usage records, daily totals, leases, catalogue.
// Amounts are nanodollars, times milliseconds since 1970, ids whole numbers.

import type { Migration } from './migration.ts';

export const spine: Migration = {
  version: 1,
  name: 'spine',
  leastKnown: 1,
  sqlite: `
    CREATE TABLE accounts (
      id INTEGER PRIMARY KEY,
      created_at_ms INTEGER NOT NULL,
      document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX accounts_in_order ON accounts (created_at_ms, id);
    CREATE TABLE keys (
      id INTEGER PRIMARY KEY,
      account_id INTEGER NOT NULL REFERENCES accounts (id),
      secret_hash TEXT NOT NULL UNIQUE,
      created_at_ms INTEGER NOT NULL,
      document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX keys_in_order ON keys (created_at_ms, id);
    CREATE INDEX keys_of_account ON keys (account_id, created_at_ms, id);

    CREATE TABLE account_meters (
      id INTEGER PRIMARY KEY,
      enabled INTEGER NOT NULL,
      credit_line INTEGER NOT NULL,
      balance INTEGER NOT NULL,
      held INTEGER NOT NULL,
      allowance INTEGER,
      allowance_period TEXT NOT NULL,
      allowance_used INTEGER NOT NULL,
      allowance_held INTEGER NOT NULL,
      allowance_period_start_ms INTEGER NOT NULL,
      group_rates TEXT NOT NULL,
      CHECK (held >= 0 AND balance - held >= -credit_line)
    ) STRICT;
    CREATE TABLE key_meters (
      id INTEGER PRIMARY KEY,
      account_id INTEGER NOT NULL,
      status TEXT NOT NULL,
      expires_at_ms INTEGER,
      quota INTEGER,
      quota_period TEXT NOT NULL,
      quota_used INTEGER NOT NULL,
      quota_held INTEGER NOT NULL,
      quota_period_start_ms INTEGER NOT NULL,
      limits TEXT NOT NULL,
      rates TEXT NOT NULL,
      last_used_at_ms INTEGER
    ) STRICT;
    CREATE TABLE holds (
      request_id TEXT PRIMARY KEY,
      account_id INTEGER NOT NULL,
      key_id INTEGER NOT NULL,
      amount INTEGER NOT NULL CHECK (amount >= 0),
      document TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE leases (
      node TEXT PRIMARY KEY,
      epoch INTEGER NOT NULL,
      expires_at_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE entries (
      seq INTEGER PRIMARY KEY,
      account_id INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      debit INTEGER NOT NULL,
      credit INTEGER NOT NULL,
      amount INTEGER NOT NULL CHECK (amount >= 0),
      kind TEXT NOT NULL,
      reference TEXT,
      note TEXT,
      CHECK (debit <> credit)
    ) STRICT;
    CREATE INDEX entries_of_account ON entries (account_id, at_ms);
    -- Written so that an entry of a message fails the first test: IN (…) would cost more than the rest of its insert.
    CREATE UNIQUE INDEX credits_once ON entries (account_id, reference)
      WHERE kind <> 'usage' AND kind <> 'write_off' AND kind <> 'correction' AND reference IS NOT NULL;
    CREATE TRIGGER entries_are_never_updated BEFORE UPDATE ON entries
      BEGIN SELECT RAISE(ABORT, 'a journal entry is never updated'); END;
    CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
      BEGIN SELECT RAISE(ABORT, 'a journal entry is never deleted'); END;

    CREATE TABLE usage_records (
      seq INTEGER PRIMARY KEY,
      request_id TEXT NOT NULL UNIQUE,
      at_ms INTEGER NOT NULL,
      account_id INTEGER NOT NULL,
      key_id INTEGER NOT NULL,
      ended_by TEXT NOT NULL,
      group_name TEXT NOT NULL,
      model TEXT NOT NULL,
      outcome TEXT NOT NULL,
      status INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      cache_read_tokens INTEGER NOT NULL,
      cache_write_5m_tokens INTEGER NOT NULL,
      cache_write_1h_tokens INTEGER NOT NULL,
      web_searches INTEGER NOT NULL,
      cost INTEGER NOT NULL,
      written_off INTEGER NOT NULL,
      provider_cost INTEGER,
      details TEXT NOT NULL
    ) STRICT;
    CREATE INDEX usage_in_order ON usage_records (at_ms);
    CREATE INDEX usage_of_account ON usage_records (account_id, at_ms);
    CREATE INDEX usage_of_key ON usage_records (key_id, at_ms);

    CREATE TABLE daily_totals (
      day_ms INTEGER NOT NULL,
      account_id INTEGER NOT NULL,
      key_id INTEGER NOT NULL,
      model TEXT NOT NULL,
      messages INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      cache_read_tokens INTEGER NOT NULL,
      cache_write_tokens INTEGER NOT NULL,
      cost INTEGER NOT NULL,
      written_off INTEGER NOT NULL,
      provider_cost INTEGER NOT NULL,
      PRIMARY KEY (day_ms, account_id, key_id, model)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE installation (
      name TEXT PRIMARY KEY,
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE catalog (
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      origin TEXT NOT NULL,
      document TEXT NOT NULL,
      PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
  `,
  postgres: `
    CREATE TABLE accounts (
      id bigint PRIMARY KEY,
      created_at_ms bigint NOT NULL,
      document text NOT NULL
    );
    CREATE INDEX accounts_in_order ON accounts (created_at_ms, id);
    CREATE TABLE keys (
      id bigint PRIMARY KEY,
      account_id bigint NOT NULL REFERENCES accounts (id),
      made_by text COLLATE "C",
      created_at_ms bigint NOT NULL,
      document text NOT NULL
    );
    CREATE INDEX keys_in_order ON keys (created_at_ms, id);
    CREATE INDEX keys_of_account ON keys (account_id, created_at_ms, id);
    CREATE INDEX keys_of_maker ON keys (made_by, created_at_ms, id);

    -- Rows that change with every message leave room on their page for what they become.
    CREATE TABLE account_meters (
      id bigint PRIMARY KEY,
      enabled smallint NOT NULL,
      credit_line bigint NOT NULL,
      balance bigint NOT NULL,
      held bigint NOT NULL,
      allowance bigint,
      allowance_period text NOT NULL,
      allowance_used bigint NOT NULL,
      allowance_held bigint NOT NULL,
      allowance_period_start_ms bigint NOT NULL,
      group_rates text NOT NULL,
      CHECK (held >= 0 AND balance - held >= -credit_line)
    ) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);
    CREATE TABLE key_meters (
      id bigint PRIMARY KEY,
      account_id bigint NOT NULL,
      status text NOT NULL,
      expires_at_ms bigint,
      quota bigint,
      quota_period text NOT NULL,
      quota_used bigint NOT NULL,
      quota_held bigint NOT NULL,
      quota_period_start_ms bigint NOT NULL,
      limits text NOT NULL,
      rates text NOT NULL,
      last_used_at_ms bigint
    ) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);
    -- Whose it is and its claim stand in columns too: other nodes look for them.
    CREATE TABLE holds (
      request_id text COLLATE "C" PRIMARY KEY,
      account_id bigint NOT NULL,
      key_id bigint NOT NULL,
      node text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      claim text COLLATE "C",
      amount bigint NOT NULL CHECK (amount >= 0),
      document text NOT NULL
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
    -- Without the id: while nothing is known of the table, ids would be looked for through it.
    CREATE INDEX holds_of_owner ON holds (node, epoch);
    CREATE TABLE leases (
      node text COLLATE "C" PRIMARY KEY,
      epoch bigint NOT NULL,
      expires_at_ms bigint NOT NULL
    ) WITH (fillfactor = 40);

    CREATE TABLE entries (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      account_id bigint NOT NULL,
      at_ms bigint NOT NULL,
      debit bigint NOT NULL,
      credit bigint NOT NULL,
      amount bigint NOT NULL CHECK (amount >= 0),
      kind text COLLATE "C" NOT NULL,
      reference text COLLATE "C",
      note text,
      CHECK (debit <> credit)
    );
    CREATE INDEX entries_of_account ON entries (account_id, at_ms, seq);
    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION '% is never %', TG_ARGV[0], TG_ARGV[1] USING ERRCODE = 'restrict_violation'; END $$;
    CREATE TRIGGER entries_are_never_updated BEFORE UPDATE ON entries
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a journal entry', 'updated');
    CREATE TRIGGER entries_are_never_truncated BEFORE TRUNCATE ON entries
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a journal entry', 'deleted');

    -- By the month of at_ms, as 202611, which is a column of its own: the index of the id then answers "this id, since that
    -- month", also where a month is so new that nothing is known of it and it would be read through by at_ms.
    CREATE SEQUENCE usage_records_seq;
    CREATE TABLE usage_records (
      seq bigint NOT NULL DEFAULT nextval('usage_records_seq'),
      request_id text COLLATE "C" NOT NULL,
      at_ms bigint NOT NULL,
      account_id bigint NOT NULL,
      key_id bigint NOT NULL,
      ended_by text NOT NULL,
      group_name text NOT NULL,
      model text COLLATE "C" NOT NULL,
      outcome text COLLATE "C" NOT NULL,
      status integer NOT NULL,
      input_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      cache_read_tokens bigint NOT NULL,
      cache_write_5m_tokens bigint NOT NULL,
      cache_write_1h_tokens bigint NOT NULL,
      web_searches bigint NOT NULL,
      cost bigint NOT NULL,
      written_off bigint NOT NULL,
      provider_cost bigint,
      details text NOT NULL,
      month integer NOT NULL,
      PRIMARY KEY (request_id, month)
    ) PARTITION BY LIST (month);
    -- With the number, by which rows of one millisecond are listed: there is no row's own, as SQLite has it.
    CREATE INDEX usage_by_number ON usage_records (seq);
    CREATE INDEX usage_in_order ON usage_records (at_ms, seq);
    CREATE INDEX usage_of_account ON usage_records (account_id, at_ms, seq);
    CREATE INDEX usage_of_key ON usage_records (key_id, at_ms, seq);

    CREATE TABLE daily_totals (
      day_ms bigint NOT NULL,
      account_id bigint NOT NULL,
      key_id bigint NOT NULL,
      model text COLLATE "C" NOT NULL,
      messages bigint NOT NULL,
      input_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      cache_read_tokens bigint NOT NULL,
      cache_write_tokens bigint NOT NULL,
      cost bigint NOT NULL,
      written_off bigint NOT NULL,
      provider_cost bigint NOT NULL,
      PRIMARY KEY (day_ms, account_id, key_id, model)
    ) WITH (fillfactor = 40);

    CREATE TABLE installation (
      name text COLLATE "C" PRIMARY KEY,
      value text NOT NULL
    );
    CREATE TABLE catalog (
      kind text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      origin text NOT NULL,
      document text NOT NULL,
      PRIMARY KEY (kind, name)
    );
  `,
};

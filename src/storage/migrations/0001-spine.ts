// Accounts, keys, their meters, holds, the journal, usage records, daily totals, leases, catalogue.
// Amounts are nanodollars, times milliseconds since 1970, ids whole numbers.

import type { Migration } from './migration.ts';

export const spine: Migration = {
  version: 1,
  name: 'spine',
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
};

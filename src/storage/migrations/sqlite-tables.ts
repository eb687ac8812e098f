// The tables of SQLite as the first migration creates them.

export const sqliteTables = `
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    created_at_ms INTEGER NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX accounts_in_order ON accounts (created_at_ms, id);
  CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    made_by TEXT,
    created_at_ms INTEGER NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX keys_in_order ON keys (created_at_ms, id);
  CREATE INDEX keys_of_account ON keys (account_id, created_at_ms, id);
  CREATE INDEX keys_of_maker ON keys (made_by, created_at_ms, id);
  CREATE TABLE key_secrets (
    secret_hash TEXT PRIMARY KEY,
    key_id INTEGER NOT NULL,
    expires_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_secrets_of_key ON key_secrets (key_id);
  CREATE INDEX key_secrets_that_end ON key_secrets (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

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
    month_start_ms INTEGER NOT NULL DEFAULT 0,
    month_opening INTEGER NOT NULL DEFAULT 0,
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
  -- Usage entries fail the first comparison. IN (…) would cost more than the rest of their insert.
  CREATE UNIQUE INDEX credits_once ON entries (account_id, reference)
    WHERE kind <> 'usage' AND kind <> 'write_off' AND kind <> 'correction' AND kind <> 'refund'
    AND reference IS NOT NULL;
  CREATE TRIGGER entries_are_never_updated BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'a journal entry is never updated'); END;

  -- The entries that the current transaction deletes. Empty between transactions.
  CREATE TABLE carried_entries (seq INTEGER PRIMARY KEY) STRICT;
  CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
    WHEN NOT EXISTS (SELECT 1 FROM carried_entries WHERE seq = OLD.seq)
      OR OLD.at_ms >= COALESCE(
        (SELECT CAST(value AS INTEGER) FROM installation WHERE name = 'journal_kept_since_ms'), -9223372036854775807)
    BEGIN SELECT RAISE(ABORT, 'a journal entry is never deleted'); END;
  CREATE INDEX carried_forward ON entries (account_id) WHERE kind = 'carried_forward';
  CREATE TABLE carried_credits (
    account_id INTEGER NOT NULL,
    reference TEXT NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (account_id, reference)
  ) STRICT, WITHOUT ROWID;
  -- Balance changes of completed months. account_meters has the opening balance of the current month.
  CREATE TABLE month_changes (
    account_id INTEGER NOT NULL,
    month_ms INTEGER NOT NULL,
    change INTEGER NOT NULL,
    PRIMARY KEY (account_id, month_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX entries_of_kind ON entries (account_id, kind, at_ms) WHERE kind <> 'usage';
  -- Most entries fail the first comparison.
  CREATE INDEX entries_of_message ON entries (reference, kind, at_ms)
    WHERE kind <> 'usage' AND kind <> 'write_off' AND (kind = 'correction' OR kind = 'refund');

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
  CREATE INDEX cut_usage ON usage_records (outcome, at_ms) WHERE outcome <> 'completed';
  CREATE INDEX cut_usage_of_account ON usage_records (account_id, outcome, at_ms) WHERE outcome <> 'completed';
  CREATE INDEX cut_usage_of_key ON usage_records (key_id, outcome, at_ms) WHERE outcome <> 'completed';

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
    costed_messages INTEGER NOT NULL DEFAULT 0,
    costed_revenue INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day_ms, account_id, key_id, model)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model);
  CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model);

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

  CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    account_id INTEGER REFERENCES accounts (id),
    secret_hash TEXT NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX tokens_in_order ON tokens (created_at_ms, id);
  CREATE INDEX tokens_of_account ON tokens (account_id, created_at_ms, id);

  CREATE TABLE audit_records (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    address TEXT NOT NULL,
    request_id TEXT,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    account_id INTEGER,
    before TEXT,
    after TEXT
  ) STRICT;
  CREATE INDEX audit_in_order ON audit_records (at_ms);
  CREATE INDEX audit_of_account ON audit_records (account_id, at_ms);
  CREATE INDEX audit_of_object ON audit_records (object, at_ms);
  CREATE INDEX audit_of_actor ON audit_records (actor, at_ms);
  CREATE INDEX audit_of_actor_in_account ON audit_records (actor, account_id, at_ms);
  CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit_records
    BEGIN SELECT RAISE(ABORT, 'an audit record is never updated'); END;
  CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit_records
    BEGIN SELECT RAISE(ABORT, 'an audit record is never deleted'); END;

  CREATE TABLE creations (
    principal TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    request_hash TEXT NOT NULL,
    object TEXT NOT NULL,
    secret_sealed TEXT,
    PRIMARY KEY (principal, idempotency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX creations_in_order ON creations (at_ms);

  CREATE TABLE people (
    id INTEGER PRIMARY KEY,
    account_id INTEGER REFERENCES accounts (id),
    email TEXT UNIQUE,
    link_hash TEXT UNIQUE,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX people_in_order ON people (created_at_ms, id);
  CREATE INDEX people_of_account ON people (account_id, created_at_ms, id);
  CREATE INDEX people_in_role ON people (role, status);

  CREATE TABLE claims (
    key_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    request_id TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    is_answered INTEGER NOT NULL,
    failed_attempts TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (key_id, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX claims_in_order ON claims (at_ms);

  CREATE TABLE answers (
    seq INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    at_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sealed TEXT NOT NULL
  ) STRICT;
  CREATE INDEX answers_in_order ON answers (at_ms, bytes);
  CREATE TABLE answers_stored (
    is_only INTEGER PRIMARY KEY CHECK (is_only = 1),
    bytes INTEGER NOT NULL
  ) STRICT;
  INSERT INTO answers_stored VALUES (1, 0);
  CREATE TRIGGER answers_added AFTER INSERT ON answers BEGIN
    UPDATE answers_stored SET bytes = bytes + new.bytes;
  END;
  CREATE TRIGGER answers_removed AFTER DELETE ON answers BEGIN
    UPDATE answers_stored SET bytes = bytes - old.bytes;
  END;

  CREATE TABLE learned (
    model TEXT PRIMARY KEY,
    document TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

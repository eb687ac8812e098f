// The tables as the first migration creates them. In PostgreSQL, text that is compared or ordered has the collation "C".

import { forBoth, type MigrationPart } from './migration-part.ts';

export const baselineTables: MigrationPart = forBoth(
  `
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
  CREATE TABLE key_secrets (
    secret_hash text COLLATE "C" PRIMARY KEY,
    key_id bigint NOT NULL,
    expires_at_ms bigint
  );
  CREATE INDEX key_secrets_of_key ON key_secrets (key_id);
  CREATE INDEX key_secrets_that_end ON key_secrets (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
@postgres
  -- A low fillfactor leaves space on the page for HOT updates: every message updates these rows.
@both
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
    month_start_ms bigint NOT NULL DEFAULT 0,
    month_opening bigint NOT NULL DEFAULT 0,
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
@sqlite
  CREATE TABLE holds (
    request_id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL,
    key_id INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    document TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
@postgres
  -- node, epoch and claim duplicate the document because other nodes search by them.
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
  -- Without request_id: the planner would use this index for look-ups by id while the table has no statistics.
  CREATE INDEX holds_of_owner ON holds (node, epoch);
@both
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
@sqlite
  -- Usage entries fail the first comparison. IN (…) would cost more than the rest of their insert.
@both
  CREATE UNIQUE INDEX credits_once ON entries (account_id, reference)
    WHERE kind <> 'usage' AND kind <> 'write_off' AND kind <> 'correction' AND kind <> 'refund'
    AND reference IS NOT NULL;
@sqlite
  CREATE TRIGGER entries_are_never_updated BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'a journal entry is never updated'); END;
  -- The entries that the current transaction deletes. Empty between transactions.
@postgres
  CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '% is never %', TG_ARGV[0], TG_ARGV[1] USING ERRCODE = 'restrict_violation'; END $$;
  CREATE TRIGGER entries_are_never_updated BEFORE UPDATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a journal entry', 'updated');
  CREATE TRIGGER entries_are_never_truncated BEFORE TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a journal entry', 'deleted');
  -- The entries that the current transaction deletes. Empty for every other transaction.
@both
  CREATE TABLE carried_entries (seq bigint PRIMARY KEY);
@sqlite
  CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
    WHEN NOT EXISTS (SELECT 1 FROM carried_entries WHERE seq = OLD.seq)
      OR OLD.at_ms >= COALESCE(
        (SELECT CAST(value AS INTEGER) FROM installation WHERE name = 'journal_kept_since_ms'), -9223372036854775807)
    BEGIN SELECT RAISE(ABORT, 'a journal entry is never deleted'); END;
@postgres
  CREATE FUNCTION refuse_to_delete_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM carried_entries WHERE seq = OLD.seq)
      OR OLD.at_ms >= COALESCE(
        (SELECT value::bigint FROM installation WHERE name = 'journal_kept_since_ms'), -9223372036854775807)
    THEN RAISE EXCEPTION 'a journal entry is never deleted' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
  END $$;
  CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION refuse_to_delete_entry();
@both
  CREATE INDEX carried_forward ON entries (account_id) WHERE kind = 'carried_forward';
  CREATE TABLE carried_credits (
    account_id bigint NOT NULL,
    reference text COLLATE "C" NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (account_id, reference)
  );
  -- Balance changes of completed months. account_meters has the opening balance of the current month.
  CREATE TABLE month_changes (
    account_id bigint NOT NULL,
    month_ms bigint NOT NULL,
    change bigint NOT NULL,
    PRIMARY KEY (account_id, month_ms)
  );
  CREATE INDEX entries_of_kind ON entries (account_id, kind, at_ms, seq) WHERE kind <> 'usage';
  -- Most entries fail the first comparison.
  CREATE INDEX entries_of_message ON entries (reference, kind, at_ms, seq)
    WHERE kind <> 'usage' AND kind <> 'write_off' AND (kind = 'correction' OR kind = 'refund');
@sqlite
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
@postgres
  -- Partitioned by the month of at_ms, as 202611. The month is part of the primary key, so that a look-up by id prunes
  -- partitions even before a new month has statistics.
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
  -- Indexes end with seq, which orders rows of one millisecond. SQLite uses the rowid for that.
  CREATE INDEX usage_by_number ON usage_records (seq);
@both
  CREATE INDEX usage_in_order ON usage_records (at_ms, seq);
  CREATE INDEX usage_of_account ON usage_records (account_id, at_ms, seq);
  CREATE INDEX usage_of_key ON usage_records (key_id, at_ms, seq);
  CREATE INDEX cut_usage ON usage_records (outcome, at_ms, seq) WHERE outcome <> 'completed';
  CREATE INDEX cut_usage_of_account ON usage_records (account_id, outcome, at_ms, seq) WHERE outcome <> 'completed';
  CREATE INDEX cut_usage_of_key ON usage_records (key_id, outcome, at_ms, seq) WHERE outcome <> 'completed';
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
    costed_messages bigint NOT NULL DEFAULT 0,
    costed_revenue bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (day_ms, account_id, key_id, model)
  ) WITH (fillfactor = 40);
  CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model);
  CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model);
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
  CREATE TABLE tokens (
    id bigint PRIMARY KEY,
    account_id bigint REFERENCES accounts (id),
    secret_hash text COLLATE "C" NOT NULL UNIQUE,
    created_at_ms bigint NOT NULL,
    document text NOT NULL
  );
  CREATE INDEX tokens_in_order ON tokens (created_at_ms, id);
  CREATE INDEX tokens_of_account ON tokens (account_id, created_at_ms, id);
  CREATE TABLE audit_records (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    role text NOT NULL,
    address text NOT NULL,
    request_id text COLLATE "C",
    action text NOT NULL,
    object text COLLATE "C" NOT NULL,
    account_id bigint,
    before text,
    after text
  );
  CREATE INDEX audit_in_order ON audit_records (at_ms, seq);
  CREATE INDEX audit_of_account ON audit_records (account_id, at_ms, seq);
  CREATE INDEX audit_of_object ON audit_records (object, at_ms, seq);
  CREATE INDEX audit_of_actor ON audit_records (actor, at_ms, seq);
  CREATE INDEX audit_of_actor_in_account ON audit_records (actor, account_id, at_ms, seq);
@sqlite
  CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit_records
    BEGIN SELECT RAISE(ABORT, 'an audit record is never updated'); END;
  CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit_records
    BEGIN SELECT RAISE(ABORT, 'an audit record is never deleted'); END;
@postgres
  CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit_records
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('an audit record', 'updated');
  CREATE TRIGGER audit_is_never_deleted BEFORE DELETE OR TRUNCATE ON audit_records
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('an audit record', 'deleted');
@both
  CREATE TABLE creations (
    principal text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    at_ms bigint NOT NULL,
    request_hash text NOT NULL,
    object text NOT NULL,
    secret_sealed text,
    PRIMARY KEY (principal, idempotency_key)
  );
  CREATE INDEX creations_in_order ON creations (at_ms);
  CREATE TABLE people (
    id bigint PRIMARY KEY,
    account_id bigint REFERENCES accounts (id),
    email text COLLATE "C" UNIQUE,
    link_hash text COLLATE "C" UNIQUE,
    role text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    document text NOT NULL
  );
  CREATE INDEX people_in_order ON people (created_at_ms, id);
  CREATE INDEX people_of_account ON people (account_id, created_at_ms, id);
  CREATE INDEX people_in_role ON people (role, status);
@postgres
  -- One row, incremented last in a transaction, so that epochs follow the order of commits.
  CREATE TABLE change_epoch (
    is_only smallint PRIMARY KEY CHECK (is_only = 1),
    epoch bigint NOT NULL,
    -- Changes after this epoch are available.
    kept_after bigint NOT NULL
  );
  INSERT INTO change_epoch VALUES (1, 0, 0);
  CREATE TABLE changes (
    epoch bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    object_id bigint NOT NULL,
    -- The account whose decisions the change affects. 0: every account. null: none.
    account_id bigint,
    at_ms bigint NOT NULL,
    PRIMARY KEY (epoch, kind, object_id)
  );
@both
  CREATE TABLE claims (
    key_id bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    request_hash text NOT NULL,
    at_ms bigint NOT NULL,
    is_answered smallint NOT NULL,
    failed_attempts text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (key_id, name)
  );
  CREATE INDEX claims_in_order ON claims (at_ms);
@sqlite
  CREATE TABLE answers (
    seq INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    at_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sealed TEXT NOT NULL
  ) STRICT;
@postgres
  -- The total size is kept in 64 rows, so that nodes do not contend for a single one.
  CREATE TABLE answers (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id text COLLATE "C" NOT NULL UNIQUE,
    at_ms bigint NOT NULL,
    bytes bigint NOT NULL,
    sealed text NOT NULL,
    slot smallint NOT NULL CHECK (slot >= 0 AND slot < 64)
  );
@both
  CREATE INDEX answers_in_order ON answers (at_ms, bytes);
@sqlite
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
@postgres
  CREATE TABLE answers_stored (
    slot smallint PRIMARY KEY,
    bytes bigint NOT NULL
  ) WITH (fillfactor = 40);
  INSERT INTO answers_stored SELECT slot, 0 FROM generate_series(0, 63) AS slots (slot);
  -- Slots are locked in ascending order, which prevents deadlocks.
  CREATE FUNCTION count_answers_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM 1 FROM answers_stored WHERE slot IN (SELECT slot FROM added) ORDER BY slot FOR NO KEY UPDATE;
    UPDATE answers_stored AS stored SET bytes = stored.bytes + sums.bytes
      FROM (SELECT slot, SUM(bytes) AS bytes FROM added GROUP BY slot) AS sums WHERE sums.slot = stored.slot;
    RETURN NULL;
  END $$;
  CREATE FUNCTION count_answers_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM 1 FROM answers_stored WHERE slot IN (SELECT slot FROM removed) ORDER BY slot FOR NO KEY UPDATE;
    UPDATE answers_stored AS stored SET bytes = stored.bytes - sums.bytes
      FROM (SELECT slot, SUM(bytes) AS bytes FROM removed GROUP BY slot) AS sums WHERE sums.slot = stored.slot;
    RETURN NULL;
  END $$;
  CREATE TRIGGER answers_added AFTER INSERT ON answers REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_answers_added();
  CREATE TRIGGER answers_removed AFTER DELETE ON answers REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION count_answers_removed();
@both
  CREATE TABLE learned (
    model text COLLATE "C" PRIMARY KEY,
    document text NOT NULL
  );
`,
  { isBaseline: true },
);

// Secrets of keys in a table of their own, so that one key can have two for a while; tokens of the
// admin API; the audit; creations by their idempotency keys. A hash is prefixed with the first
// characters of the proof of the secret under which it was made.

import type { Migration } from './migration.ts';

export const operate: Migration = {
  version: 2,
  name: 'operate',
  leastKnown: 2,
  sqlite: `
    CREATE TABLE key_secrets (
      secret_hash TEXT PRIMARY KEY,
      key_id INTEGER NOT NULL,
      expires_at_ms INTEGER
    ) STRICT, WITHOUT ROWID;
    INSERT INTO key_secrets (secret_hash, key_id, expires_at_ms)
      SELECT substr((SELECT value FROM installation WHERE name = 'secret_proof'), 1, 8) || '.' || secret_hash, id, NULL
      FROM keys;
    CREATE INDEX key_secrets_of_key ON key_secrets (key_id);

    CREATE TABLE keys_with_maker (
      id INTEGER PRIMARY KEY,
      account_id INTEGER NOT NULL REFERENCES accounts (id),
      made_by TEXT,
      created_at_ms INTEGER NOT NULL,
      document TEXT NOT NULL
    ) STRICT;
    INSERT INTO keys_with_maker (id, account_id, made_by, created_at_ms, document)
      SELECT id, account_id, NULL, created_at_ms, json_set(document, '$.madeBy', NULL) FROM keys;
    DROP TABLE keys;
    ALTER TABLE keys_with_maker RENAME TO keys;
    CREATE INDEX keys_in_order ON keys (created_at_ms, id);
    CREATE INDEX keys_of_account ON keys (account_id, created_at_ms, id);
    CREATE INDEX keys_of_maker ON keys (made_by, created_at_ms, id);

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
  `,
  postgres: `
    CREATE TABLE key_secrets (
      secret_hash text COLLATE "C" PRIMARY KEY,
      key_id bigint NOT NULL,
      expires_at_ms bigint
    );
    CREATE INDEX key_secrets_of_key ON key_secrets (key_id);

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
    CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit_records
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('an audit record', 'updated');
    CREATE TRIGGER audit_is_never_deleted BEFORE DELETE OR TRUNCATE ON audit_records
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('an audit record', 'deleted');

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
  `,
};

// Version 23: sign-ins of coding agents. A grant is what a person approved; the key of a person and client pays for its messages;
// a device code waits for approval.

import { forBoth } from './migration-part.ts';

export const agentTables = forBoth(`
  CREATE TABLE agent_grants (
    id bigint PRIMARY KEY,
    account_id bigint NOT NULL,
    person_id bigint NOT NULL,
    key_id bigint NOT NULL,
    client text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    nonce text COLLATE "C" NOT NULL,
    address text NOT NULL,
    created_at_ms bigint NOT NULL,
    refreshed_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL
  );
  CREATE TABLE agent_keys (
    person_id bigint NOT NULL,
    client text COLLATE "C" NOT NULL,
    key_id bigint NOT NULL,
    PRIMARY KEY (person_id, client)
  );
  CREATE TABLE device_codes (
    hash text COLLATE "C" PRIMARY KEY,
    user_code text COLLATE "C" NOT NULL,
    client text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    address text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    grant_id bigint
  );
  CREATE INDEX agent_grants_in_order ON agent_grants (created_at_ms, id);
  CREATE INDEX agent_grants_of_account ON agent_grants (account_id, created_at_ms, id);
  CREATE INDEX agent_grants_of_person ON agent_grants (person_id, created_at_ms, id);
  CREATE INDEX agent_grants_by_end ON agent_grants (expires_at_ms);
  CREATE UNIQUE INDEX device_codes_by_user_code ON device_codes (user_code);
  CREATE INDEX device_codes_by_end ON device_codes (expires_at_ms);
`);

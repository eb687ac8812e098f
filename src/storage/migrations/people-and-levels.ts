// Version 19: accounts above others, whose key a key is, and the meters of people. Keys of members become theirs; those that
// owners, operators and tokens made are service keys (null).

import { forBoth } from './migration-part.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The id of a person as the maker of a key has it: nine digits (src/base/ids.ts). */
const PERSON_NAME = Array.from({ length: 9 }, (_, at) => 62n ** BigInt(8 - at))
  .map((worth) => `substr('${BASE62}', CAST(id / ${worth} % 62 + 1 AS integer), 1)`)
  .join(' || ');
const NO_USE = JSON.stringify(['5h', 'day', 'week', 'month'].map((length) => ({ length, used: 0, startMs: 0 })));

export const peopleAndLevels = forBoth(`
  ALTER TABLE accounts ADD COLUMN parent_id bigint;
  CREATE INDEX accounts_below ON accounts (parent_id, created_at_ms, id) WHERE parent_id IS NOT NULL;
  ALTER TABLE account_meters ADD COLUMN company text;
  ALTER TABLE keys ADD COLUMN person_id bigint;
  CREATE INDEX keys_of_person ON keys (person_id, created_at_ms, id) WHERE person_id IS NOT NULL;
  ALTER TABLE key_meters ADD COLUMN person_id bigint;
  CREATE TABLE person_meters (
    id bigint PRIMARY KEY,
    account_id bigint NOT NULL,
    enabled smallint NOT NULL,
    held bigint NOT NULL CHECK (held >= 0),
    windows text NOT NULL,
    budgets text
  ) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);
  INSERT INTO person_meters (id, account_id, enabled, held, windows)
    SELECT id, account_id, CASE WHEN status = 'disabled' THEN 0 ELSE 1 END, 0, '${NO_USE}'
    FROM people WHERE account_id IS NOT NULL;
  UPDATE keys SET person_id = m.id,
      document = substr(keys.document, 1, length(keys.document) - 1) || ',"personId":' || m.id || '}'
    FROM (SELECT id, account_id, 'person_' || ${PERSON_NAME} AS name FROM people
      WHERE account_id IS NOT NULL AND role = 'member') m
    WHERE keys.made_by = m.name AND keys.account_id = m.account_id;
  UPDATE key_meters SET person_id = keys.person_id FROM keys WHERE keys.id = key_meters.id AND keys.person_id IS NOT NULL;
`);

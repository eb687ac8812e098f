// Version 22: users and groups that a directory writes by SCIM, and which user is in which group. Names and addresses are stored in
// lower case in columns, by which they are found; documents have them as they were written.

import { forBoth } from './migration-part.ts';

export const scimTables = forBoth(`
  CREATE TABLE scim_users (
    id bigint PRIMARY KEY,
    user_name text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    person_id bigint,
    created_at_ms bigint NOT NULL,
    document text NOT NULL
  );
  CREATE UNIQUE INDEX scim_users_by_name ON scim_users (user_name);
  CREATE UNIQUE INDEX scim_users_by_email ON scim_users (email);
  CREATE INDEX scim_users_by_external_id ON scim_users (external_id);
  CREATE UNIQUE INDEX scim_users_by_person ON scim_users (person_id);
  CREATE INDEX scim_users_in_order ON scim_users (created_at_ms, id);
  CREATE TABLE scim_groups (
    id bigint PRIMARY KEY,
    display_name text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    created_at_ms bigint NOT NULL,
    document text NOT NULL
  );
  CREATE UNIQUE INDEX scim_groups_by_name ON scim_groups (display_name);
  CREATE INDEX scim_groups_by_external_id ON scim_groups (external_id);
  CREATE INDEX scim_groups_in_order ON scim_groups (created_at_ms, id);
  CREATE TABLE scim_members (
    group_id bigint NOT NULL,
    user_id bigint NOT NULL,
    PRIMARY KEY (group_id, user_id)
  );
  CREATE INDEX scim_members_by_user ON scim_members (user_id, group_id);
`);

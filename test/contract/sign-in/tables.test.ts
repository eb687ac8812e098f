// The columns that the library of sign-ins needs. A node that may not create tables compares versions only: where these columns change,
// a migration without statements makes such nodes wait for `turnpike migrate`.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { migrateSignIn } from '../../../src/auth/auth.ts';
import { openSignIn, signInPath } from '../../../src/storage/sqlite/sqlite.ts';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';

const TABLES = {
  account:
    'accessToken accessTokenExpiresAt accountId createdAt id idToken password providerId refreshToken refreshTokenExpiresAt scope updatedAt userId',
  guesses: 'name since_ms taken',
  session: 'createdAt expiresAt id ipAddress proof token updatedAt userAgent userId',
  twoFactor: 'backupCodes failedVerificationCount id lockedUntil secret userId verified',
  user: 'createdAt email emailVerified id image name twoFactorEnabled updatedAt',
  verification: 'createdAt expiresAt id identifier updatedAt value',
};

test('the sign-in tables have the columns that version 18 was made with', async () => {
  using directory = temporaryDirectory();
  const path = signInPath(directory.path);
  const opened = openSignIn(path);
  await migrateSignIn(opened);
  await opened.close();
  using database = new Database(path, { readonly: true });
  const columns = database
    .query(`SELECT t.name AS "table", group_concat(c.name, ' ') AS columns FROM sqlite_schema t, pragma_table_info(t.name) c
      WHERE t.type = 'table' GROUP BY t.name ORDER BY t.name`)
    .all() as { table: string; columns: string }[];
  expect(
    Object.fromEntries(columns.map(({ table, columns: names }) => [table, names.split(' ').sort().join(' ')])),
  ).toEqual(TABLES);
});

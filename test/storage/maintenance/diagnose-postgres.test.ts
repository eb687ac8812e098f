// The doctor's findings, and their texts, for facts that no test can cause on a real PostgreSQL server.

import { expect, test } from 'bun:test';
import { checkDatabase } from '../../../src/maintenance/check-database.ts';
import type { Facts, PostgresFacts } from '../../../src/maintenance/facts.ts';
import type { RoleState, ServerState, TablesState } from '../../../src/storage/postgres/postgres.ts';

const NOW_MS = Date.UTC(2026, 10, 20);

const server: ServerState = {
  version: 150_018,
  nowMs: NOW_MS,
  fsync: 'on',
};

const tables: TablesState = {
  version: { stored: 6, leastKnown: 6, known: 6 },
  bytes: 9_000_000,
  missing: [],
  guardsOff: [],
  nodesAlive: 2,
  role: { role: 'node', owner: 'owner', schema: 'public', owns: false, missing: [], excess: [] },
};

const postgres: PostgresFacts = {
  name: 'turnpike at db:5432',
  server: { is: server },
  tables: { is: tables },
};

const found = (changes: Partial<PostgresFacts> = {}) => [
  ...checkDatabase({
    postgres: { ...postgres, ...changes },
    database: null,
    commitLoss: null,
  } as Partial<Facts> as Facts),
];
const said = (changes: Partial<PostgresFacts>) => found(changes).map(({ severity, code }) => `${severity} ${code}`);
const withServer = (changes: Partial<ServerState>) => ({ server: { is: { ...server, ...changes } } });
const withTables = (changes: Partial<TablesState>) => ({ tables: { is: { ...tables, ...changes } } });
test('a sound database has no findings', () => {
  expect(found()).toEqual([]);
});

test('a server that is too old is reported', () => {
  expect(said(withServer({ version: 130_014 }))).toEqual(['error server_too_old']);
});

test('tables that cannot be read are reported', () => {
  const failure = { failure: 'the server reports: permission denied (42501)' };
  expect(said({ tables: failure })).toEqual(['error database_unreadable']);
});

test('a role that lacks rights stops the service, and one that has too many is a risk', () => {
  const role = { role: 'node', owner: 'owner', schema: 'public', owns: false, missing: [], excess: [] };
  const [lacking] = found(withTables({ role: { ...role, missing: ['INSERT on entries'] } }));
  expect(lacking).toMatchObject({ severity: 'error', code: 'rights_missing', remedy: 'turnpike migrate --grant node' });
  expect(lacking?.message).toContain('the role "node" lacks INSERT on entries');
  const [wide] = found(withTables({ role: { ...role, excess: ['DELETE on entries'] } }));
  expect(wide).toMatchObject({ severity: 'warning', code: 'rights_excessive' });
  expect(wide?.message).toContain('DELETE on entries');
});

test('tables of an earlier version are migrated by their owner, not by a node that owns none', () => {
  const version = { stored: 5, leastKnown: 5, known: 6 };
  const role = { role: 'node', owner: 'carol', schema: 'public', owns: false, missing: [], excess: [] };
  const [earlier] = found(withTables({ version, role: { ...role, missing: ['INSERT on later'] } }));
  expect(earlier).toMatchObject({ severity: 'warning', code: 'database_of_earlier_version' });
  expect(earlier?.remedy).toContain(
    'run "turnpike migrate" of this release under the role that owns the tables (carol)',
  );
  const [own] = found(withTables({ version, role: { ...role, owns: true } }));
  expect(own?.remedy).not.toContain('turnpike migrate');
});

test('each finding is written in sentences, with a remedy', () => {
  const failures = (['unreachable', 'refused', 'tls', 'failed'] as const).map((kind) => ({
    server: { failure: { kind, words: 'the reason' } },
  }));
  const faults: Partial<PostgresFacts>[] = [
    ...failures,
    { tables: { failure: 'the reason' } },
    withServer({ version: 90_000, fsync: 'off' }),
    withTables({ version: { stored: 0, leastKnown: 0, known: 6 } }),
    withTables({ version: { stored: 5, leastKnown: 5, known: 6 }, guardsOff: ['one'] }),
    withTables({ version: { stored: 7, leastKnown: 7, known: 6 }, missing: ['claims'] }),
    withTables({ nodesAlive: 0 }),
    withTables({ role: { ...(tables.role as RoleState), missing: ['one'], excess: ['two'] } }),
  ];
  const findings = faults.flatMap(found);
  expect(new Set(findings.map(({ code }) => code)).size).toBe(14);
  for (const { code, message, remedy } of findings) {
    expect([code, message]).toEqual([code, expect.stringMatching(/^[\s\S]{20,}\.$/)]);
    expect([code, remedy.length > 10, /undefined|null|NaN|\[object/.test(message + remedy)]).toEqual([
      code,
      true,
      false,
    ]);
  }
});

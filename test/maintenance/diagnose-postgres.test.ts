// What the doctor makes of facts of a PostgreSQL that no test can bring about at a real one, and how it says what it finds.

import { expect, test } from 'bun:test';
import { checkPostgres } from '../../src/maintenance/check-postgres.ts';
import type { Facts, PostgresFacts } from '../../src/maintenance/facts.ts';
import type { ActivityState, ServerState, TablesState } from '../../src/storage/postgres/postgres.ts';

const NOW_MS = Date.UTC(2026, 10, 20);

const server: ServerState = {
  version: 150_018,
  nowMs: NOW_MS,
  askedAtMs: NOW_MS,
  roundTripMs: 1,
  isStandby: false,
  encoding: 'UTF8',
  settings: { max_connections: '100', superuser_reserved_connections: '3', archive_mode: 'off' },
  isEncrypted: false,
  serverAddress: '10.0.0.7',
  isSuperuser: false,
  roleConnectionsMax: -1,
  databaseConnectionsMax: -1,
  schema: 'public',
  mayMakeTables: true,
};

const tables: TablesState = {
  version: { stored: 6, leastKnown: 6, known: 6 },
  bytes: 9_000_000,
  missing: [],
  guardsOff: [],
  isOwner: true,
  otherSchemas: [],
  months: [202611, 202612, 202701],
  usageKeptSinceMs: null,
  nodes: { alive: 2, holdsLeft: 0, holdsOpen: 7 },
};

const activity: ActivityState = {
  others: { server: 4, database: 0 },
  longTransactions: [],
  preparedTransactions: [],
  idleSlots: [],
  standbys: { all: 1, synchronous: 0 },
  isArchivingFailing: false,
  deadRows: [],
  notVacuumed: [],
  transactionAge: 150_000_000,
};

const postgres: PostgresFacts = {
  name: 'turnpike at db:5432',
  server: { is: server },
  sessions: { is: { isShared: false, settingsLost: [] } },
  tables: { is: tables },
  activity: { is: activity },
};

const found = (changes: Partial<PostgresFacts> = {}) =>
  checkPostgres({ postgres: { ...postgres, ...changes }, database: null } as Partial<Facts> as Facts);
const said = (changes: Partial<PostgresFacts>) => found(changes).map(({ severity, code }) => `${severity} ${code}`);
const withServer = (changes: Partial<ServerState>) => ({ server: { is: { ...server, ...changes } } });
const withSettings = (changes: Record<string, string>) => withServer({ settings: { ...server.settings, ...changes } });
const withTables = (changes: Partial<TablesState>) => ({ tables: { is: { ...tables, ...changes } } });
const withActivity = (changes: Partial<ActivityState>) => ({ activity: { is: { ...activity, ...changes } } });

test('of a sound database nothing is said', () => {
  expect(found()).toEqual([]);
});

test('a server that is too old is told', () => {
  expect(said(withServer({ version: 130_014 }))).toEqual(['error server_too_old']);
});

test('a connection in the clear is told where it leaves the private network', () => {
  expect(said(withServer({ serverAddress: '203.0.113.9' }))).toEqual(['warning database_without_tls']);
  expect(said(withServer({ serverAddress: '203.0.113.9', isEncrypted: true }))).toEqual([]);
  expect(said(withServer({ serverAddress: null }))).toEqual([]);
});

test('clocks that differ are told, beyond what the way there may explain', () => {
  for (const aheadMs of [-60_000, 60_000])
    expect(said(withServer({ askedAtMs: NOW_MS + aheadMs }))).toEqual(['warning clocks_differ']);
  expect(said(withServer({ askedAtMs: NOW_MS + 3_000, roundTripMs: 4_000 }))).toEqual([]);
  expect(said(withServer({ askedAtMs: NOW_MS + 2 * 24 * 60 * 60 * 1000 }))).toEqual(['error clocks_differ']);
});

test('transactions that go back too far are told before the server stops to write', () => {
  expect(said(withActivity({ transactionAge: 1_200_000_000 }))).toEqual(['warning transaction_ids_run_out']);
  expect(said(withActivity({ transactionAge: 1_900_000_000 }))).toEqual(['error transaction_ids_run_out']);
});

test('connections of other programs leave fewer to the nodes, and what is reserved is not theirs', () => {
  expect(said(withActivity({ others: { server: 62, database: 0 } }))).toEqual(['warning connections_too_few']);
  expect(said(withActivity({ others: { server: 80, database: 0 } }))).toEqual(['error connections_too_few']);
  expect(said(withServer({ databaseConnectionsMax: 30 }))).toEqual(['warning connections_too_few']);
});

test('whether a standby is there that commits wait for is not guessed by who is not told', () => {
  const waits = withSettings({ synchronous_standby_names: 'one' });
  expect(said({ ...waits, ...withActivity({ standbys: { all: 1, synchronous: null } }) })).toEqual([]);
  expect(said({ ...waits, ...withActivity({ standbys: { all: 1, synchronous: 0 } }) })).toEqual([
    'error standby_missing',
  ]);
});

test('a month is due when all of it is older than what is kept', () => {
  const keptFrom = (usageKeptSinceMs: number) => withTables({ months: [202609, ...tables.months], usageKeptSinceMs });
  expect(said(keptFrom(Date.UTC(2026, 9, 1)))).toEqual([]);
  expect(said(keptFrom(Date.UTC(2026, 9, 3)))).toEqual(['warning usage_months_overdue']);
});

test('what could not be looked at is told as such', () => {
  const failure = { failure: 'the server says: permission denied (42501)' };
  expect(said({ activity: failure })).toEqual(['warning server_not_examined']);
  expect(said({ tables: failure })).toEqual(['error database_unreadable']);
  expect(said({ sessions: failure })).toEqual(['error sessions_refused']);
});

test('each finding is told in sentences, with what to do', () => {
  const failures = (['unreachable', 'refused', 'tls', 'failed'] as const).map((kind) => ({
    server: { failure: { kind, words: 'so it is' } },
  }));
  const faults: Partial<PostgresFacts>[] = [
    ...failures,
    { sessions: { failure: 'so it is' } },
    { tables: { failure: 'so it is' } },
    { activity: { failure: 'so it is' } },
    { sessions: { is: { isShared: true, settingsLost: ['jit'] } } },
    withServer({
      version: 90_000,
      isStandby: true,
      encoding: 'LATIN1',
      schema: null,
      serverAddress: '203.0.113.9',
      askedAtMs: 0,
    }),
    withServer({ mayMakeTables: false }),
    withSettings({ default_transaction_read_only: 'on', fsync: 'off', full_page_writes: 'off', autovacuum: 'off' }),
    withSettings({ session_replication_role: 'replica', statement_timeout: '5s', archive_mode: 'on' }),
    withSettings({ synchronous_standby_names: 'one', max_connections: '5' }),
    withTables({ version: { stored: 0, leastKnown: 0, known: 6 } }),
    withTables({
      version: { stored: 5, leastKnown: 5, known: 6 },
      otherSchemas: ['older'],
      guardsOff: ['one'],
      months: [],
    }),
    withTables({
      version: { stored: 7, leastKnown: 7, known: 6 },
      missing: ['claims'],
      months: [202001],
      usageKeptSinceMs: NOW_MS,
    }),
    withTables({ nodes: { alive: 0, holdsLeft: 3, holdsOpen: 3 } }),
    withTables({ nodes: { alive: 1, holdsLeft: 3, holdsOpen: 3 } }),
    withActivity({
      longTransactions: [{ pid: 1, application: '', seconds: 500, isIdle: true }],
      preparedTransactions: [{ name: 'left', seconds: 500 }],
      idleSlots: ['left'],
      deadRows: [{ table: 'claims', dead: 9, live: 1 }],
      notVacuumed: ['claims'],
      transactionAge: 2_000_000_000,
    }),
  ];
  const findings = faults.flatMap(found);
  expect(new Set(findings.map(({ code }) => code)).size).toBeGreaterThan(35);
  for (const { code, message, remedy } of findings) {
    expect([code, message]).toEqual([code, expect.stringMatching(/^[\s\S]{20,}\.$/)]);
    expect([code, remedy.length > 10, /undefined|null|NaN|\[object/.test(message + remedy)]).toEqual([
      code,
      true,
      false,
    ]);
  }
});

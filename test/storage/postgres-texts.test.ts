// Client texts in the ledger's rows: no character prevents billing, a check, or a list. U+FFFD replaces characters
// that PostgreSQL cannot store.

import { describe, expect, test } from 'bun:test';
import type { UsageRecord } from '../../src/ledger/ledger.ts';
import { sumLedger } from '../../src/storage/postgres/postgres.ts';
import type { OpenStores, Workbench } from '../money/ledger/workbench.ts';
import { openWorkbench, START_MS } from '../money/ledger/workbench.ts';
import { allUsage } from '../support/everything.ts';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgres, openPostgresLanes } from './open-postgres.ts';
import { openSqlite } from './open-sqlite.ts';

const EVIL = [
  'zero \0 inside',
  '\0',
  'half \ud800 of a pair',
  '\udc00',
  'spoken of: \\u0000 \\ud800',
  'NULL',
  '',
  '{"a",b}',
  'quote " backslash \\ both \\"',
  'line\nreturn\rtab\t',
  "'; DROP TABLE holds; --",
  '🦃 \u2028 \ufeff',
];

/** The text as PostgreSQL stores it. */
const suited = (text: string) => text.replaceAll('\0', '\ufffd').toWellFormed();

const attemptOf = (reason: string) => ({
  provider: reason,
  model: reason,
  credential: reason,
  result: reason,
  status: 500,
  reason,
  ms: 1,
});

const recordOf = (bench: Workbench, requestId: string, text: string, cost: number): UsageRecord =>
  bench.record(requestId, {
    cost,
    model: text,
    provider: text,
    upstreamModel: text,
    rates: { [`input ${text}`]: text },
    attempts: EVIL.map(attemptOf),
  });

const stores: readonly (readonly [string, OpenStores, boolean])[] = [
  ['SQLite', openSqlite, false],
  ['PostgreSQL', openPostgres, cannotStartPostgres],
  ['PostgreSQL with lanes', openPostgresLanes, cannotStartPostgres],
];

for (const [name, open, cannotStart] of stores) {
  describe.skipIf(cannotStart)(`${name}, whatever texts there are in it`, () => {
    test('bills each message, ends open holds, and passes the check', async () => {
      await using bench = await openWorkbench(open, 1_000);
      const settled = await Promise.all(
        EVIL.map(async (text) => {
          const requestId = await bench.begin(20, { draft: { model: text, stream: true } });
          const checkpoint = recordOf(bench, requestId, text, 3);
          expect(await bench.extend(requestId, 25, checkpoint)).toMatchObject({ ok: true });
          return bench.ask({ kind: 'settle', requestId, record: recordOf(bench, requestId, text, 10) });
        }),
      );
      for (const answer of settled) expect(answer).toMatchObject({ ok: true, kind: 'ended', cost: 10, writtenOff: 0 });
      const [left] = await Promise.all(
        EVIL.map(async (text) => {
          const requestId = await bench.begin(20, { draft: { model: text, stream: true } });
          await bench.extend(requestId, 25, recordOf(bench, requestId, text, 3));
          return requestId;
        }),
      );
      expect(await bench.stores.ledger.openMessage(left as string)).not.toBeNull();
      bench.clock.advance(15_001);
      expect(await bench.ask({ kind: 'expire' })).toMatchObject({ holds: EVIL.length });
      expect(await bench.wallet()).toEqual({ balance: 1_000 - 13 * EVIL.length, held: 0 });
      const records = await bench.stores.usage.listUsage({ ...allUsage, limit: 100 });
      const told = new Set(records.map(({ model }) => suited(model)));
      expect(told).toEqual(new Set(EVIL.map(suited)));
      expect(records.map(({ attempts }) => attempts.length)).toEqual(records.map(() => EVIL.length));
    });

    test('returns lists that contain any of them', async () => {
      await using bench = await openWorkbench(open, 1_000);
      for (const text of EVIL) {
        expect(await bench.stores.accounts.findKeyBySecretHash([text])).toBeNull();
        expect(await bench.stores.ledger.openMessage(text)).toBeNull();
        expect(
          await bench.stores.audit.listAudit({
            object: text,
            account: null,
            actor: text,
            sinceMs: null,
            untilMs: null,
            before: null,
            limit: 5,
          }),
        ).toEqual([]);
      }
    });
  });
}

describe.skipIf(cannotStartPostgres)(
  'PostgreSQL, while a message runs in whose checkpoint is what it cannot read',
  () => {
    test('can be checked', async () => {
      let opened: OpenedPostgres | undefined;
      await using bench = await openWorkbench(async (clock) => (opened = await openPostgres(clock)), 1_000);
      for (const text of EVIL) {
        const requestId = await bench.begin(10, { draft: { model: text, stream: true } });
        await bench.extend(requestId, 10, recordOf(bench, requestId, text, 1));
      }
      await sumLedger((opened as unknown as OpenedPostgres).url);
      expect(await bench.stores.ledger.openHolds()).toMatchObject({ count: EVIL.length });
      bench.clock.advance(15_001);
      await bench.ask({ kind: 'expire' });
      expect(await bench.stores.ledger.accountMeters(bench.account, START_MS)).toMatchObject({ held: 0 });
    });
  },
);

// Rows in memory: what is written, what is written without young holds, and what may be evicted.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { type AccountRow, type HoldRow, type KeyRow, RESERVED, ResidentRows } from '../../../src/ledger/ledger.ts';
import { NO_COMPANY } from '../../../src/ledger/meters.ts';
import { NO_LIMITS, START_MS, usageRecord } from './workbench.ts';

const NO_RATES = { requests: 0, inputTokens: 0, outputTokens: 0, drainedAtMs: 0, running: 0 };

function accountRow(facts: Partial<AccountRow> = {}): AccountRow {
  return {
    id: 1,
    enabled: true,
    company: NO_COMPANY,
    creditLine: 0,
    balance: 100,
    debt: 0,
    held: 0,
    plan: null,
    pastWindows: [],
    reversals: { used: 0, held: 0, periodStartMs: 0 },
    lowBalances: [],
    allowance: null,
    allowancePeriod: 'total',
    spending: { used: 0, held: 0, periodStartMs: 0 },
    month: { startMs: Date.UTC(2026, 10), opening: 100 },
    groups: {},
    ...facts,
  };
}

function keyRow(facts: Partial<KeyRow> = {}): KeyRow {
  return {
    id: 1,
    account: 1,
    person: null,
    status: 'enabled',
    expiresAtMs: null,
    quota: null,
    quotaPeriod: 'total',
    spending: { used: 0, held: 0, periodStartMs: 0 },
    limits: NO_LIMITS,
    rates: NO_RATES,
    lastUsedAtMs: null,
    ...facts,
  };
}

function holdRow(facts: Partial<HoldRow> = {}): HoldRow {
  return {
    requestId: 'req_1',
    account: 1,
    above: [],
    payer: 1,
    key: 1,
    person: null,
    group: 'default',
    amount: 10,
    fromPlan: 0,
    openedAtMs: START_MS,
    owner: { node: 'node-1', epoch: 1 },
    left: false,
    claim: null,
    checkpoint: null,
    draft: { model: 'model', stream: true },
    ...facts,
  };
}

/** Rows over a disk where each account has one key, and nothing has changed. */
function openRows(onAccount = (_: number) => {}, onKey = (_: number) => {}): ResidentRows {
  const rows = new ResidentRows({
    readAccount(id) {
      onAccount(id);
      return accountRow({ id });
    },
    readKey(id) {
      onKey(id);
      return keyRow({ id, account: id });
    },
    readPerson: () => undefined,
    readEnding: () => undefined,
    readCredit: () => null,
    readClaim: () => undefined,
    readHolds: () => [],
    readLeases: () => [],
  });
  rows.nowMs = START_MS;
  return rows;
}

/** The rows after the admission of a message that holds 10. */
function openMessage(rows: ResidentRows, facts: Partial<HoldRow> = {}): void {
  rows.put({
    answer: { ok: true, kind: 'done' },
    accounts: [
      accountRow({
        held: 10,
        spending: { used: 0, held: 10, periodStartMs: 0 },
        groups: { default: { ...NO_RATES, running: 1, limits: NO_LIMITS } },
      }),
    ],
    key: keyRow({ spending: { used: 0, held: 10, periodStartMs: 0 }, rates: { ...NO_RATES, running: 1 } }),
    hold: holdRow(facts),
  });
}

describe('a row is not evicted', () => {
  const { cachedLedgerRowsMax } = bounds;
  beforeEach(() => void Object.assign(bounds, { cachedLedgerRowsMax: 0 }));
  afterEach(() => void Object.assign(bounds, { cachedLedgerRowsMax }));

  test('while the next write must contain it', () => {
    const rows = openRows();
    rows.put({ answer: { ok: true, kind: 'done' }, accounts: [accountRow({ balance: 90 })] });
    rows.takeUnwritten(false);
    rows.put({
      answer: { ok: true, kind: 'done' },
      accounts: [accountRow({ balance: 80 })],
      key: keyRow({ lastUsedAtMs: START_MS }),
    });
    rows.written();
    expect([rows.account(1)?.balance, rows.key(1)?.lastUsedAtMs]).toEqual([80, START_MS]);
    rows.takeUnwritten(false);
    rows.written();
    expect([rows.account(1)?.balance, rows.key(1)?.lastUsedAtMs]).toEqual([100, null]); // read from the disk again
  });

  test('while it has young holds', () => {
    const rows = openRows();
    openMessage(rows);
    rows.takeUnwritten(false);
    rows.written();
    expect([rows.account(1)?.held, rows.key(1)?.spending.held]).toEqual([10, 10]);
  });
});

describe('when rows are evicted', () => {
  const { cachedLedgerRowsMax, rowsAtOnce } = bounds;
  beforeEach(() => void Object.assign(bounds, { cachedLedgerRowsMax: 20, rowsAtOnce: 1 }));
  afterEach(() => void Object.assign(bounds, { cachedLedgerRowsMax, rowsAtOnce }));

  test('an account and a key that every message changes stay, however long ago they were read', () => {
    const reads: string[] = [];
    const rows = openRows(
      (id) => reads.push(`account ${id}`),
      (id) => reads.push(`key ${id}`),
    );
    const change = (id: number) => {
      const [account, key] = [rows.account(id), rows.key(id)];
      rows.put({ answer: { ok: true, kind: 'done' }, ...(account && { accounts: [account] }), ...(key && { key }) });
      rows.takeUnwritten(false);
      rows.written();
    };
    for (let other = 2; other < 200; other++) {
      change(1);
      change(other);
    }
    expect(reads.filter((read) => read.endsWith(' 1'))).toEqual(['account 1', 'key 1']);
    change(2);
    expect(reads.filter((read) => read.endsWith(' 2'))).toEqual(['account 2', 'key 2', 'account 2', 'key 2']);
  });
});

describe('a young hold', () => {
  const written = (rows: ResidentRows, isAll = false) => {
    const changes = rows.takeUnwritten(isAll);
    rows.written();
    const [account, key] = [changes?.accounts.get(1), changes?.keys.get(1)];
    return {
      holds: [...(changes?.holds.keys() ?? [])],
      held: [account?.held, account?.spending.held, key?.spending.held],
      running: [account?.groups['default']?.running, key?.rates.running],
    };
  };

  test('is left out of the rows that are written, until it is old enough', () => {
    const rows = openRows();
    openMessage(rows);
    expect(written(rows)).toEqual({ holds: [], held: [0, 0, 0], running: [0, 0] });
    rows.nowMs = START_MS + bounds.holdUnwrittenMs;
    expect(written(rows)).toEqual({ holds: ['req_1'], held: [10, 10, 10], running: [1, 1] });
    expect(rows.takeUnwritten(true)).toBeNull();
  });

  test('is written at once with an idempotency key, with a checkpoint, and if everything is written', () => {
    const record = usageRecord({ requestId: 'req_1', account: 1, key: 1 });
    for (const facts of [{ claim: 'order-17' }, { checkpoint: record }]) {
      const rows = openRows();
      openMessage(rows, facts);
      expect(written(rows)).toEqual({ holds: ['req_1'], held: [10, 10, 10], running: [1, 1] });
    }
    const rows = openRows();
    openMessage(rows);
    expect(written(rows, true)).toEqual({ holds: ['req_1'], held: [10, 10, 10], running: [1, 1] });
  });

  test('that came from a reserve is written with what is left there, and others stay out', () => {
    const rows = openRows();
    const reserve = holdRow({ requestId: 'rsv_1', owner: RESERVED, left: true, amount: 30 });
    const held = (amount: number, running: number) => ({
      answer: { ok: true, kind: 'done' } as const,
      accounts: [
        accountRow({
          held: amount,
          spending: { used: 0, held: amount, periodStartMs: 0 },
          groups: { default: { ...NO_RATES, running, limits: NO_LIMITS } },
        }),
      ],
      key: keyRow({ spending: { used: 0, held: amount, periodStartMs: 0 }, rates: { ...NO_RATES, running } }),
    });
    rows.put({ ...held(30, 0), hold: reserve });
    expect(written(rows, true)).toMatchObject({ holds: ['rsv_1'], held: [30, 30, 30], running: [0, 0] });
    rows.put({ ...held(40, 1), hold: holdRow({ requestId: 'req_young' }) });
    rows.put({ ...held(40, 2), hold: holdRow({ claim: 'order-17' }), reserve: { ...reserve, amount: 20 } });
    expect([rows.hold('rsv_1')?.amount, rows.account(1)?.held]).toEqual([20, 40]);
    const changes = rows.takeUnwritten(false);
    expect([...(changes?.holds.values() ?? [])].map((hold) => [hold?.requestId, hold?.amount])).toEqual([
      ['rsv_1', 20],
      ['req_1', 10],
    ]);
    expect([changes?.accounts.get(1)?.held, changes?.keys.get(1)?.spending.held]).toEqual([30, 30]);
    expect(changes?.keys.get(1)?.rates.running).toBe(1);
  });

  test('counts once after a change, and does not run after its client left', () => {
    const rows = openRows();
    openMessage(rows);
    openMessage(rows); // as after an extension
    expect(written(rows)).toEqual({ holds: [], held: [0, 0, 0], running: [0, 0] });
    rows.put({
      answer: { ok: true, kind: 'done' },
      accounts: [
        accountRow({
          held: 10,
          spending: { used: 0, held: 10, periodStartMs: 0 },
          groups: { default: { ...NO_RATES, limits: NO_LIMITS } },
        }),
      ],
      key: keyRow({ spending: { used: 0, held: 10, periodStartMs: 0 } }),
      hold: holdRow({ left: true }),
    });
    expect(written(rows)).toEqual({ holds: [], held: [0, 0, 0], running: [0, 0] });
  });

  test('that ends before it is written leaves no trace on the disk', () => {
    const rows = openRows();
    openMessage(rows);
    rows.put({
      answer: { ok: true, kind: 'done' },
      accounts: [accountRow({ balance: 95 })],
      endedHold: holdRow(),
    });
    expect(rows.hold('req_1')).toBeUndefined();
    expect(written(rows).holds).toEqual([]);
    openMessage(rows);
    written(rows, true);
    rows.put({ answer: { ok: true, kind: 'done' }, endedHold: holdRow() });
    expect(rows.takeUnwritten(false)?.holds).toEqual(new Map([['req_1', null]]));
  });
});

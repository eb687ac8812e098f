// Which open holds are reported as those that nothing will end.

import { expect, test } from 'bun:test';
import { formatId, newRequestId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import { RESERVED } from '../../../src/ledger/ledger.ts';
import { findOverdueHolds } from '../../../src/maintenance/overdue-holds.ts';
import { readHold } from '../../../src/storage/stored-hold.ts';

const NOW_MS = Date.UTC(2026, 10, 20);
const HOUR_MS = 60 * 60 * 1000;
const LONG_MS = bounds.holdEndMsMax + 1;
const ACCOUNT = 4_000_000_000_000;

/** A hold of this age. */
function hold(ageMs: number, owner = { node: 'one', epoch: 1 }, more: object = {}) {
  const requestId = newRequestId(NOW_MS - ageMs);
  const row = { requestId, account: ACCOUNT, key: 5, amount: 50_000_000, group: 'default', fromPlan: 0 };
  const members = { openedAtMs: NOW_MS - ageMs, owner, left: false, claim: null, checkpoint: null };
  const document = JSON.stringify({ v: 1, ...row, ...members, draft: { model: 'm', stream: true }, ...more });
  return readHold({ request_id: requestId, account_id: ACCOUNT, key_id: 5, amount: 50_000_000, document });
}
const live = { node: 'one', epoch: 1, expiresAtMs: NOW_MS + 10_000 };
const lapsed = (agoMs: number) => ({ node: 'two', epoch: 7, expiresAtMs: NOW_MS - agoMs });
const ofTwo = { node: 'two', epoch: 7 };
const find = (holds: ReturnType<typeof hold>[], leases: (typeof live)[], settings: object | null = null) =>
  findOverdueHolds({ holds, leases, settings: settings && JSON.stringify(settings) }, NOW_MS);

test('holds of running messages are not reported', () => {
  expect(find([hold(0), hold(2 * HOUR_MS)], [live])).toEqual([]);
});

test('while no node runs, holds wait for the next start, and none is reported', () => {
  expect(find([hold(1_000 * HOUR_MS), hold(1_000 * HOUR_MS, ofTwo)], [lapsed(1_000 * HOUR_MS)])).toEqual([]);
});

test('a hold that is older than any message is reported with account, age, node and remedy', () => {
  const old = hold(30 * HOUR_MS);
  expect(find([old], [live])).toEqual([
    `${old.requestId}: its hold of 0.05 USD from ${formatId('acct', ACCOUNT)} is open for 30 hours, on the node one: its node runs, but no message can take so long. Restart that node, which ends its holds, and report it`,
  ]);
});

test('the longest message follows from the settings', () => {
  expect(find([hold(30 * HOUR_MS)], [live], { upstream_stream_seconds: 86_400, attempts_seconds: 20_000 })).toEqual([]);
  expect(find([hold(3 * HOUR_MS)], [live], { upstream_stream_seconds: 60, upstream_answer_seconds: 60 })).toHaveLength(
    1,
  );
  expect(findOverdueHolds({ holds: [hold(HOUR_MS)], leases: [live], settings: 'no JSON' }, NOW_MS)).toEqual([]);
});

test('a hold of a node that ended is reported once running nodes had the time to end it', () => {
  const holds = [hold(2 * LONG_MS, ofTwo)];
  expect(find(holds, [live, lapsed(LONG_MS - 2)])).toEqual([]);
  expect(find(holds, [live, lapsed(LONG_MS)])[0]).toContain('on the node two: its node has ended');
});

test('a hold of a node without a lease, or of an earlier run of a node, is reported by its age', () => {
  expect(find([hold(LONG_MS - 2, ofTwo), hold(LONG_MS - 2, { node: 'one', epoch: 0 })], [live])).toEqual([]);
  expect(find([hold(LONG_MS, ofTwo), hold(LONG_MS, { node: 'one', epoch: 0 })], [live])).toHaveLength(2);
});

test('a reserve is not reported, however old it is: no node ends it', () => {
  const reserve = hold(1_000 * HOUR_MS, RESERVED, { left: true });
  expect(find([reserve], [live, lapsed(LONG_MS)])).toEqual([]);
  expect(find([reserve, hold(LONG_MS, ofTwo)], [live])).toHaveLength(1);
});

test('a hold that cannot be read is left out, because it is reported as such', () => {
  const unreadable = hold(30 * HOUR_MS, ofTwo, { v: 99 });
  expect(unreadable.unreadable).toBeString();
  expect(find([unreadable], [live])).toEqual([]);
});

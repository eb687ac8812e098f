// The stored row of a hold, as this and earlier versions wrote it.

import { expect, test } from 'bun:test';
import { newRequestId } from '../../src/base/ids.ts';
import type { HoldRow, UsageRecord } from '../../src/ledger/ledger.ts';
import { readHold, writeHold } from '../../src/storage/stored-hold.ts';
import { usageRecord } from '../money/ledger/workbench.ts';

const requestId = newRequestId(Date.UTC(2026, 10, 20));
const hold: HoldRow = {
  requestId,
  account: 7,
  above: [6, 5],
  payer: 6,
  key: 8,
  person: 12,
  group: 'default',
  amount: 500,
  fromPlan: 20,
  openedAtMs: Date.UTC(2026, 10, 20),
  owner: { node: 'node-1', epoch: 3 },
  left: false,
  claim: 'order-17',
  checkpoint: usageRecord({ requestId, account: 7, key: 8, cost: 30, outputTokens: 3 }),
  draft: { model: 'm', stream: true },
};
const columns = { request_id: requestId, account_id: 7, key_id: 8, amount: 500 };

const read = (document: object | string) =>
  readHold({ ...columns, document: typeof document === 'string' ? document : JSON.stringify(document) });

test('a hold is read as it was written', () => {
  expect(read(writeHold(hold))).toEqual(hold);
});

const ALONE = { above: [], payer: 7, person: null };

test('a hold of version 1 has nothing above its account and is of nobody, in its checkpoint, too', () => {
  const { above: _, payer: __, person: ___, ...early } = hold;
  const { above: ____, payer: _____, person: ______, ...checkpoint } = hold.checkpoint as UsageRecord;
  const record = { ...hold.checkpoint, ...ALONE };
  expect(read({ v: 1, ...early, checkpoint })).toEqual({ ...hold, ...ALONE, checkpoint: record as UsageRecord });
});

test('a hold of version 0 has defaults for what was not stored, in its checkpoint, too', () => {
  const { claim: _, fromPlan: __, above: _above, payer: _payer, person: _person, ...early } = hold;
  const {
    error: ___,
    planPaid: ____,
    meters: _____,
    admittedMs: ______,
    ...checkpoint
  } = hold.checkpoint as object as Record<string, unknown>;
  expect(read({ ...early, checkpoint })).toEqual({
    ...hold,
    ...ALONE,
    claim: null,
    fromPlan: 0,
    checkpoint: {
      ...usageRecord({ requestId, account: 7, key: 8, cost: 30, outputTokens: 3 }),
      error: null,
      planPaid: 0,
      meters: null,
      admittedMs: null,
    },
  });
});

test.each([
  ['of a later version', { ...hold, v: 3 }, 'a later release wrote it, in version 3'],
  ['with a version that is no number', { ...hold, v: 'x' }, 'a later release wrote it, in version x'],
  ['that is no JSON', '{"requestId":', 'it is not JSON'],
  ['that is no object', 'null', 'requestId is missing'],
  ['without a time', { ...hold, openedAtMs: 0 }, 'openedAtMs is missing'],
  ['without an owner', { ...hold, owner: { node: 'node-1' } }, 'owner.epoch is missing'],
  ['without a draft', { ...hold, draft: null }, 'draft is not an object'],
  ['with an amount below what its plan holds', { ...hold, fromPlan: 501 }, 'fromPlan is more than amount'],
  [
    'with a checkpoint without a cost',
    { ...hold, checkpoint: { ...hold.checkpoint, cost: null } },
    'checkpoint.cost is not a whole number',
  ],
] as const)('a hold %s has what its columns say, and why it cannot be read', (_, document, unreadable) => {
  const { requestId, account, key, amount } = hold;
  expect(read(document)).toMatchObject({ requestId, account, key, amount, checkpoint: null, unreadable });
});

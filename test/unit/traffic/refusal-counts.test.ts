// Counts of refused requests in memory: what is counted together, and what never grows.

import { expect, test } from 'bun:test';
import type { AgentClient } from '../../../src/accounts/accounts.ts';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { refusalError } from '../../../src/gateway/message-errors.ts';
import { agentRefusal } from '../../../src/gateway/spend-limit.ts';
import type { Refusal } from '../../../src/ledger/ledger.ts';
import { type RefusalBounds, type RefusedCaller, shownMessage } from '../../../src/traffic/refusal-counts.ts';
import { RefusalCounts } from '../../../src/traffic/traffic.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 10, 0, 30);
const MINUTE_MS = Date.UTC(2026, 10, 20, 10, 0, 0);
const invalid = new TurnpikeError('key_invalid', 'invalid x-api-key: no such API key.');
const unknownModel = new TurnpikeError('model_not_found', 'There is no model “fable”.');
const few: RefusalBounds = { rowsPerMinuteMax: 4, rowsPerAccountMax: 2, rowsWaitingMax: 6 };

const of = (account: number, key: number): RefusedCaller => ({ account: { id: account }, key: { id: key } });
const figures = (counts: RefusalCounts) =>
  counts.take().map(({ account, key, code, count }) => [account, key, code, count]);

test('refusals of one key, code and minute are one count, with the last message', () => {
  const counts = new RefusalCounts();
  counts.count(unknownModel, of(7, 70), NOW_MS);
  counts.count(new TurnpikeError('model_not_found', 'last', { status: 404 }), of(7, 70), NOW_MS + 5);
  counts.count(unknownModel, of(7, 71), NOW_MS + 9);
  const known = { atMs: MINUTE_MS, account: 7, code: 'model_not_found' };
  expect(counts.take()).toEqual([
    { ...known, key: 70, status: 404, count: 2, lastAtMs: NOW_MS + 5, message: 'last' },
    { ...known, key: 71, status: 400, count: 1, lastAtMs: NOW_MS + 9, message: unknownModel.message },
  ]);
});

test('a refusal by a limit is counted with its scope, also in the words of a coding agent', () => {
  const counts = new RefusalCounts();
  const context = { nowMs: NOW_MS, amount: 9, isLeast: false, headers: {}, maxTokensThatFit: 0 };
  const shortage = {
    ok: false,
    reason: 'insufficient',
    available: 1,
    above: null,
    retryAtMs: null,
    window: null,
  } as const;
  const refuse = (key: number, more: Pick<Refusal, 'meter' | 'behindHolds'>, client: AgentClient | null) => {
    const error = refusalError({ ...shortage, ofKey: false, ...more } as Refusal, context);
    counts.count(client === null ? error : agentRefusal(error, client, null, null, NOW_MS), of(7, key), NOW_MS);
  };
  refuse(1, { meter: 'wallet', behindHolds: false }, null);
  refuse(2, { meter: 'wallet', behindHolds: true }, null);
  refuse(3, { meter: 'quota', behindHolds: false }, 'codex');
  refuse(4, { meter: 'budget', behindHolds: true }, 'claude-code');
  refuse(5, { meter: 'budget', behindHolds: false }, 'claude-code');
  const rate = { ...shortage, reason: 'requests_rate', ofKey: true } as unknown as Refusal;
  counts.count(refusalError(rate, context), of(7, 6), NOW_MS);
  counts.count(unknownModel, of(7, 7), NOW_MS);
  const scopes = counts.take().map(({ key, scope }) => [key, scope]);
  expect(scopes).toEqual([
    [1, 'account'],
    [2, 'account_held'],
    [3, 'key'],
    [4, 'key_held'],
    [5, 'key'],
    [6, 'key'],
    [7, undefined],
  ]);
});

test('what was taken is not taken again, and the next minute has counts of its own', () => {
  const counts = new RefusalCounts();
  counts.count(invalid, null, NOW_MS);
  expect(figures(counts)).toEqual([[null, null, 'key_invalid', 1]]);
  expect(counts.take()).toEqual([]);
  counts.count(invalid, null, NOW_MS);
  counts.count(invalid, null, NOW_MS + 30_000);
  expect(counts.take().map(({ atMs, count }) => [atMs, count])).toEqual([
    [MINUTE_MS, 1],
    [MINUTE_MS + 60_000, 1],
  ]);
});

test('beyond the share of its account a refusal loses its key, and beyond the bound of the node its account', () => {
  const counts = new RefusalCounts(few);
  for (const key of [70, 71, 72, 73]) counts.count(invalid, of(7, key), NOW_MS); // two rows, then one of the account
  counts.count(unknownModel, of(8, 80), NOW_MS); // the fourth row
  for (const key of [90, 91]) counts.count(unknownModel, of(9, key), NOW_MS);
  counts.count(unknownModel, of(8, 80), NOW_MS);
  counts.count(invalid, of(7, 74), NOW_MS);
  expect(figures(counts)).toEqual([
    [null, null, 'model_not_found', 2],
    [7, null, 'key_invalid', 3],
    [7, 70, 'key_invalid', 1],
    [7, 71, 'key_invalid', 1],
    [8, 80, 'model_not_found', 2],
  ]);
});

test('what the store did not take is added to what was counted since, within a bound', () => {
  const counts = new RefusalCounts(few);
  counts.count(invalid, null, NOW_MS);
  const taken = counts.take();
  counts.count(invalid, null, NOW_MS + 1);
  counts.putBack(taken);
  expect(figures(counts)).toEqual([[null, null, 'key_invalid', 2]]);
  for (let minute = 0; minute < 20; minute++) {
    counts.count(invalid, null, NOW_MS + minute * 60_000);
    counts.putBack(counts.take());
    expect(counts.size).toBeLessThanOrEqual(few.rowsWaitingMax + few.rowsPerMinuteMax);
  }
  expect(counts.take().map(({ atMs }) => (atMs - MINUTE_MS) / 60_000)).toEqual([14, 15, 16, 17, 18, 19]);
});

test('a million refusals of different keys and codes in a minute stay within the bounds, and all are counted', () => {
  const counts = new RefusalCounts();
  const refusals = Array.from({ length: 50 }, (_, at) =>
    Object.assign(new TurnpikeError('conflict', 'x'), { code: `c${at}` }),
  );
  for (let at = 0; at < 1_000_000; at++)
    counts.count(refusals[at % refusals.length] as TurnpikeError, of(1 + (at % 5_000), 1 + at), NOW_MS);
  const rowsMax = bounds.refusalRowsPerMinuteMax + refusals.length;
  expect(counts.size).toBeLessThanOrEqual(2 * rowsMax);
  const taken = counts.take();
  expect(taken.length).toBeLessThanOrEqual(rowsMax);
  expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(1_000_000);
});

test('a message is shortened, on one line, and without anything that looks like a secret', () => {
  const secret = `sk-tp-${'a1B2'.repeat(12)}`;
  expect(shownMessage(`There is no model "${secret}".`)).toBe('There is no model "sk-…".');
  expect(shownMessage(`authorization: Bearer ${'x'.repeat(40)}`)).toBe('authorization: Bearer …');
  expect(shownMessage('model: a\u0000b\r\n\u202ec\ud800 “日本” 😀')).toBe('model: a b c “日本” 😀');
  expect(shownMessage('req_0AbCdEfGhIjKlMnOp: needs at least 0.01 USD')).toBe(
    'req_0AbCdEfGhIjKlMnOp: needs at least 0.01 USD',
  );
  const counts = new RefusalCounts();
  counts.count(new TurnpikeError('model_not_found', 'y'.repeat(100_000)), null, NOW_MS);
  expect(counts.take()[0]?.message).toBe('y'.repeat(bounds.refusalMessageCharactersMax));
  counts.count(new TurnpikeError('invalid_request', 'max_tokens: not "what people wrote"'), null, NOW_MS);
  expect(counts.take()[0]?.message).toBe('');
});

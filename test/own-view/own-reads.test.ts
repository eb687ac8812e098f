// What callers ask about themselves must not be a way to load the store: one question of a key at a time, and
// lines that are bounded.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config.ts';
import { TurnpikeError } from '../../src/errors.ts';
import { type OwnReader, OwnReads } from '../../src/gateway/gateway.ts';
import type { UsageRecord } from '../../src/ledger/ledger.ts';
import { usageRecord } from '../ledger/workbench.ts';
import { startHandMade } from '../post-messages/hand-made-service.ts';

const unused = async () => null;
const reader: OwnReader = { callerMeters: unused, openMessage: unused, getUsage: unused };

/** Reads that are answered one by one, when a test says so. */
function heldReads(reads: OwnReads) {
  const waiting: (() => void)[] = [];
  return {
    started: () => waiting.length,
    async answerNext() {
      waiting.shift()?.();
      await Bun.sleep(0);
    },
    ask: (keyId: number) =>
      reads.read(keyId, () => new Promise<string>((resolve) => waiting.push(() => resolve(`of ${keyId}`)))),
  };
}

test('the store has one question of a key at a time, and those of other keys beside it', async () => {
  const reads = new OwnReads(reader);
  const held = heldReads(reads);
  const answers = [1, 1, 1, 2].map((keyId) => held.ask(keyId));
  await Bun.sleep(0);
  expect([held.started(), reads.size]).toEqual([2, 2]);
  for (let turn = 0; turn < 4; turn++) await held.answerNext();
  expect(await Promise.all(answers)).toEqual(['of 1', 'of 1', 'of 1', 'of 2']);
  expect(reads.size).toBe(0);
});

test('a question that fails is heard of by who asked, and the next has its turn', async () => {
  const reads = new OwnReads(reader);
  const failing = reads.read(1, () => Promise.reject(new Error('gone')));
  const next = reads.read(1, async () => 'answered');
  expect(await failing.then(String, String)).toBe('Error: gone');
  expect(await next).toBe('answered');
});

test('a line that is full refuses, and takes more once it has moved', async () => {
  const held = heldReads(new OwnReads(reader));
  const line = Array.from({ length: bounds.ownReadsPerKeyMax }, () => held.ask(1));
  const refusal = await held.ask(1).catch((failure: TurnpikeError) => failure.code);
  expect(refusal).toBe('overloaded');
  await Bun.sleep(0);
  await held.answerNext();
  await line[0];
  line.push(held.ask(1));
  for (let turn = 0; turn < line.length; turn++) await held.answerNext();
  expect(await Promise.all(line)).toHaveLength(bounds.ownReadsPerKeyMax + 1);
});

test('all lines together are bounded as well', async () => {
  const held = heldReads(new OwnReads(reader));
  const lines = Array.from({ length: bounds.ownReadsMax }, (_, keyId) => held.ask(keyId));
  expect(await held.ask(-1).catch((failure: TurnpikeError) => failure.code)).toBe('overloaded');
  await Bun.sleep(0);
  for (let turn = 0; turn < lines.length; turn++) await held.answerNext();
  await Promise.all(lines);
  const more = held.ask(-1);
  await Bun.sleep(0);
  await held.answerNext();
  expect(await more).toBe('of -1');
});

test('a store that cannot be read is 503, never a 401 or a 404', async () => {
  await using service = await startHandMade();
  const secret = await service.makeKey();
  const down = () => Promise.reject(new TurnpikeError('store_unavailable', 'The store cannot be read.'));
  service.gateway.ownReads = new OwnReads({ callerMeters: down, openMessage: down, getUsage: down });
  for (const path of ['/v1/key', '/v1/usage/req_1']) {
    const response = await service.get(path, secret);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'store_unavailable' } });
  }
});

/** What a key is shown of its message whose record is like this. */
async function lookAt(facts: Partial<UsageRecord>): Promise<Record<string, unknown>> {
  await using service = await startHandMade();
  const secret = await service.makeKey();
  const caller = await service.gateway.gatehouse.keys.find(secret);
  const record = usageRecord({
    requestId: 'req_1',
    account: caller?.account.id ?? 0,
    key: caller?.key.id ?? 0,
    inputTokens: 1_000_000,
    cost: 3_000_000_000,
    rates: { tier: 'standard', multiplier: '1', input: '3', output: '15' },
    ...facts,
  });
  service.gateway.ownReads = new OwnReads({ ...reader, getUsage: async () => ({ ...record, seq: 1 }) });
  return (await (await service.get('/v1/usage/req_1', secret)).json()) as Record<string, unknown>;
}

test('what could not be paid was not charged: the two amounts differ by what was written off', async () => {
  const shown = await lookAt({ writtenOff: 500_000_000 });
  expect(shown).toMatchObject({ cost: '3.00', charged: '2.50', price: { after_rounding: '3.00' } });
  expect(shown).not.toContainKey('written_off');
});

test('rates that do not make up the cost, or are missing, are shown as no calculation rather than a wrong one', async () => {
  expect(await lookAt({})).toMatchObject({ price: { after_rounding: '3.00' } });
  expect(await lookAt({ cost: 2_999_999_999 })).toMatchObject({ cost: '2.999999999', price: null });
  expect(await lookAt({ rates: {} })).toMatchObject({ cost: '3.00', price: null });
  expect(await lookAt({ rates: { multiplier: '1', output: '15' } })).toMatchObject({ price: null });
});

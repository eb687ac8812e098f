// Self-service reads cannot overload the store: one read per key at a time, and bounded queues.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { type SelfServiceReader, SelfServiceReads } from '../../../src/gateway/gateway.ts';
import type { UsageRecord } from '../../../src/ledger/ledger.ts';
import { usageRecord } from '../../money/ledger/workbench.ts';
import { startControlled } from '../post-messages/controlled-service.ts';

const unused = async () => null;
const reader: SelfServiceReader = { callerMeters: unused, openMessage: unused, getUsage: unused };

/** Reads that the test completes one by one. */
function controlledReads(reads: SelfServiceReads) {
  const waiting: (() => void)[] = [];
  return {
    started: () => waiting.length,
    async answerNext() {
      waiting.shift()?.();
      await Bun.sleep(0);
    },
    ask: (keyId: number, accountId = keyId) =>
      reads.read(callerOf(keyId, accountId), async () => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return `of ${keyId}`;
      }),
  };
}

const callerOf = (keyId: number, accountId = keyId) => ({ account: { id: accountId }, above: [], key: { id: keyId } });

test('the store has one read per key at a time, and reads of other keys run in parallel', async () => {
  const reads = new SelfServiceReads(reader);
  const held = controlledReads(reads);
  const answers = [1, 1, 1, 2].map((keyId) => held.ask(keyId));
  await Bun.sleep(0);
  expect([held.started(), reads.size]).toEqual([2, 2]);
  for (let turn = 0; turn < 4; turn++) await held.answerNext();
  expect(await Promise.all(answers)).toEqual(['of 1', 'of 1', 'of 1', 'of 2']);
  expect(reads.size).toBe(0);
});

test('a failed read is reported to its client, and the next one runs', async () => {
  const reads = new SelfServiceReads(reader);
  const failing = reads.read(callerOf(1), () => Promise.reject(new Error('gone')));
  const next = reads.read(callerOf(1), async () => 'answered');
  expect(await failing.then(String, String)).toBe('Error: gone');
  expect(await next).toBe('answered');
});

test('a full queue refuses reads, and accepts more once it has advanced', async () => {
  const held = controlledReads(new SelfServiceReads(reader));
  const line = Array.from({ length: bounds.selfServiceReadsPerKeyMax }, () => held.ask(1));
  const refusal = await held.ask(1).catch((failure: TurnpikeError) => failure.code);
  expect(refusal).toBe('overloaded');
  await Bun.sleep(0);
  await held.answerNext();
  await line[0];
  line.push(held.ask(1));
  for (let turn = 0; turn < line.length; turn++) await held.answerNext();
  expect(await Promise.all(line)).toHaveLength(bounds.selfServiceReadsPerKeyMax + 1);
});

test('the total of all queues is bounded, too', async () => {
  const held = controlledReads(new SelfServiceReads(reader));
  const lines = Array.from({ length: bounds.selfServiceReadsMax }, (_, keyId) => held.ask(keyId));
  expect(await held.ask(-1).catch((failure: TurnpikeError) => failure.code)).toBe('overloaded');
  await Bun.sleep(0);
  for (let turn = 0; turn < lines.length; turn++) await held.answerNext();
  await Promise.all(lines);
  const more = held.ask(-1);
  await Bun.sleep(0);
  await held.answerNext();
  expect(await more).toBe('of -1');
});

test('an account with many keys leaves room for the reads of others', async () => {
  const held = controlledReads(new SelfServiceReads(reader));
  const line = Array.from({ length: bounds.selfServiceReadsMax }, (_, keyId) => held.ask(keyId, 1).catch(String));
  const other = held.ask(-1);
  await Bun.sleep(0);
  while (held.started() > 0) await held.answerNext();
  expect(await other).toBe('of -1');
  expect(new Set(await Promise.all(line))).toContain(
    'TurnpikeError: Too many reads of keys and usage are waiting. Try again in a moment.',
  );
});

test('a store that cannot be read causes 503, never 401 or 404', async () => {
  await using service = await startControlled();
  const secret = await service.makeKey();
  const down = () => Promise.reject(new TurnpikeError('store_unavailable', 'The store cannot be read.'));
  service.gateway.selfServiceReads = new SelfServiceReads({ callerMeters: down, openMessage: down, getUsage: down });
  for (const path of ['/v1/key', '/v1/usage/req_1']) {
    const response = await service.get(path, secret);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'store_unavailable' } });
  }
});

/** The usage that a key sees for a message with this record. */
async function readUsage(facts: Partial<UsageRecord>): Promise<Record<string, unknown>> {
  await using service = await startControlled();
  const secret = await service.makeKey();
  const caller = await service.gateway.authenticator.keys.find(secret);
  const record = usageRecord({
    requestId: 'req_1',
    account: caller?.account.id ?? 0,
    key: caller?.key.id ?? 0,
    inputTokens: 1_000_000,
    cost: 3_000_000_000,
    rates: { tier: 'standard', multiplier: '1', input: '3', output: '15' },
    ...facts,
  });
  service.gateway.selfServiceReads = new SelfServiceReads({ ...reader, getUsage: async () => ({ ...record, seq: 1 }) });
  return (await (await service.get('/v1/usage/req_1', secret)).json()) as Record<string, unknown>;
}

test('the charge excludes what could not be paid: the two amounts differ by the write-off', async () => {
  const shown = await readUsage({ writtenOff: 500_000_000 });
  expect(shown).toMatchObject({ cost: '3.00', charged: '2.50', price: { after_rounding: '3.00' } });
  expect(shown).not.toContainKey('written_off');
});

test('if the rates are missing or do not add up to the cost, no calculation is shown', async () => {
  expect(await readUsage({})).toMatchObject({ price: { after_rounding: '3.00' } });
  expect(await readUsage({ cost: 2_999_999_999 })).toMatchObject({ cost: '2.999999999', price: null });
  expect(await readUsage({ rates: {} })).toMatchObject({ cost: '3.00', price: null });
  expect(await readUsage({ rates: { multiplier: '1', output: '15' } })).toMatchObject({ price: null });
});

// An internal error is a 500 without its cause, which only the operator sees. No hold remains.

import { expect, test } from 'bun:test';
import type { LedgerGate } from '../../../src/ledger/ledger.ts';
import { EVENTS, messageReply, startControlled, streamOf } from './controlled-service.ts';
import { expectError } from './world.ts';

test('an error at admission is internal, reveals nothing of its cause, and leaves no hold', async () => {
  let isBroken = true;
  const gateOver = (gate: LedgerGate): LedgerGate => ({
    batches: () => gate.batches(),
    submit: (bundle) =>
      isBroken && bundle.operations[0]?.kind === 'admit'
        ? Promise.reject(new TypeError('secret of the machine'))
        : gate.submit(bundle),
  });
  await using service = await startControlled({ gateOver });
  const secret = await service.makeKey();
  for (const stream of [false, true]) {
    const message = await expectError(await service.post(secret, { stream }), 500, 'api_error', 'internal');
    expect(message).not.toContain('secret');
  }
  isBroken = false;
  expect((await service.post(secret, { stream: true })).status).toBe(200);
  expect(await service.check()).toMatchObject({ ok: true });
});

test('an unexpected exception in provider code is a provider failure, with its cause in the report', async () => {
  await using service = await startControlled({
    answer: () => Promise.reject(new RangeError('secret of the machine')),
  });
  const secret = await service.makeKey();
  for (const stream of [false, true]) {
    const message = await expectError(await service.post(secret, { stream }), 502, 'api_error', 'upstream_failed');
    expect(message).not.toContain('secret');
  }
  expect(service.reports.map(({ code }) => code)).toEqual(['upstream_failed', 'upstream_failed']);
  expect(String((service.reports[0]?.cause as Error | undefined)?.cause)).toContain('secret of the machine');
  expect(await service.records()).toMatchObject([{ outcome: 'failed', cost: 0 }, { outcome: 'failed' }]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('provider code that returns the wrong kind of response is stopped, and nothing is charged', async () => {
  const signals: AbortSignal[] = [];
  let isStream = true;
  await using service = await startControlled({
    answer: async (_, signal) => {
      signals.push(signal);
      return isStream ? streamOf(EVENTS) : messageReply();
    },
  });
  const secret = await service.makeKey();
  await expectError(await service.post(secret), 502, 'api_error', 'upstream_failed');
  isStream = false;
  await expectError(await service.post(secret, { stream: true }), 502, 'api_error', 'upstream_failed');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true]); // two routes for each request
  expect(await service.records()).toMatchObject(Array(2).fill({ outcome: 'failed', usageSource: 'none', cost: 0 }));
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('an error right after admission is internal, and leaves no hold', async () => {
  await using service = await startControlled();
  const secret = await service.makeKey();
  const { levels } = service.gateway;
  const remember = levels.remember.bind(levels);
  levels.remember = () => {
    throw new RangeError('secret of the machine');
  };
  await expectError(await service.post(secret), 500, 'api_error', 'internal');
  levels.remember = remember;
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  expect(await service.records()).toMatchObject([{ outcome: 'failed', status: 500, cost: 0 }]);
  expect((await service.post(secret, { stream: true })).status).toBe(200);
});

test('a tracer that fails at the start of a message affects no message', async () => {
  await using service = await startControlled();
  const secret = await service.makeKey();
  service.gateway.trace = () => {
    throw new RangeError('secret of the machine');
  };
  expect(await (await service.post(secret, { stream: true })).text()).toContain('message_stop');
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('an error while a message runs, or while its end is written, leaves no hold', async () => {
  const mistake = () => {
    throw new RangeError('secret of the machine');
  };
  let isLate = false;
  await using service = await startControlled({
    answer: async () => {
      if (isLate) service.gateway.clock = { nowMs: mistake };
      return messageReply();
    },
  });
  const secret = await service.makeKey();
  const { clock, estimates } = service.gateway;
  const { output } = estimates;
  estimates.output = mistake;
  for (const stream of [false, true])
    await expectError(await service.post(secret, { stream }), 500, 'api_error', 'internal');
  estimates.output = output;
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  isLate = true;
  await expectError(await service.post(secret), 500, 'api_error', 'internal');
  service.gateway.clock = clock;
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  const ended = (await service.records()).map(({ outcome, cost }) => [outcome, cost]);
  expect(ended).toEqual(Array(3).fill(['failed', 0]));
});

test('a response that cannot be sealed is sent and billed nevertheless', async () => {
  await using service = await startControlled();
  const secret = await service.makeKey();
  service.gateway.answers.rowsOf = () => {
    throw new RangeError('secret of the machine');
  };
  const response = await fetch(`${service.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': secret, 'content-type': 'application/json', 'idempotency-key': 'k' },
    body: JSON.stringify({ model: 'm', max_tokens: 64, stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  });
  expect(await response.text()).toContain('event: message_stop');
  expect(await service.records()).toMatchObject([{ outcome: 'completed', usageSource: 'reported' }]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

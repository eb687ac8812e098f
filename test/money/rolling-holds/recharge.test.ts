// Messages that the wallet cannot pay for wait for a recharge: streams go on, and messages are admitted. Nothing is sent
// that is not paid for, and without a recharge they end as others do.

import { expect, test } from 'bun:test';
import type { Account } from '../../../src/accounts/accounts.ts';
import type { Recharges } from '../../../src/gateway/gateway.ts';
import type { NodeLedger } from '../../../src/ledger/ledger.ts';
import { makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';
import {
  type ControlledService,
  EVENTS,
  startControlled,
  streamOf,
} from '../../contract/post-messages/controlled-service.ts';
import { eventsOf, expectError, expectErrorEvent } from '../../contract/post-messages/world.ts';

const CENT = 10_000_000;
const TOKENS = 4_000; // of output at 15 USD per million: 6 cents

const delta = makeEvent({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: 'abc '.repeat(500) },
});
const LONG: readonly StreamEvent[] = [
  ...EVENTS.slice(0, 2),
  ...Array.from({ length: TOKENS / 500 }, () => delta),
  makeEvent({ type: 'content_block_stop', index: 0 }),
  makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: TOKENS } }),
  makeEvent({ type: 'message_stop' }),
];
const LONG_COST = 25 * 3_000 + TOKENS * 15_000;

/** Recharges whose outcome the test decides. A successful one credits ten dollars. */
class DecidedRecharges implements Recharges {
  readonly ledger: NodeLedger;
  started = 0;
  waits = 0;
  aborted = 0;
  readonly waited = Promise.withResolvers<void>();
  readonly #outcome = Promise.withResolvers<boolean>();

  constructor(ledger: NodeLedger) {
    this.ledger = ledger;
  }

  start(): void {
    this.started++;
  }

  forget(): void {}

  async wait({ id }: Account, _: number, signal: AbortSignal): Promise<boolean> {
    this.waits++;
    this.waited.resolve();
    const aborted = new Promise<boolean>((resolve) => signal.addEventListener('abort', () => resolve(false)));
    void aborted.then(() => this.aborted++);
    if (!(await Promise.race([this.#outcome.promise, aborted]))) return false;
    const reference = 'recharge'; // one credit, however many wait
    const credit = {
      kind: 'credit',
      account: id,
      amount: 1_000 * CENT,
      source: 'payment',
      reference,
      note: null,
    } as const;
    await this.ledger.submit({ operations: [credit] });
    return true;
  }

  decide(isPaid: boolean): void {
    this.#outcome.resolve(isPaid);
  }
}

interface Recharged {
  service: ControlledService;
  recharges: DecidedRecharges;
}

async function start(creditNano: number, events: readonly StreamEvent[] = LONG, isOn = true): Promise<Recharged> {
  let recharges: DecidedRecharges | null = null;
  const autoRecharge = { threshold: 5 * CENT, amount: 1_000 * CENT, perDayMax: 3, sinceMs: 0 };
  const service = await startControlled({
    creditNano,
    ...(isOn && { autoRecharge }),
    recharges: ({ ledger }) => {
      recharges = new DecidedRecharges(ledger);
      return recharges;
    },
    answer: async (_, signal) => streamOf(events, {}, signal),
  });
  if (recharges === null) throw new Error('recharges were not made');
  return { service, recharges };
}

async function expectBalanced(service: ControlledService): Promise<void> {
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
}

const stream = { stream: true, max_tokens: 8_000 };

/** The text of the response, as it arrives. */
async function readInto(response: Response, pieces: string[]): Promise<void> {
  const decoder = new TextDecoder();
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) pieces.push(decoder.decode(piece));
}

const deltasIn = (pieces: string[]) => pieces.join('').split('content_block_delta"').length - 1;
const pingsIn = (pieces: string[]) => pieces.join('').split('event: ping').length - 1;

test('a stream that would have run dry goes on after a recharge, with pings and no unpaid output meanwhile', async () => {
  const { service, recharges } = await start(3 * CENT);
  await using _ = service;
  const response = await service.post(await service.makeKey(), stream);
  const pieces: string[] = [];
  const reading = readInto(response, pieces);
  await recharges.waited.promise;
  while (pingsIn(pieces) < 3) await Bun.sleep(10);
  expect(deltasIn(pieces)).toBeLessThanOrEqual((3 * CENT) / (500 * 15_000));
  recharges.decide(true);
  await reading;
  expect(eventsOf(pieces.join('')).at(-1)?.name).toBe('message_stop');
  expect(deltasIn(pieces)).toBe(TOKENS / 500);
  expect(await service.records()).toMatchObject([{ outcome: 'completed', cost: LONG_COST, writtenOff: 0 }]);
  expect(recharges).toMatchObject({ waits: 1 });
  await expectBalanced(service);
});

test('a stream whose recharge fails ends as one whose money is spent', async () => {
  const { service, recharges } = await start(3 * CENT);
  await using _ = service;
  const answering = service.post(await service.makeKey(), stream);
  recharges.decide(false);
  await expectErrorEvent(await answering, 'billing_error', 'insufficient_user_quota');
  const [record] = await service.records();
  expect(record).toMatchObject({ outcome: 'quota_cut', writtenOff: 0 });
  expect(record?.cost).toBeLessThanOrEqual(3 * CENT);
  await expectBalanced(service);
});

test('a client that disconnects while its stream waits pays for the output produced so far', async () => {
  const { service, recharges } = await start(3 * CENT);
  await using _ = service;
  const leaving = new AbortController();
  const response = await service.post(await service.makeKey(), stream, leaving.signal);
  const reading = readInto(response, []).catch(() => {});
  await recharges.waited.promise;
  leaving.abort();
  await reading;
  while (service.gateway.running.count > 0 || service.gateway.ledger.unfinished > 0) await Bun.sleep(5);
  expect(recharges.aborted).toBe(1);
  const [record] = await service.records();
  expect(record).toMatchObject({ writtenOff: 0 });
  expect(record?.cost).toBeLessThanOrEqual(3 * CENT);
  await expectBalanced(service);
});

test('a stream that waits ends at once when the service stops', async () => {
  const { service, recharges } = await start(3 * CENT);
  await using _ = service;
  const answering = service.post(await service.makeKey(), stream);
  const ended = answering.then((response) => expectErrorEvent(response, 'api_error', 'draining'));
  await recharges.waited.promise;
  service.gateway.running.cutAll();
  await ended;
  expect(recharges.aborted).toBe(1);
  await expectBalanced(service);
});

test.each([true, false])('a message waits at admission and is served, streamed: %p', async (isStream) => {
  const { service, recharges } = await start(0, EVENTS);
  await using _ = service;
  const answering = service.post(await service.makeKey(), { stream: isStream });
  await recharges.waited.promise;
  expect(service.gateway.running.count).toBe(0);
  recharges.decide(true);
  const response = await answering;
  await response.text();
  // The provider of this test streams only.
  expect(response.status).toBe(isStream ? 200 : 502);
  await expectBalanced(service);
});

test('a message is refused when the recharge fails, and when its client disconnects it is not admitted', async () => {
  const { service, recharges } = await start(0, EVENTS);
  await using _ = service;
  const secret = await service.makeKey();
  const leaving = new AbortController();
  const left = service.post(secret, {}, leaving.signal).catch(() => null);
  await recharges.waited.promise;
  leaving.abort();
  await left;
  while (service.gateway.slots.taken > 0) await Bun.sleep(5);
  recharges.decide(false);
  await expectError(await service.post(secret, {}), 400, 'billing_error', 'insufficient_user_quota', /balance/);
  expect(await service.records()).toEqual([]);
});

test('a message that is too expensive for a wallet above its threshold begins no recharge', async () => {
  const { service, recharges } = await start(6 * CENT, EVENTS);
  await using _ = service;
  const tooMuch = { max_tokens: 60_000 };
  await expectError(
    await service.post(await service.makeKey(), tooMuch),
    400,
    'billing_error',
    'insufficient_user_quota',
  );
  expect(recharges).toMatchObject({ started: 0, waits: 0 });
});

test('the quota of a key that is exhausted begins no recharge and is not waited for', async () => {
  const { service, recharges } = await start(1_000 * CENT);
  await using _ = service;
  const secret = await service.makeKey({ quota: 3 * CENT });
  await expectErrorEvent(await service.post(secret, stream), 'billing_error', 'insufficient_user_quota');
  expect(recharges).toMatchObject({ started: 0, waits: 0 });
});

test('a message that leaves less than the threshold begins a recharge, and one that costs nothing does not', async () => {
  const { service, recharges } = await start(5 * CENT, EVENTS);
  await using _ = service;
  const secret = await service.makeKey();
  await (await service.post(secret, { stream: true, max_tokens: 16 })).text();
  expect(recharges).toMatchObject({ started: 1, waits: 0 });
  await (await service.post(secret, {})).text(); // the provider's answer is not the whole message that was requested
  expect(recharges).toMatchObject({ started: 1, waits: 0 });
});

test('an account without the setting begins no recharge', async () => {
  const { service, recharges } = await start(3 * CENT, LONG, false);
  await using _ = service;
  const secret = await service.makeKey();
  await expectErrorEvent(await service.post(secret, stream), 'billing_error', 'insufficient_user_quota');
  expect(recharges).toMatchObject({ started: 0, waits: 0 });
});

// The hold of a stream and its usage: extensions are requested ahead of need, output that is not covered is not
// relayed, and a checkpoint is written for a crash.

import { expect, test } from 'bun:test';
import { type Offer, resolveModel } from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import type { AdmittedRequest } from '../../../src/gateway/plan-message.ts';
import { StreamHold } from '../../../src/gateway/stream-hold.ts';
import {
  type Answer,
  type Bundle,
  type Extend,
  type LedgerGate,
  NodeLedger,
  type UsageRecord,
} from '../../../src/ledger/ledger.ts';
import { MessageCounter } from '../../../src/usage/usage.ts';
import { makeEvent } from '../../../src/wire/wire.ts';
import { failureOf, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { catalogOf } from '../catalog/support.ts';

const PROMPT_TOKENS = 100;
const TRANCHE_TOKENS = 100;
const FIRST = amountFor(TRANCHE_TOKENS);
const MUCH = 1_000_000_000;
const REQUEST_ID = 'req_1';
const OFFER = offerOf({ input: '1', output: '2' });

/** The cost of a prompt and the given output, at one and two dollars per million tokens. */
function amountFor(outputTokens: number, promptTokens = PROMPT_TOKENS): number {
  return promptTokens * 1_000 + outputTokens * 2_000;
}

function offerOf(price: object): Offer {
  const catalog = catalogOf({
    providers: { sandbox: { kind: 'sandbox' } },
    models: { m: { price, routes: [{ provider: 'sandbox' }] } },
    groups: { default: { models: ['*'] } },
  });
  return resolveModel(catalog, { account: 1, groups: ['default'], keyModels: null }, 'm');
}

/** Records extensions, and can fail or block them. */
class ExtensionGate implements LedgerGate {
  state: 'up' | 'unavailable' | 'hung' = 'up';
  readonly extensions: Extend[] = [];
  readonly #gate: LedgerGate;
  #hung: (() => void)[] = [];

  constructor(gate: LedgerGate) {
    this.#gate = gate;
  }

  get amounts(): Extend['amount'][] {
    return this.extensions.map(({ amount }) => amount);
  }

  batches(): number {
    return this.#gate.batches();
  }

  async submit(bundle: Bundle): Promise<Answer[]> {
    const [operation] = bundle.operations;
    if (operation?.kind !== 'extend') return this.#gate.submit(bundle);
    this.extensions.push(operation);
    if (this.state === 'unavailable') throw new TurnpikeError('store_unavailable', 'The store is unavailable.');
    if (this.state === 'hung') await new Promise<void>((resolve) => this.#hung.push(resolve));
    return this.#gate.submit(bundle);
  }

  recover(): void {
    this.state = 'up';
    for (const resolve of this.#hung.splice(0)) resolve();
  }
}

/** The message of a stream hold. */
class Message {
  counter = new MessageCounter();
  readonly admitted: AdmittedRequest;
  readonly stopped: string[] = [];
  timesLowered = 0;
  checkpoint: () => UsageRecord;

  constructor(bench: Workbench, maxTokens: number, settleWaitSeconds: number) {
    const firstCase = { inputTokens: PROMPT_TOKENS, outputTokens: TRANCHE_TOKENS, webSearches: 0, tier: 'standard' };
    const account = { id: 1, name: '', groups: [], status: 'enabled', createdAtMs: 0 };
    this.admitted = {
      clientRequest: { requestId: REQUEST_ID, signal: new AbortController().signal },
      caller: { account, above: [] },
      catalog: { settings: { settleWaitSeconds } },
      offer: OFFER,
      plan: { firstCase, trancheTokens: TRANCHE_TOKENS },
      maxTokens,
    } as unknown as AdmittedRequest; // the fields that a stream hold reads
    this.checkpoint = () => bench.record(REQUEST_ID, { cost: 2_000, outcome: 'service_cut' });
  }
}

interface Stream extends AsyncDisposable {
  bench: Workbench;
  gate: ExtensionGate;
  message: Message;
  streamHold: StreamHold;
  /** Sets the number of output tokens used so far. */
  use(tokens: number): void;
  /** Lets pending requests complete. */
  settle(): Promise<void>;
}

interface StreamTerms {
  balance?: number;
  /** The prompt count of its provider. */
  promptTokens?: number;
  maxTokens?: number;
  settleWaitSeconds?: number;
}

/** A stream whose first tranche is held, and whose provider has counted the prompt. */
async function openStream(terms: StreamTerms = {}): Promise<Stream> {
  const { balance = MUCH, promptTokens = PROMPT_TOKENS, maxTokens = 1_000, settleWaitSeconds = 10 } = terms;
  let gate: ExtensionGate | undefined;
  const bench = await openWorkbench((clock) => {
    const stores = memoryStores(clock, (commit) => (gate = new ExtensionGate(commit)));
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  }, balance);
  if (gate === undefined) throw new Error('there is no gate');
  const ledger = new NodeLedger(gate, bench.clock, 'node-1');
  await ledger.open();
  const message = new Message(bench, maxTokens, settleWaitSeconds);
  const admitted = await ledger.admit(bench.admission(FIRST, { requestId: REQUEST_ID, owner: ledger.owner }));
  if (!admitted.ok) throw new Error('the message was not admitted');
  const streamHold = new StreamHold({ ledger, recharges: null }, message.admitted, admitted, {
    checkpoint: () => message.checkpoint(),
    stop: (reason) => message.stopped.push(reason),
    onLowered: () => message.timesLowered++,
  });
  streamHold.observe(message.counter);
  const usage = { input_tokens: promptTokens, output_tokens: 0 };
  message.counter.observe(makeEvent({ type: 'message_start', message: { type: 'message', content: [], usage } }));
  streamHold.begin();
  return {
    bench,
    gate,
    message,
    streamHold,
    use: (tokens) => message.counter.observe(makeEvent({ type: 'message_delta', usage: { output_tokens: tokens } })),
    settle: () => Bun.sleep(20),
    async [Symbol.asyncDispose]() {
      streamHold.close();
      gate?.recover();
      await Bun.sleep(5);
      ledger.close();
      await bench[Symbol.asyncDispose]();
    },
  };
}

test('the hold is extended half a tranche ahead of need, once, without waiting', async () => {
  await using stream = await openStream();
  const { streamHold, gate } = stream;
  stream.use(50);
  expect(streamHold.see()).toBeNull();
  expect(gate.amounts).toEqual([]);
  gate.state = 'hung';
  for (const used of [51, 60, 100]) {
    stream.use(used);
    expect(streamHold.see()).toBeNull();
  }
  expect(gate.amounts).toEqual([amountFor(51 + TRANCHE_TOKENS)]);
  gate.recover();
  await stream.settle();
  expect(streamHold.coveredTokens).toBe(151);
  expect((await stream.bench.wallet()).held).toBe(amountFor(151));
});

test('output that is not covered waits for the next tranche and is then relayed', async () => {
  await using stream = await openStream();
  stream.use(250);
  expect(await stream.streamHold.see()).toBe(true);
  expect(stream.streamHold.coveredTokens).toBe(350);
});

test('output beyond a pending extension requests a further one', async () => {
  await using stream = await openStream();
  const { streamHold, gate } = stream;
  gate.state = 'hung';
  stream.use(60);
  expect(streamHold.see()).toBeNull();
  stream.use(250);
  const covering = streamHold.see();
  gate.recover();
  expect(await covering).toBe(true);
  expect(gate.amounts).toEqual([amountFor(160), amountFor(350)]);
});

test('if the money is insufficient, only the part of the output that is paid for is relayed', async () => {
  await using stream = await openStream({ balance: FIRST });
  const { streamHold, gate } = stream;
  stream.use(90);
  expect(streamHold.see()).toBeNull();
  await stream.settle();
  stream.use(95);
  expect(streamHold.see()).toBeNull();
  expect(gate.amounts).toEqual([amountFor(190)]); // the money was insufficient: it is requested again when needed
  stream.use(115);
  expect(await streamHold.see()).toBe(false);
  expect(gate.amounts).toEqual([amountFor(190), amountFor(215)]);
  expect(streamHold.payableShare()).toBe(0.25);
  expect((await stream.bench.wallet()).held).toBe(FIRST);
});

test('the hold never exceeds the maximum of the message', async () => {
  await using stream = await openStream({ maxTokens: 120 });
  stream.use(60);
  expect(stream.streamHold.see()).toBeNull();
  await stream.settle();
  for (const used of [100, 120]) {
    stream.use(used);
    expect(stream.streamHold.see()).toBeNull();
  }
  expect(stream.gate.amounts).toEqual([amountFor(120)]);
});

test('a brief outage of the store is retried', async () => {
  await using stream = await openStream();
  stream.gate.state = 'unavailable';
  stream.use(150);
  const covering = stream.streamHold.see();
  await Bun.sleep(10);
  stream.gate.recover();
  expect(await covering).toBe(true);
});

for (const state of ['unavailable', 'hung'] as const)
  test(`a store that stays ${state} causes store_unavailable after the wait and is not asked again`, async () => {
    await using stream = await openStream({ settleWaitSeconds: 0.1 });
    stream.gate.state = state;
    stream.use(150);
    expect(await failureOf(stream.streamHold.see() as Promise<boolean>)).toMatchObject({ code: 'store_unavailable' });
    await Bun.sleep(300);
    expect(stream.gate.extensions.length).toBeLessThanOrEqual(2);
  });

test('after the provider’s prompt count the same hold covers more output', async () => {
  await using stream = await openStream({ promptTokens: 20 });
  expect(stream.streamHold.coveredTokens).toBe(140);
  expect(stream.gate.amounts).toEqual([]);
});

test('with little money, the excess of the prompt hold is released at once', async () => {
  await using over = await openStream({ balance: 2 * FIRST, promptTokens: 20 });
  await over.settle();
  expect(over.gate.amounts).toEqual([amountFor(TRANCHE_TOKENS, 20)]);
  expect((await over.bench.wallet()).held).toBe(amountFor(TRANCHE_TOKENS, 20));
  await using under = await openStream({ balance: 2 * FIRST, promptTokens: 130 });
  expect(under.streamHold.coveredTokens).toBe(85);
  under.streamHold.look();
  await under.settle();
  expect(under.gate.amounts).toEqual(['same']);
  expect((await under.bench.wallet()).held).toBe(FIRST);
});

test('a changed checkpoint is written at each check, and the excess of the hold is released', async () => {
  await using stream = await openStream({ promptTokens: 20 });
  const { streamHold, gate } = stream;
  for (const used of [10, 10, 30]) {
    stream.use(used);
    streamHold.look();
    await stream.settle();
  }
  expect(gate.amounts).toEqual([amountFor(110, 20), 'same']);
  expect(gate.extensions.map(({ checkpoint }) => checkpoint?.outcome)).toEqual(['service_cut', 'service_cut']);
});

test('a released amount is no longer covered, even if the store’s response is lost', async () => {
  await using stream = await openStream({ promptTokens: 20 });
  stream.gate.state = 'unavailable';
  stream.use(10);
  stream.streamHold.look();
  await stream.settle();
  expect(stream.streamHold.coveredTokens).toBe(110);
});

test('one checkpoint is written at a time, and a failed one is retried at the next check', async () => {
  await using stream = await openStream();
  const { streamHold, gate } = stream;
  gate.state = 'hung';
  for (const used of [10, 20]) {
    stream.use(used);
    streamHold.look();
  }
  expect(gate.amounts).toEqual(['same']);
  gate.recover();
  await stream.settle();
  gate.state = 'unavailable';
  for (let turn = 0; turn < 2; turn++) {
    streamHold.look();
    await stream.settle();
  }
  expect(gate.amounts).toEqual(['same', 'same', 'same']);
});

test('a stream with hidden output is stopped when the money is used up', async () => {
  await using stream = await openStream({ balance: FIRST });
  stream.use(101);
  stream.streamHold.look();
  await stream.settle();
  expect(stream.message.stopped).toEqual(['money']);
});

test('a stream whose hold was ended by another node is stopped and requests nothing more', async () => {
  await using stream = await openStream();
  await stream.bench.release(REQUEST_ID);
  stream.use(150);
  expect(await failureOf(stream.streamHold.see() as Promise<boolean>)).toMatchObject({ code: 'internal' });
  expect(stream.message.stopped).toEqual(['elsewhere']);
});

test('responses after the end have no effect, and nothing is requested after it', async () => {
  await using stream = await openStream();
  const { streamHold, gate } = stream;
  gate.state = 'hung';
  stream.use(60);
  expect(streamHold.see()).toBeNull();
  streamHold.close();
  await stream.bench.release(REQUEST_ID);
  gate.recover();
  await stream.settle();
  stream.use(500);
  streamHold.look();
  await stream.settle();
  expect(stream.message.stopped).toEqual([]);
  expect(gate.amounts).toEqual([amountFor(160)]);
});

test('the checkpoint of a failed attempt is withdrawn at once, and the next attempt writes its own', async () => {
  await using stream = await openStream();
  const { streamHold, gate, message } = stream;
  streamHold.look();
  await stream.settle();
  expect(gate.extensions).toHaveLength(1);
  message.counter = new MessageCounter();
  streamHold.observe(message.counter);
  streamHold.rewind();
  expect(gate.extensions).toHaveLength(2);
  await stream.settle();
  streamHold.look();
  expect(gate.extensions).toHaveLength(2); // nothing has changed
  streamHold.begin(); // its value is zero, and it is written nevertheless
  streamHold.look();
  expect(gate.extensions).toHaveLength(3);
});

test('a failed attempt without a checkpoint withdraws nothing', async () => {
  await using stream = await openStream();
  stream.message.counter = new MessageCounter();
  stream.streamHold.observe(stream.message.counter);
  stream.streamHold.rewind();
  expect(stream.gate.extensions).toEqual([]);
});

test('after a failed attempt the hold is extended again for the next prompt', async () => {
  await using stream = await openStream({ balance: 2 * FIRST, promptTokens: 20 });
  await stream.settle();
  expect((await stream.bench.wallet()).held).toBe(amountFor(TRANCHE_TOKENS, 20));
  stream.message.counter = new MessageCounter();
  stream.streamHold.observe(stream.message.counter);
  stream.streamHold.rewind();
  await stream.settle();
  expect((await stream.bench.wallet()).held).toBe(FIRST);
  expect(stream.streamHold.coveredTokens).toBe(TRANCHE_TOKENS);
});

test('insufficient money for a failed attempt does not prevent the next one', async () => {
  await using stream = await openStream({ balance: FIRST });
  const { streamHold, gate, message } = stream;
  gate.state = 'hung';
  stream.use(101);
  streamHold.look();
  message.counter = new MessageCounter();
  streamHold.observe(message.counter);
  streamHold.rewind();
  gate.recover();
  await stream.settle();
  expect(message.stopped).toEqual([]);
});

test('checks that fail by an internal error are passed on, and several in a row stop the message', async () => {
  await using stream = await openStream();
  const failures: unknown[] = [];
  const check = (times: number) => {
    for (let time = 0; time < times; time++) stream.streamHold.check((failure) => failures.push(failure));
  };
  const { message } = stream;
  const { checkpoint } = message;
  const broken = new Error('broken');
  message.checkpoint = () => {
    throw broken;
  };
  stream.use(10);
  check(bounds.holdChecksFailedMax - 1);
  expect(message.stopped).toEqual([]);
  message.checkpoint = checkpoint;
  check(1);
  await stream.settle();
  message.checkpoint = () => {
    throw broken;
  };
  stream.use(20);
  check(bounds.holdChecksFailedMax - 1);
  expect(message.stopped).toEqual([]);
  check(2);
  expect(message.stopped).toEqual(['elsewhere']);
  expect(new Set(failures)).toEqual(new Set([broken]));
});

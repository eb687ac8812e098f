// What a stream holds against what it has used: more is asked for ahead of need, what is not covered is not given
// out, and what a crash would bill is written down.

import { expect, test } from 'bun:test';
import { type Offer, resolveModel } from '../../src/catalog/catalog.ts';
import { TurnpikeError } from '../../src/errors.ts';
import { Cover, type Covered } from '../../src/gateway/cover.ts';
import type { MessagePlan } from '../../src/gateway/plan-message.ts';
import { type Answer, type Bundle, type Extend, type LedgerGate, NodeLedger } from '../../src/ledger/ledger.ts';
import { memoryStores, sumMemory } from '../../src/storage/memory/memory.ts';
import { MessageCounter } from '../../src/usage/usage.ts';
import { makeEvent } from '../../src/wire/wire.ts';
import { catalogueOf } from '../catalog/support.ts';
import { failureOf, openWorkbench, type Workbench } from '../ledger/workbench.ts';

const PROMPT_TOKENS = 100;
const TRANCHE_TOKENS = 100;
const FIRST = amountFor(TRANCHE_TOKENS);
const MUCH = 1_000_000_000;
const OFFER = offerOf({ input: '1', output: '2' });

/** What a prompt and so much output cost, at a dollar and two a million. */
function amountFor(outputTokens: number, promptTokens = PROMPT_TOKENS): number {
  return promptTokens * 1_000 + outputTokens * 2_000;
}

function offerOf(price: object): Offer {
  const catalogue = catalogueOf({
    providers: { sandbox: { kind: 'sandbox' } },
    models: { m: { price, routes: [{ provider: 'sandbox' }] } },
    groups: { default: { models: ['*'] } },
  });
  return resolveModel(catalogue, { account: 1, groups: ['default'], keyModels: null }, 'm');
}

/** Notes extensions, and may fail or hang on them. */
class ExtensionGate implements LedgerGate {
  state: 'up' | 'gone' | 'hung' = 'up';
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
    if (this.state === 'gone') throw new TurnpikeError('store_unavailable', 'gone');
    if (this.state === 'hung') await new Promise<void>((resolve) => this.#hung.push(resolve));
    return this.#gate.submit(bundle);
  }

  recover(): void {
    this.state = 'up';
    for (const resolve of this.#hung.splice(0)) resolve();
  }
}

class Message implements Covered {
  readonly requestId = 'req_1';
  counter = new MessageCounter();
  readonly offer = OFFER;
  readonly plan: MessagePlan;
  readonly maxTokens: number;
  readonly settleWaitMs: number;
  readonly stopped: string[] = [];
  readonly #bench: Workbench;

  constructor(bench: Workbench, maxTokens: number, settleWaitMs: number) {
    this.#bench = bench;
    this.maxTokens = maxTokens;
    this.settleWaitMs = settleWaitMs;
    const first = {
      inputTokens: PROMPT_TOKENS,
      outputTokens: TRANCHE_TOKENS,
      webSearches: 0,
      speed: 'standard',
    } as const;
    this.plan = { firstCase: first, trancheTokens: TRANCHE_TOKENS } as MessagePlan; // all that a cover looks at
  }

  checkpoint() {
    return this.#bench.record(this.requestId, { cost: 2_000, outcome: 'service_cut' });
  }

  stopForMoney(): void {
    this.stopped.push('money');
  }

  stopElsewhere(): void {
    this.stopped.push('elsewhere');
  }
}

interface Stream extends AsyncDisposable {
  bench: Workbench;
  gate: ExtensionGate;
  message: Message;
  cover: Cover;
  /** So many output tokens were used by now. */
  use(tokens: number): void;
  /** Lets what was asked be answered. */
  settle(): Promise<void>;
}

interface StreamTerms {
  balance?: number;
  /** As its provider counts them. */
  promptTokens?: number;
  maxTokens?: number;
  settleWaitMs?: number;
}

/** A stream of which the first tranche is held, and of which its provider has counted the prompt. */
async function openStream(terms: StreamTerms = {}): Promise<Stream> {
  const { balance = MUCH, promptTokens = PROMPT_TOKENS, maxTokens = 1_000, settleWaitMs = 10_000 } = terms;
  let gate: ExtensionGate | undefined;
  const bench = await openWorkbench((clock) => {
    const stores = memoryStores(clock, (commit) => (gate = new ExtensionGate(commit)));
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  }, balance);
  if (gate === undefined) throw new Error('there is no gate');
  const ledger = new NodeLedger(gate, bench.clock, 'node-1');
  await ledger.open();
  const message = new Message(bench, maxTokens, settleWaitMs);
  const admitted = await ledger.admit(bench.admission(FIRST, { requestId: message.requestId, owner: ledger.owner }));
  if (!admitted.ok) throw new Error('it was not admitted');
  const cover = new Cover(ledger, message, admitted);
  const usage = { input_tokens: promptTokens, output_tokens: 0 };
  message.counter.observe(makeEvent({ type: 'message_start', message: { type: 'message', content: [], usage } }));
  cover.begin();
  return {
    bench,
    gate,
    message,
    cover,
    use: (tokens) => message.counter.observe(makeEvent({ type: 'message_delta', usage: { output_tokens: tokens } })),
    settle: () => Bun.sleep(20),
    async [Symbol.asyncDispose]() {
      cover.close();
      gate?.recover();
      await Bun.sleep(5);
      ledger.close();
      await bench[Symbol.asyncDispose]();
    },
  };
}

test('half a tranche ahead of need the next one is asked for, once, and nobody waits for it', async () => {
  await using stream = await openStream();
  const { cover, gate } = stream;
  stream.use(50);
  expect(cover.see()).toBeNull();
  expect(gate.amounts).toEqual([]);
  gate.state = 'hung';
  for (const used of [51, 60, 100]) {
    stream.use(used);
    expect(cover.see()).toBeNull();
  }
  expect(gate.amounts).toEqual([amountFor(51 + TRANCHE_TOKENS)]);
  gate.recover();
  await stream.settle();
  expect(cover.coveredTokens).toBe(151);
  expect((await stream.bench.wallet()).held).toBe(amountFor(151));
});

test('what is not covered waits for the next tranche, and is given out when that is there', async () => {
  await using stream = await openStream();
  stream.use(250);
  expect(await stream.cover.see()).toBe(true);
  expect(stream.cover.coveredTokens).toBe(350);
});

test('whoever needs more than was asked for meanwhile asks once more', async () => {
  await using stream = await openStream();
  const { cover, gate } = stream;
  gate.state = 'hung';
  stream.use(60);
  expect(cover.see()).toBeNull();
  stream.use(250);
  const covering = cover.see();
  gate.recover();
  expect(await covering).toBe(true);
  expect(gate.amounts).toEqual([amountFor(160), amountFor(350)]);
});

test('where no more is there it is not covered, and of what came last only what is paid for is given out', async () => {
  await using stream = await openStream({ balance: FIRST });
  const { cover, gate } = stream;
  stream.use(90);
  expect(cover.see()).toBeNull();
  await stream.settle();
  stream.use(95);
  expect(cover.see()).toBeNull();
  expect(gate.amounts).toEqual([amountFor(190)]); // it was short: it is asked for again when it is needed
  stream.use(115);
  expect(await cover.see()).toBe(false);
  expect(gate.amounts).toEqual([amountFor(190), amountFor(215)]);
  expect(cover.payableShare()).toBe(0.25);
  expect((await stream.bench.wallet()).held).toBe(FIRST);
});

test('no more is asked for than the message may have', async () => {
  await using stream = await openStream({ maxTokens: 120 });
  stream.use(60);
  expect(stream.cover.see()).toBeNull();
  await stream.settle();
  for (const used of [100, 120]) {
    stream.use(used);
    expect(stream.cover.see()).toBeNull();
  }
  expect(stream.gate.amounts).toEqual([amountFor(120)]);
});

test('a store that is gone for a moment is asked again', async () => {
  await using stream = await openStream();
  stream.gate.state = 'gone';
  stream.use(150);
  const covering = stream.cover.see();
  await Bun.sleep(10);
  stream.gate.recover();
  expect(await covering).toBe(true);
});

for (const state of ['gone', 'hung'] as const)
  test(`a store that stays ${state} is named after the wait, and not asked any more`, async () => {
    await using stream = await openStream({ settleWaitMs: 100 });
    stream.gate.state = state;
    stream.use(150);
    expect(await failureOf(stream.cover.see() as Promise<boolean>)).toMatchObject({ code: 'store_unavailable' });
    await Bun.sleep(300);
    expect(stream.gate.extensions.length).toBeLessThanOrEqual(2);
  });

test('what is held for the prompt is what the provider counted: more output is covered', async () => {
  await using stream = await openStream({ promptTokens: 20 });
  expect(stream.cover.coveredTokens).toBe(140);
  expect(stream.gate.amounts).toEqual([]);
});

test('where money is short, what is held too much for the prompt is given back at once, and never more is held', async () => {
  await using over = await openStream({ balance: 2 * FIRST, promptTokens: 20 });
  await over.settle();
  expect(over.gate.amounts).toEqual([amountFor(TRANCHE_TOKENS, 20)]);
  expect((await over.bench.wallet()).held).toBe(amountFor(TRANCHE_TOKENS, 20));
  await using under = await openStream({ balance: 2 * FIRST, promptTokens: 130 });
  expect(under.cover.coveredTokens).toBe(85);
  under.cover.look();
  await under.settle();
  expect(under.gate.amounts).toEqual(['same']);
  expect((await under.bench.wallet()).held).toBe(FIRST);
});

test('what a crash would bill is written at each look at which it has changed, and what is held too much given back', async () => {
  await using stream = await openStream({ promptTokens: 20 });
  const { cover, gate } = stream;
  for (const used of [10, 10, 30]) {
    stream.use(used);
    cover.look();
    await stream.settle();
  }
  expect(gate.amounts).toEqual([amountFor(110, 20), 'same']);
  expect(gate.extensions.map(({ checkpoint }) => checkpoint?.outcome)).toEqual(['service_cut', 'service_cut']);
});

test('what is given back is held no more, also where the store does not say whether it heard of it', async () => {
  await using stream = await openStream({ promptTokens: 20 });
  stream.gate.state = 'gone';
  stream.use(10);
  stream.cover.look();
  await stream.settle();
  expect(stream.cover.coveredTokens).toBe(110);
});

test('one checkpoint is written at a time, and one that was not written at the next look', async () => {
  await using stream = await openStream();
  const { cover, gate } = stream;
  gate.state = 'hung';
  for (const used of [10, 20]) {
    stream.use(used);
    cover.look();
  }
  expect(gate.amounts).toEqual(['same']);
  gate.recover();
  await stream.settle();
  gate.state = 'gone';
  for (let turn = 0; turn < 2; turn++) {
    cover.look();
    await stream.settle();
  }
  expect(gate.amounts).toEqual(['same', 'same', 'same']);
});

test('what is used unseen is stopped where the money ends', async () => {
  await using stream = await openStream({ balance: FIRST });
  stream.use(101);
  stream.cover.look();
  await stream.settle();
  expect(stream.message.stopped).toEqual(['money']);
});

test('a stream whose hold another ended is stopped, and asks for nothing more', async () => {
  await using stream = await openStream();
  await stream.bench.release(stream.message.requestId);
  stream.use(150);
  expect(await failureOf(stream.cover.see() as Promise<boolean>)).toMatchObject({ code: 'internal' });
  expect(stream.message.stopped).toEqual(['elsewhere']);
});

test('what is answered after the end stops nothing, and nothing is asked after it', async () => {
  await using stream = await openStream();
  const { cover, gate } = stream;
  gate.state = 'hung';
  stream.use(60);
  expect(cover.see()).toBeNull();
  cover.close();
  await stream.bench.release(stream.message.requestId);
  gate.recover();
  await stream.settle();
  stream.use(500);
  cover.look();
  await stream.settle();
  expect(stream.message.stopped).toEqual([]);
  expect(gate.amounts).toEqual([amountFor(160)]);
});

test('what a crash would bill of a stream that was given up is taken back at once, and written anew of the next', async () => {
  await using stream = await openStream();
  const { cover, gate, message } = stream;
  cover.look();
  await stream.settle();
  expect(gate.extensions).toHaveLength(1);
  message.counter = new MessageCounter();
  cover.rewind();
  expect(gate.extensions).toHaveLength(2);
  await stream.settle();
  cover.look();
  expect(gate.extensions).toHaveLength(2); // nothing has changed
  cover.begin(); // its beginning is worth as much as nothing, and is written down all the same
  cover.look();
  expect(gate.extensions).toHaveLength(3);
});

test('a stream that was given up before anything was written of it leaves nothing to take back', async () => {
  await using stream = await openStream();
  stream.message.counter = new MessageCounter();
  stream.cover.rewind();
  expect(stream.gate.extensions).toEqual([]);
});

test('what was given back for the prompt of a stream that was given up is held again for the next', async () => {
  await using stream = await openStream({ balance: 2 * FIRST, promptTokens: 20 });
  await stream.settle();
  expect((await stream.bench.wallet()).held).toBe(amountFor(TRANCHE_TOKENS, 20));
  stream.message.counter = new MessageCounter();
  stream.cover.rewind();
  await stream.settle();
  expect((await stream.bench.wallet()).held).toBe(FIRST);
  expect(stream.cover.coveredTokens).toBe(TRANCHE_TOKENS);
});

test('that there is no money for a stream that was given up does not stop the next', async () => {
  await using stream = await openStream({ balance: FIRST });
  const { cover, gate, message } = stream;
  gate.state = 'hung';
  stream.use(101);
  cover.look();
  message.counter = new MessageCounter();
  cover.rewind();
  gate.recover();
  await stream.settle();
  expect(message.stopped).toEqual([]);
});

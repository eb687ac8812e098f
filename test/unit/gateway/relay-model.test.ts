// The relay in any order of what can happen to a stream: one read at a time, one ending, nothing after the end, nothing
// counted twice or lost, and no hold left.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Reply, submitMessage } from '../../../src/gateway/gateway.ts';
import type { Outcome, UsageRecord } from '../../../src/ledger/ledger.ts';
import { type EventReceiver, type EventSource, ProviderFault } from '../../../src/providers/providers.ts';
import { encodeReply } from '../../../src/public-api/encode-reply.ts';
import { makeEvent, PlainDeltas, type StreamEvent } from '../../../src/wire/wire.ts';
import { type ControlledService, EVENTS, startControlled } from '../../contract/post-messages/controlled-service.ts';
import { clientRequestOf } from './client-request-of.ts';

type Batch = StreamEvent[] | PlainDeltas | null | ProviderFault;
type Step =
  | 'ask'
  | 'deltas'
  | 'plain'
  | 'block'
  | 'finish'
  | 'end'
  | 'fault'
  | 'ping'
  | 'return'
  | 'abort'
  | 'drain'
  | 'revoke'
  | 'turn';

const MAX_TOKENS = 4_000;
/** Its number, and a word or many: the hold covers some deltas, and is extended for others. */
const wordsOf = (at: number) => (at % 3 === 2 ? 150 : 1);
const deltaText = (at: number) => `${at}${' word'.repeat(wordsOf(at))}`;
const deltaEvent = (at: number) =>
  makeEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: deltaText(at) } });

/** Gives batches as they are put in, to one reader at a time. */
class ScriptedSource implements EventSource {
  readonly #batches: Batch[] = [];
  #hasBegun = false;
  #receiver: EventReceiver | null = null;
  readsAtOnce = 0;
  readonly signal: AbortSignal;
  /** Numbers of deltas that were read. */
  readonly read: number[] = [];

  constructor(signal: AbortSignal) {
    this.signal = signal;
    signal.addEventListener('abort', () => this.put(new ProviderFault('aborted', 'aborted')));
  }

  next(): Promise<StreamEvent[] | null> {
    return new Promise((resolve, reject) =>
      this.pull({
        onEvents: (batch) => resolve(batch instanceof PlainDeltas ? batch.events() : batch),
        onFault: reject,
      }),
    );
  }

  pull(receiver: EventReceiver): void {
    this.readsAtOnce = Math.max(this.readsAtOnce, this.#receiver === null ? 1 : 2);
    this.#receiver = receiver;
    this.#give();
  }

  /** No effect from the second call on. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.put([EVENTS[0] as StreamEvent, EVENTS[1] as StreamEvent, deltaEvent(0)]);
  }

  put(batch: Batch): void {
    this.#batches.push(batch);
    this.#give();
  }

  #give(): void {
    const receiver = this.#receiver;
    if (receiver === null || this.#batches.length === 0) return;
    const batch = this.#batches[0] as Batch;
    const isLast = batch === null || batch instanceof ProviderFault; // given again and again
    if (!isLast) this.#batches.shift();
    this.#receiver = null;
    if (batch instanceof ProviderFault) receiver.onFault(batch);
    else receiver.onEvents(batch);
  }
}

interface Stream {
  service: ControlledService;
  source: ScriptedSource;
  reader: AsyncIterator<string | Uint8Array>;
  client: AbortController;
  asked: Promise<void> | null;
  text: string;
  hasLeft: boolean;
  isDone: boolean;
  deltas: number;
  isFinished: boolean;
}

interface Conditions {
  quota: number;
  tranche: number;
  /** Streams are read to their end without their clients. */
  unread: number;
  usesPull: boolean;
  /** The provider's first events come after the reply. */
  beginsLate: boolean;
}

async function open({ quota, tranche, unread, usesPull, beginsLate }: Conditions): Promise<Stream> {
  const { promise, resolve } = Promise.withResolvers<ScriptedSource>();
  const answer = async (_model: string, signal: AbortSignal) => {
    const source = new ScriptedSource(signal);
    if (!beginsLate) source.begin();
    resolve(source);
    const events: EventSource = usesPull ? source : { next: () => source.next() };
    return { form: 'stream' as const, events, upstreamRequestId: null };
  };
  const service = await startControlled({
    answer,
    settings: { output_tranche_tokens: tranche, finish_streams_without_caller_max: unread },
  });
  const client = new AbortController();
  const secret = await service.makeKey({ quota });
  const reply = (await submitMessage(
    service.gateway,
    clientRequestOf(service, secret, client.signal, { max_tokens: MAX_TOKENS }),
  )) as Reply;
  if (reply instanceof Error) throw reply;
  const reader = (encodeReply(reply, null).body as AsyncIterable<string>)[Symbol.asyncIterator]();
  const source = await promise;
  return {
    service,
    source,
    reader,
    client,
    asked: null,
    text: '',
    hasLeft: false,
    isDone: false,
    deltas: 1,
    isFinished: false,
  };
}

function ask(stream: Stream): void {
  if (stream.asked !== null || stream.hasLeft || stream.isDone) return;
  stream.asked = stream.reader.next().then(({ done, value }) => {
    stream.asked = null;
    if (done === true) stream.isDone = true;
    else {
      expect(stream.isDone).toBe(false);
      stream.text += typeof value === 'string' ? value : new TextDecoder().decode(value);
    }
  });
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function take(stream: Stream, step: Step): Promise<void> {
  const { running } = stream.service.gateway;
  if (step === 'ask') ask(stream);
  else if (step === 'turn') await turn();
  else if (step === 'ping')
    await stream.asked; // answered by a ping if by nothing else
  else if (step === 'drain') running.cutAll();
  else if (step === 'revoke') running.cutKey(1);
  else if (step === 'abort' || step === 'return') {
    stream.hasLeft = true;
    if (step === 'abort') stream.client.abort();
    else await stream.reader.return?.();
  } else if (!stream.isFinished) send(stream, step);
}

/** The provider's next step. */
function send(stream: Stream, step: Step): void {
  const { source } = stream;
  source.begin();
  if (step === 'deltas') source.put([deltaEvent(stream.deltas++)]);
  else if (step === 'plain') source.put(plain(stream.deltas++));
  else if (step === 'block') source.put([EVENTS[3] as StreamEvent, EVENTS[1] as StreamEvent]);
  else {
    stream.isFinished = true;
    if (step === 'finish') source.put([...EVENTS.slice(3, 4), finalCount(stream.deltas), ...EVENTS.slice(5)]);
    else source.put(step === 'end' ? null : new ProviderFault('failed', 'broken'));
  }
}

function finalCount(deltas: number): StreamEvent {
  let tokens = 0;
  for (let at = 0; at < deltas; at++) tokens += 1 + wordsOf(at);
  return makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: tokens } });
}

function plain(at: number): PlainDeltas {
  const { json } = deltaEvent(at);
  const bytes = new TextEncoder().encode(`event: content_block_delta\ndata: ${json}\n\n`);
  const from = bytes.length - deltaText(at).length - '"}}\n\n'.length;
  return new PlainDeltas(bytes, [{ from, end: from + deltaText(at).length, kind: 'text', escapes: 'none' }]);
}

/** Lets the stream come to its end, whether its client reads on or has left. */
async function finish(stream: Stream): Promise<void> {
  await take(stream, 'finish');
  while (!stream.isDone && !stream.hasLeft) {
    ask(stream);
    await stream.asked;
  }
  const { gateway } = stream.service;
  while (gateway.running.count > 0 || gateway.ledger.unfinished > 0) await turn();
}

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Step>('ask') },
    { weight: 6, arbitrary: fc.constantFrom<Step>('deltas', 'plain') },
    { weight: 3, arbitrary: fc.constant<Step>('turn') },
    { weight: 2, arbitrary: fc.constantFrom<Step>('block', 'ping') },
    { weight: 1, arbitrary: fc.constantFrom<Step>('finish', 'end', 'fault', 'return', 'abort', 'drain', 'revoke') },
    { weight: 1, arbitrary: fc.constant<Step>('turn') },
  ),
  { minLength: 4, maxLength: 40, size: 'max' },
);
const QUOTA_FULL = 10_000_000_000;
const conditions: fc.Arbitrary<Conditions> = fc.record({
  quota: fc.constantFrom(QUOTA_FULL, 4_300_000),
  tranche: fc.constantFrom(16, 400),
  unread: fc.constantFrom(0, 5),
  usesPull: fc.boolean(),
  beginsLate: fc.oneof({ weight: 7, arbitrary: fc.constant(false) }, fc.constant(true)),
});
const CAUSES: Partial<Record<Step, Outcome>> = {
  end: 'upstream_cut',
  fault: 'upstream_cut',
  return: 'client_gone',
  abort: 'client_gone',
  drain: 'service_cut',
  revoke: 'service_cut',
};

/** The outcomes that these steps may have: every one but `completed` has a cause. */
function outcomesAfter(taken: readonly Step[], { quota }: Conditions): Outcome[] {
  const caused = taken.flatMap((step) => CAUSES[step] ?? []);
  if (quota !== QUOTA_FULL) caused.push('quota_cut');
  return ['completed', ...caused];
}

test('in any order of events, reads, faults, pings, disconnects and ends of money', async () => {
  const unhandled: unknown[] = [];
  const record = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', record);
  try {
    await fc.assert(
      fc.asyncProperty(steps, conditions, async (taken, chosen) => {
        const stream = await open(chosen);
        await using service = stream.service;
        for (const step of taken) await take(stream, step);
        await finish(stream);
        expect(stream.source.readsAtOnce).toBe(1);
        const numbers = [...stream.text.matchAll(/"text":"(\d+)(?: word)+"/g)].map(([, at]) => Number(at));
        expect(numbers).toEqual(numbers.map((_, at) => at)); // in order, each once, none left out
        const ends = stream.text.match(/event: (?:message_stop|error)\n/g) ?? [];
        expect(ends.length).toBe(stream.hasLeft ? Math.min(ends.length, 1) : 1);
        if (ends.length > 0)
          expect(stream.text.slice(stream.text.lastIndexOf('event: '))).toMatch(/^event: (?:message_stop|error)\n/);
        const records = await service.records();
        expect(records).toHaveLength(1);
        const { outcome, cost, writtenOff } = records[0] as UsageRecord;
        expect(cost - (stream.hasLeft || taken.includes('revoke') ? writtenOff : 0)).toBeLessThanOrEqual(chosen.quota); // output that arrives while a client leaves may be written off
        expect(outcomesAfter(taken, chosen)).toContain(outcome);
        if (outcome === 'completed') expect(numbers).toHaveLength(stream.deltas);
        expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
      }),
      { numRuns: 150 },
    );
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', record);
  }
}, 120_000);

// The provider of every model in the economy. It produces answers in virtual time, under back-pressure, and notes the
// truth about each: what it really produced, by its own tokenizer, until it was stopped.

import {
  type Attempt,
  type EventSource,
  type Provider,
  ProviderFault,
  type ProviderReply,
} from '../../../src/providers/providers.ts';
import { type JsonObject, makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';
import { type Behaviour, behaviourOf, type ModelName, oddUsage } from './models.ts';
import { bytesOf, countTokens, type Text, writePiece } from './texts.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The client's request, as the provider understands it. */
export interface Wanted {
  model: ModelName;
  prompt: Text;
  answer: Text;
  maxTokens: number;
  isBetaBad: boolean;
  /** From 0 to 999: what goes wrong where something may. */
  luck: number;
}

/** The truth about one attempt. */
export interface Production {
  wanted: Wanted;
  promptTokens: number;
  bytes: number;
  isRunning: boolean;
  /** The provider itself failed, by no doing of the client. */
  isFaulty: boolean;
  /** The provider gave up a write that its reader blocked. */
  gaveUp: boolean;
  startedMs: number;
}

const CHUNK_BYTES = 240;
const CHUNK_MS = 100;
const BUFFERED_EVENTS_MAX = 8; // beyond it the provider's write blocks
const FIRST_EVENT_MS = 200;
const SLOW_FIRST_EVENT_MS = 100_000;

/** Output tokens of what was produced, as the provider reports them. */
export function outputTokens({ wanted, bytes }: Production): number {
  return tokensOfAnswer(wanted, bytes);
}

export function tokensOfAnswer({ model, answer, maxTokens }: Wanted, bytes: number): number {
  return Math.min(maxTokens, Math.ceil(countTokens(behaviourOf(model).tokenizer, answer, bytes) - 1e-9));
}

/** `find`: what the request asked for, and its place to note the truth. */
export function makeProvider(
  time: VirtualTime,
  find: (requestId: string) => Wanted,
  note: (requestId: string, production: Production) => void,
): Provider {
  return {
    kind: 'sandbox',
    async submit(attempt) {
      const wanted = find(attempt.requestId);
      const behaviour = behaviourOf(wanted.model);
      const promptTokens = Math.ceil(countTokens(behaviour.tokenizer, wanted.prompt)) + 4;
      const production: Production = {
        wanted: { ...wanted, maxTokens: attempt.maxTokens },
        promptTokens,
        bytes: 0,
        isRunning: true,
        isFaulty: false,
        gaveUp: false,
        startedMs: time.nowMs,
      };
      note(attempt.requestId, production);
      if (wanted.isBetaBad) {
        production.isRunning = false;
        throw new ProviderFault('rejected', 'anthropic-beta: unknown value', { status: 400 });
      }
      const line = new Line(time, attempt.signal, production);
      await line.start(behaviour);
      return attempt.request.stream ? line.stream(behaviour) : await line.whole(behaviour);
    },
    async countTokens({ requestId }) {
      const wanted = find(requestId);
      const { tokenizer, counts } = behaviourOf(wanted.model);
      return counts ? Math.ceil(countTokens(tokenizer, wanted.prompt)) + 4 : null;
    },
    countLocally: () => null,
  } satisfies Provider;
}

/** One answer on its way. */
class Line implements EventSource {
  readonly #time: VirtualTime;
  readonly #production: Production;
  readonly #signal: Attempt['signal'];
  #buffer: StreamEvent[] = [];
  #fault: ProviderFault | null = null;
  #isOver = false;
  #wake: (() => void) | null = null;
  #goOn: (() => void) | null = null;
  #stopPause: (() => void) | null = null;

  constructor(time: VirtualTime, signal: AbortSignal, production: Production) {
    this.#time = time;
    this.#signal = signal;
    this.#production = production;
    signal.addEventListener('abort', () => {
      this.#fail(new ProviderFault('aborted', 'aborted'), true);
      this.#stopPause?.();
    });
  }

  /** Waits for the first event; throws what the provider answers instead. */
  async start({ isFaulty }: Behaviour): Promise<void> {
    const { luck } = this.#production.wanted;
    const mishap = isFaulty ? luck % 6 : 5;
    this.#production.isFaulty = mishap < 5;
    const waitMs = mishap === 2 ? 10 * SLOW_FIRST_EVENT_MS : mishap === 3 ? SLOW_FIRST_EVENT_MS : FIRST_EVENT_MS;
    await this.#answerAfter(waitMs);
    if (mishap === 0) this.#refuse('overloaded', 529);
    if (mishap === 1 || mishap === 4) this.#refuse('failed', 500);
  }

  stream(behaviour: Behaviour): ProviderReply {
    void this.#produce(behaviour).catch(() => {}); // its reader hears of it
    return { form: 'stream', events: this, upstreamRequestId: null };
  }

  async whole(behaviour: Behaviour): Promise<ProviderReply> {
    const { wanted } = this.#production;
    const bytes = this.#bytesWanted();
    await this.#answerAfter((bytes / CHUNK_BYTES) * CHUNK_MS);
    this.#production.bytes = bytes;
    const text = this.#textOf(0, bytes);
    const message = {
      type: 'message',
      role: 'assistant',
      model: wanted.model,
      content: [{ type: 'text', text }],
      stop_reason: this.#stopReason(),
      usage: this.#usage(behaviour, 'whole') as JsonObject,
    };
    this.#end();
    return { form: 'message', message, text: JSON.stringify(message), upstreamRequestId: null };
  }

  async next(): Promise<StreamEvent[] | null> {
    while (this.#buffer.length === 0) {
      if (this.#fault !== null) throw this.#fault;
      if (this.#isOver) return null;
      await new Promise<void>((resolve) => {
        this.#wake = () => this.#time.deliver(resolve);
      });
    }
    if (this.#signal.aborted) throw new ProviderFault('aborted', 'aborted');
    const events = this.#buffer;
    this.#buffer = [];
    this.#goOn?.();
    return events;
  }

  async #produce(behaviour: Behaviour): Promise<void> {
    const { luck, model } = this.#production.wanted;
    const total = this.#bytesWanted();
    const cutAt = behaviour.isCut && luck < 500 ? Math.ceil((total * (400 + luck)) / 1_000) : Number.POSITIVE_INFINITY;
    const usage = this.#usage(behaviour, 'start');
    const message = { type: 'message', role: 'assistant', model, content: [], ...(usage && { usage }) } as JsonObject;
    this.#send({ type: 'message_start', message });
    this.#send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    while (this.#production.bytes < total) {
      await this.#room(behaviour);
      if (!this.#production.isRunning) return;
      const from = this.#production.bytes;
      const bytes = Math.min(CHUNK_BYTES, total - from);
      this.#production.bytes += bytes;
      const delta = { type: 'text_delta', text: this.#textOf(from, bytes) };
      this.#send({ type: 'content_block_delta', index: 0, delta });
      if (this.#production.bytes >= cutAt) {
        this.#production.isFaulty = true;
        this.#fail(new ProviderFault('failed', 'the connection broke'), false);
        return;
      }
      await this.#pause(CHUNK_MS);
    }
    await this.#room(behaviour);
    if (!this.#production.isRunning) return;
    this.#send({ type: 'content_block_stop', index: 0 });
    const end = this.#usage(behaviour, 'end');
    this.#send({ type: 'message_delta', delta: { stop_reason: this.#stopReason() }, ...(end && { usage: end }) });
    this.#send({ type: 'message_stop' });
    this.#end();
  }

  /** Waits while the reader does not take what is there; a provider may give up then. */
  async #room({ givesUpMs }: Behaviour): Promise<void> {
    if (this.#buffer.length < BUFFERED_EVENTS_MAX) return;
    const stop =
      givesUpMs === null
        ? () => {}
        : this.#time.after(givesUpMs, () => {
            this.#production.gaveUp = true;
            this.#fail(new ProviderFault('failed', 'the connection broke'), false);
          });
    await new Promise<void>((resolve) => {
      this.#goOn = resolve;
    });
    stop();
    this.#goOn = null;
  }

  /** Rejects when the upstream is aborted. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.#time.after(ms, resolve);
      this.#stopPause = () => {
        stop();
        reject(new ProviderFault('aborted', 'aborted'));
      };
      if (this.#signal.aborted) this.#stopPause();
    });
  }

  /** As `#pause`, where the node waits for what follows. */
  async #answerAfter(ms: number): Promise<void> {
    await this.#pause(ms);
    await new Promise<void>((resolve) => this.#time.deliver(resolve));
  }

  #send(value: JsonObject & { type: string }): void {
    this.#buffer.push(makeEvent(value));
    this.#wake?.();
    this.#wake = null;
  }

  #refuse(kind: 'overloaded' | 'failed', status: number): never {
    this.#production.isRunning = false;
    throw new ProviderFault(kind, 'no', { status });
  }

  #fail(fault: ProviderFault, isBufferLost: boolean): void {
    if (this.#isOver) return;
    this.#fault ??= fault;
    if (isBufferLost) this.#buffer = [];
    this.#production.isRunning = false;
    this.#goOn?.();
    this.#wake?.();
    this.#wake = null;
  }

  #end(): void {
    this.#isOver = true;
    this.#production.isRunning = false;
    this.#wake?.();
    this.#wake = null;
  }

  /** Bytes of the answer that `max_tokens` lets through. */
  #bytesWanted(): number {
    const { answer, model, maxTokens } = this.#production.wanted;
    const { tokenizer } = behaviourOf(model);
    let bytes = 0;
    let tokens = 0;
    for (const [kind, most] of answer) {
      const fits = Math.min(most, Math.floor((maxTokens - tokens) / tokenizer[kind]));
      bytes += fits;
      tokens += fits * tokenizer[kind];
      if (fits < most) break;
    }
    return bytes;
  }

  #stopReason(): string {
    return this.#production.bytes < bytesOf(this.#production.wanted.answer) ? 'max_tokens' : 'end_turn';
  }

  #textOf(from: number, bytes: number): string {
    let text = '';
    let start = 0;
    for (const [kind, length] of this.#production.wanted.answer) {
      const first = Math.max(from, start);
      const last = Math.min(from + bytes, start + length);
      if (first < last) text += writePiece(kind, first - start, last - first);
      start += length;
    }
    return text;
  }

  #usage({ reports, isOdd }: Behaviour, at: 'start' | 'end' | 'whole'): JsonObject | null {
    const { promptTokens, wanted } = this.#production;
    const output = tokensOfAnswer(wanted, this.#production.bytes);
    if (isOdd) return oddUsage(wanted.luck, at, wanted.maxTokens);
    if (at === 'whole') return { input_tokens: promptTokens, output_tokens: output };
    if (reports === 'at the end') return at === 'start' ? null : { input_tokens: promptTokens, output_tokens: output };
    return at === 'start' ? { input_tokens: promptTokens, output_tokens: 1 } : { output_tokens: output };
  }
}

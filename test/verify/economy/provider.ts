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
import {
  blocksOfUse,
  countsOf,
  type Produced,
  type Production,
  type Step,
  stepsOf,
  stopReasonOf,
  textOf,
  usageOf,
  type Wanted,
} from './answers.ts';
import { countRequest } from './counter.ts';
import { type Behaviour, behaviourOf, modelNames, oddUsage } from './models.ts';
import type { VirtualTime } from './virtual-time.ts';

const BUFFERED_EVENTS_MAX = 8; // beyond it the provider's write blocks
const FIRST_EVENT_MS = 200;
const SLOW_FIRST_EVENT_MS = 100_000;
const COUNTS_MS = 60; // between the last text and its counts, and from there to the end
const NOTHING: Produced = { bytes: 0, thinking: 0, uses: 0 };

/** `find`: what the request asked for, and its place to note the truth. */
export function makeProvider(
  time: VirtualTime,
  find: (requestId: string, body: JsonObject) => Wanted,
  note: (requestId: string, production: Production) => void,
): Provider {
  return {
    kind: 'sandbox',
    async submit(attempt) {
      const wanted = { ...find(attempt.requestId, attempt.request.body), maxTokens: attempt.maxTokens };
      const behaviour = behaviourOf(wanted.model);
      const production: Production = {
        wanted,
        ...NOTHING,
        isRunning: true,
        isFaulty: false,
        isRefused: false,
        gaveUp: false,
        taken: null,
        startedMs: time.nowMs,
        endedMs: null,
      };
      note(attempt.requestId, production);
      const line = new Line(time, attempt.signal, production);
      if (wanted.isBetaBad) line.refuse(new ProviderFault('rejected', 'beta: unknown value', { status: 400 }));
      await line.start(behaviour);
      return attempt.request.stream ? line.stream(behaviour) : await line.whole(behaviour);
    },
    countTokens: async ({ request, requestId }) => countRequest(find(requestId, request.body), request),
    countLocally: () => null,
    thinksByDefault: (model) => modelNames.some((name) => name === model && behaviourOf(name).thinks),
  } satisfies Provider;
}

/** One answer on its way. */
class Line implements EventSource {
  readonly #time: VirtualTime;
  readonly #production: Production;
  readonly #signal: Attempt['signal'];
  /** Events, each with what was produced by then. */
  #buffer: { event: StreamEvent; produced: Produced }[] = [];
  #blocks = 0;
  #isTextOpen = false;
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
    this.#production.isRefused = mishap < 5;
    const waitMs = mishap === 2 ? 10 * SLOW_FIRST_EVENT_MS : mishap === 3 ? SLOW_FIRST_EVENT_MS : FIRST_EVENT_MS;
    await this.#answerAfter(waitMs);
    if (mishap === 0) this.refuse(new ProviderFault('overloaded', 'no', { status: 529 }));
    if (mishap === 1 || mishap === 4) this.refuse(new ProviderFault('failed', 'no', { status: 500 }));
    this.#production.isRefused = false;
  }

  refuse(fault: ProviderFault): never {
    this.#stop();
    this.#production.isRefused = true;
    throw fault;
  }

  stream(behaviour: Behaviour): ProviderReply {
    void this.#produce(behaviour).catch(() => {}); // its reader hears of it
    return { form: 'stream', events: this, upstreamRequestId: null };
  }

  async whole(behaviour: Behaviour): Promise<ProviderReply> {
    const production = this.#production;
    const { wanted } = production;
    const content: JsonObject[] = [];
    for (const step of stepsOf(wanted)) {
      await this.#answerAfter(step.ms);
      if (step.step === 'use') content.push(...blocksOfUse(wanted, production.uses));
      this.#add(step);
    }
    const usage = this.#usage(behaviour, 'whole');
    this.#end();
    if (wanted.ending === 'unusable') throw new ProviderFault('unusable', 'MALFORMED_FUNCTION_CALL', { usage });
    content.push({ type: 'text', text: textOf(wanted, 0, production.bytes) });
    const message = {
      type: 'message',
      role: 'assistant',
      model: wanted.model,
      content,
      stop_reason: stopReasonOf(wanted, production.bytes),
      ...(usage && { usage }),
    };
    production.taken = this.#produced;
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
    const taken = this.#buffer;
    this.#buffer = [];
    this.#production.taken = taken.at(-1)?.produced as Produced;
    this.#goOn?.();
    return taken.map(({ event }) => event);
  }

  get #produced(): Produced {
    const { bytes, thinking, uses } = this.#production;
    return { bytes, thinking, uses };
  }

  async #produce(behaviour: Behaviour): Promise<void> {
    const { wanted } = this.#production;
    const usage = this.#usage(behaviour, 'start');
    const message = { type: 'message', role: 'assistant', model: wanted.model, content: [] } as JsonObject;
    this.#send({ type: 'message_start', message: usage === null ? message : { ...message, usage } }, behaviour);
    const steps = stepsOf(wanted);
    const brokenAt = this.#brokenAt(behaviour, steps.length);
    for (const [at, step] of steps.entries()) {
      await this.#room(behaviour);
      if (!this.#production.isRunning) return;
      this.#make(step, behaviour);
      if (at === brokenAt) {
        this.#production.isFaulty = true;
        this.#production.isRefused = this.#production.bytes === 0 && this.#production.uses === 0;
        if (behaviour.isMute) return; // nothing more is heard of it
        this.#fail(new ProviderFault('failed', 'the connection broke'), false);
        return;
      }
      await this.#pause(step.ms);
    }
    await this.#room(behaviour);
    if (this.#production.isRunning) await this.#finish(behaviour);
  }

  /** The step after which the provider fails by itself. */
  #brokenAt({ isCut, isMute }: Behaviour, steps: number): number | null {
    const { luck } = this.#production.wanted;
    return (isCut || isMute) && luck < 500 ? Math.floor((steps * luck) / 500) : null;
  }

  #make(step: Step, behaviour: Behaviour): void {
    const { wanted, bytes, uses } = this.#production;
    this.#add(step);
    if (step.step === 'thinking') return; // nothing is seen of it
    if (step.step === 'text') {
      const index = this.#openText(behaviour);
      const delta = { type: 'text_delta', text: textOf(wanted, bytes, step.bytes) };
      this.#send({ type: 'content_block_delta', index, delta }, behaviour);
      return;
    }
    this.#closeText(behaviour);
    for (const content_block of blocksOfUse(wanted, uses)) {
      const index = this.#blocks++;
      this.#send({ type: 'content_block_start', index, content_block }, behaviour);
      this.#send({ type: 'content_block_stop', index }, behaviour);
    }
  }

  #add(step: Step): void {
    if (step.step === 'text') this.#production.bytes += step.bytes;
    else if (step.step === 'thinking') this.#production.thinking += step.tokens;
    else this.#production.uses++;
  }

  #openText(behaviour: Behaviour): number {
    if (!this.#isTextOpen) {
      const content_block = { type: 'text', text: '' };
      this.#send({ type: 'content_block_start', index: this.#blocks++, content_block }, behaviour);
    }
    this.#isTextOpen = true;
    return this.#blocks - 1;
  }

  #closeText(behaviour: Behaviour): void {
    if (this.#isTextOpen) this.#send({ type: 'content_block_stop', index: this.#blocks - 1 }, behaviour);
    this.#isTextOpen = false;
  }

  /** The counts come some time after the last text, and the end some time after them. */
  async #finish(behaviour: Behaviour): Promise<void> {
    const { wanted, bytes } = this.#production;
    this.#openText(behaviour);
    this.#closeText(behaviour);
    await this.#pause(COUNTS_MS);
    if (wanted.ending === 'unusable') {
      const usage = this.#usage(behaviour, 'end');
      this.#fail(new ProviderFault('unusable', 'MALFORMED_FUNCTION_CALL', { usage }), false);
      return;
    }
    const usage = this.#usage(behaviour, 'end');
    const delta = { stop_reason: stopReasonOf(wanted, bytes) };
    this.#send({ type: 'message_delta', delta, ...(usage && { usage }) }, behaviour);
    await this.#pause(COUNTS_MS);
    this.#send({ type: 'message_stop' }, behaviour);
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

  #send(value: JsonObject & { type: string }, behaviour: Behaviour): void {
    const event = makeEvent(value);
    if (behaviour.reports === 'in every event' || behaviour.reports === 'falling') {
      const { thinking } = this.#production;
      event.usage = usageOf(countsOf(this.#production.wanted, this.#production), thinking);
    }
    this.#buffer.push({ event, produced: this.#produced });
    this.#wake?.();
    this.#wake = null;
  }

  #fail(fault: ProviderFault, isBufferLost: boolean): void {
    if (this.#isOver) return;
    this.#fault ??= fault;
    if (isBufferLost) this.#buffer = [];
    this.#stop();
    this.#goOn?.();
    this.#wake?.();
    this.#wake = null;
  }

  #stop(): void {
    this.#production.isRunning = false;
    this.#production.endedMs ??= this.#time.nowMs;
  }

  #end(): void {
    this.#isOver = true;
    this.#stop();
    this.#wake?.();
    this.#wake = null;
  }

  #usage({ reports, isOdd }: Behaviour, at: 'start' | 'end' | 'whole'): JsonObject | null {
    const { wanted, thinking } = this.#production;
    if (isOdd) return oddUsage(wanted.luck, at, wanted.maxTokens);
    const counts = countsOf(wanted, this.#production);
    const usage = usageOf(counts, thinking);
    if (reports === 'never') return null;
    if (at === 'whole') return usage;
    if (reports === 'at the end') return at === 'start' ? null : usage;
    if (at === 'start') return { input_tokens: counts.input, output_tokens: 1 };
    if (reports === 'falling') return { input_tokens: 0, output_tokens: 0 };
    if (reports === 'disagreeing')
      return { ...usage, input_tokens: Math.floor((counts.input * (wanted.luck % 3)) / 3) };
    return usage;
  }
}

// Models whose providers run batches of their own, by their protocols: what is asked of them, and what they did of it. Their network is
// in the process and in virtual time; it loses answers, and a node that was killed does not use it any more.

import { assert } from '../../../../src/base/assert.ts';
import { cloudMembers } from '../../../support/batch-clouds.ts';
import { type BatchAnswer, FakeBatches, type GivenBatch, GOOD } from '../../../support/batch-provider.ts';
import { PRICE, priceOf } from '../models.ts';
import type { Dice } from '../sends.ts';
import type { VirtualTime } from '../virtual-time.ts';

type Json = Record<string, unknown>;

/** Not Bedrock: threads sign its calls, for which virtual time does not wait. */
export const dialects = ['anthropic', 'openai', 'gemini', 'vertex'] as const;
export type Dialect = (typeof dialects)[number];

const fates = [
  'answered',
  'odd', // with counts that cannot be
  'refused',
  'failed',
  'limited',
  'not executed',
  'missing', // in the results
  'twice', // in the results, with other counts
] as const;
/** Fates of requests in a batch. */
type Fate = (typeof fates)[number];

/** A request to such a model. */
export interface BulkWish {
  bulk: Dialect;
  words: number;
  output: number;
  maxTokens: number;
  fate: Fate;
  /** From 0 to 999. Of the first request of a batch: what becomes of the batch. */
  luck: number;
}

/** A request that a provider got, and its answer. */
export interface Done {
  /** The place of the wish. */
  place: number;
  /** Its id in a batch; null: it was sent alone. */
  id: string | null;
  /** The status of the first result. A provider charges for 200 alone. */
  status: number;
  usage: { input: unknown; output: unknown };
}

const CALL_MS = 40;
const LOST_AFTER_MS = 3_000;
/** Ends of the creation of a batch. */
const CREATIONS = ['made', 'lost', 'unavailable', 'refused'] as const;
const LOST = 'x-lost'; // a header of responses that do not arrive
const FAILS_EVERY = 13; // one in so many calls about batches fails
const ENDS_AFTER_MS = [300, 2_000, 20_000, 90_000, 400_000, 900_000];
const ODD_COUNTS = [-5, 1.5, 1e308, 9_000_000_000, undefined, 'many', null, 0];
const PLACE = /wish-(\d{5})/;
const STRAYS = ['turnpike-999999999-0', 'turnpike-', 'turnpike-0-1e3', '', '__proto__'];
const STATUSES: Partial<Record<Fate, number>> = { refused: 400, failed: 500, limited: 429 };
/** Anthropic's words for them. */
const TYPES = new Map([
  [400, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
]);
export const KINDS = ['anthropic', 'openai', 'gemini', 'vertex', 'sandbox'];

export function nameOfBulk(dialect: Dialect): string {
  return `bulk-${dialect}`;
}

export function anyBulk(dice: Dice, bulk: Dialect): BulkWish {
  const maxTokens = dice.one([16, 200, 1_000]);
  const fate = dice.chance(0.6) ? 'answered' : dice.one(fates);
  const of = { words: dice.between(1, 400), output: dice.between(1, maxTokens), luck: dice.below(1_000) };
  return { bulk, maxTokens, fate, ...of };
}

/** The usual charge for a request and an answer whose counts are true. */
export function chargeOfBulk(wish: BulkWish): number {
  return priceOf(inputOf(wish), wish.output);
}

function inputOf({ words }: BulkWish): number {
  return 1 + words;
}

/** `mark`: names the wish. */
export function bodyOfBulk({ bulk, words, maxTokens }: BulkWish, mark: string) {
  const content = `${'quiet harbour '.repeat(words)}${mark}`;
  return { model: nameOfBulk(bulk), max_tokens: maxTokens, messages: [{ role: 'user', content }] };
}

/** Entries of the catalog file, as the node uses them. */
export function bulkEntries(node: string, times: number) {
  const url = `http://${node}.test`;
  const { vertex } = cloudMembers(url);
  const plain = { base_url: url, api_key: 'secret-of-the-operator', private_network: true, batches: true };
  const members = { anthropic: plain, openai: plain, gemini: plain, vertex };
  const price = { input: String(PRICE.input * times), output: String(PRICE.output * times) };
  const cost = { input: String(PRICE.input), output: String(PRICE.output) };
  return {
    providers: Object.fromEntries(dialects.map((kind) => [nameOfBulk(kind), { kind, ...members[kind] }])),
    models: Object.fromEntries(
      dialects.map((kind) => [
        nameOfBulk(kind),
        { price, max_input_tokens: 200_000, routes: [{ provider: nameOfBulk(kind), model: UPSTREAM[kind], cost }] },
      ]),
    ),
  };
}

const UPSTREAM: Readonly<Record<Dialect, string>> = {
  anthropic: 'claude-upstream',
  openai: 'gpt-upstream',
  gemini: 'gemini-upstream',
  vertex: 'gemini-other',
};

export class BulkProviders {
  readonly done: Done[] = [];
  /** All batches that were made, also those that are removed. */
  readonly batches: GivenBatch[] = [];
  readonly #time: VirtualTime;
  readonly #isAlive: (node: string) => boolean;
  readonly #wishAt: (place: number) => BulkWish | null;
  readonly #fake = new FakeBatches(false);
  readonly #refused = new Set<string>();
  #calls = 0;

  /** `isAlive`: whether the node of this name runs. */
  constructor(time: VirtualTime, isAlive: (node: string) => boolean, wishAt: (place: number) => BulkWish | null) {
    this.#time = time;
    this.#isAlive = isAlive;
    this.#wishAt = wishAt;
    this.#fake.onCreate = (batch) => this.#create(batch);
    this.#fake.answer = (dialect, body) => this.#answer(dialect, body);
    this.#fake.tell = (results, batch) => this.#tell(results, batch);
    time.network = (url, settings) => this.#call(url, settings);
  }

  async #call(url: string, { signal, method, headers, body }: RequestInit): Promise<Response> {
    const { hostname, pathname } = new URL(url);
    const node = hostname.replace('.test', '');
    const text = body instanceof ReadableStream ? Buffer.concat(await Array.fromAsync(body)).toString() : body;
    await this.#pass(node);
    const answer = await this.#take(
      new Request(url, { ...{ method, headers }, body: text ?? null } as RequestInit),
      pathname,
      String(text),
    );
    await this.#pass(node, answer.headers.has(LOST) ? LOST_AFTER_MS : CALL_MS);
    signal?.throwIfAborted();
    if (answer.headers.has(LOST)) throw new TypeError('the connection was closed');
    return answer;
  }

  /** Nothing that a killed process sends arrives, and it gets no answers. */
  async #pass(node: string, ms = CALL_MS): Promise<void> {
    await new Promise<void>((resolve) => void this.#time.after(ms, () => this.#time.deliver(resolve)));
    if (!this.#isAlive(node)) await new Promise(() => {});
  }

  async #take(request: Request, path: string, text: string): Promise<Response> {
    if (/count.?tokens/i.test(path)) return new Response('{}', { status: 404 });
    if (!/batch|files|store|model-invocation/i.test(path)) return this.#answerAlone(text);
    const isFailing = ++this.#calls % FAILS_EVERY === 0;
    return isFailing ? new Response('{}', { status: 503 }) : await this.#fake.take(request);
  }

  #create(batch: GivenBatch): void {
    const { wish, place } = this.#find(batch.requests[0]?.body);
    const { luck } = wish;
    const creation = luck < 600 ? 'made' : (CREATIONS[luck % CREATIONS.length] as (typeof CREATIONS)[number]);
    const isFirst = !this.#refused.has(`${batch.name} ${place}`);
    this.#refused.add(`${batch.name} ${place}`);
    if (creation === 'refused') throw new Response('{"error":{"message":"No."}}', { status: 400 });
    if (creation === 'unavailable' && isFirst) throw new Response('{}', { status: 503 });
    this.batches.push(batch);
    this.#time.after(ENDS_AFTER_MS[luck % ENDS_AFTER_MS.length] as number, () => this.#fake.end(batch));
    if (creation !== 'lost') return;
    this.#fake.batches.push(batch);
    throw new Response('{}', { status: 503, headers: { [LOST]: 'yes' } });
  }

  #answer(dialect: GivenBatch['dialect'], body: Json): BatchAnswer {
    const { wish } = this.#find(body);
    const { fate, output, luck } = wish;
    if (fate === 'not executed' || fate === 'missing') return null;
    const status = STATUSES[fate];
    if (status !== undefined) return { status, body: refusal(status) };
    const odd = (at: number) => ODD_COUNTS[(luck >> at) % ODD_COUNTS.length];
    const counts = fate === 'odd' ? { input: odd(0), output: odd(3) } : { input: inputOf(wish), output };
    return { status: 200, body: answerWith(dialect, counts.input, counts.output) };
  }

  #tell(results: GivenBatch['results'], { dialect, requests }: GivenBatch): GivenBatch['results'] {
    const bodies = new Map(requests.map(({ id, body }) => [id, body]));
    const told = results.flatMap((result) => {
      const { place, wish } = this.#find(bodies.get(result.id));
      const { id, answer } = result;
      const usage = { input: inputOf(wish), output: wish.output };
      this.done.push({ place, id, status: answer?.status ?? 0, usage });
      if (wish.fate === 'missing') return [];
      const other = { id, answer: { status: 200, body: answerWith(dialect, 150_000, 100_000) } };
      return wish.fate === 'twice' ? [result, other] : [result];
    });
    const stray = { status: 200, body: answerWith(dialect, 150_000, 100_000) };
    const known = this.batches.find((other) => other.dialect === dialect && other.requests !== requests);
    const ids = [...STRAYS, ...(known?.requests.map(({ id }) => id) ?? [])];
    return dialect === 'vertex' ? told : [...ids.map((id) => ({ id, answer: stray })), ...told];
  }

  /** Answers a request that is sent alone. */
  #answerAlone(text: string): Response {
    const { place, wish } = this.#find(JSON.parse(text) as Json);
    const status = wish.fate === 'refused' ? 400 : 200;
    const usage = { input: inputOf(wish), output: wish.output };
    this.done.push({ place, id: null, status, usage });
    const body = status === 200 ? answerWith(wish.bulk, usage.input, usage.output) : refusal(status);
    return Response.json(body, { status });
  }

  #find(body: Json | undefined): { place: number; wish: BulkWish } {
    const place = Number(PLACE.exec(JSON.stringify(body))?.[1]);
    const wish = this.#wishAt(place);
    assert(wish !== null, 'a provider is sent what somebody asked for');
    return { place, wish };
  }
}

function refusal(status: number): Json {
  return { type: 'error', error: { type: TYPES.get(status), code: status, message: 'No.' } };
}

/** An answer with these counts. */
function answerWith(dialect: GivenBatch['dialect'], input: unknown, output: unknown): Json {
  const total = typeof input === 'number' && typeof output === 'number' ? { of: input + output } : {};
  const answer = GOOD[dialect];
  if (dialect === 'openai')
    return { ...answer, usage: { prompt_tokens: input, completion_tokens: output, total_tokens: total.of } };
  if (dialect === 'gemini' || dialect === 'vertex')
    return {
      ...answer,
      usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: total.of },
    };
  return { ...answer, usage: { input_tokens: input, output_tokens: output } };
}

// Requests of a batch that their providers run in batches of their own, at a lower price. A part is stored before its provider gets it, and
// is looked for there if its creation was cut off. Its requests become messages when their answers are there: each is admitted from the
// reserve, billed and told once, like a request that this service sends.

import { parseWholeNumber } from '../base/checked-number.ts';
import type { Nano } from '../base/money.ts';
import { freeBytes } from '../base/sealed-chunks.ts';
import { nextTurn, pause } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  type BatchedCall,
  type BatchResult,
  type ProviderBatch,
  type ProviderBatches,
  ProviderFault,
} from '../providers/providers.ts';
import type { Spool, SpooledFile } from '../spool/spool.ts';
import { readLines } from '../wire/wire.ts';
import type { Batch, BatchPart, BatchStore, SentPart } from './batch.ts';
import { Places } from './places.ts';
import { readItemAgain } from './read-item.ts';

/** A request as the batch of its provider has it. The target: names as in the catalog. */
export interface PreparedRequest extends BatchedCall, Pick<BatchPart, 'provider' | 'upstreamModel' | 'credential'> {
  /** The group that sells the model, and the most that the request may cost. */
  group: string;
  amount: Nano;
}

/** The batches of a provider, and where they are. */
export interface PartPlace {
  batches: ProviderBatches;
  endpoint: ProviderBatch['endpoint'];
}

type Target = Pick<BatchPart, 'provider' | 'credential'>;
type Found = { ref: string } & Pick<BatchPart, 'isGuessed'>;
type Answer = NonNullable<BatchResult['answer']>;

export interface PartParts {
  store: Pick<BatchStore, 'listParts' | 'addPart' | 'changePart' | 'removePart'>;
  spool: Spool;
  nowMs(): number;
  /** Whether any provider has batches. */
  hasPlaces(): boolean;
  /** null: the provider or its credential has been removed. */
  placeOf(target: Target): PartPlace | null;
  /** The money reserved for the batch, by group. */
  reservesOf(batch: Batch): Promise<Map<string, Nano>>;
  /** null: this service sends the request. */
  prepare(batch: Batch, body: string): Promise<PreparedRequest | null>;
  /** A part was not taken, or its results cannot be had. */
  onPartFailure(batch: Batch, part: BatchPart, failure: unknown): void;
  /** The provider cannot be asked for a part, again and again. */
  onPartWaiting(batch: Batch, part: BatchPart, failure: unknown): void;
}

/** The run of a batch, as its parts see it. */
export interface PartContext {
  batch(): Batch;
  signal: AbortSignal;
  /** It was canceled, or has expired. */
  isOver(): boolean;
  /** `fileId`: of a part; absent: the client's own. */
  requests(fileId?: number): AsyncGenerator<string>;
  /** A file with the requests that stays until the batch has ended; null: the account has no room for one. */
  keepRequests(): Promise<number | null>;
  /** Resolves when the answer is billed and stored, or is to be sent again by this service. */
  take(position: number, line: string, part: BatchPart, answer: Answer): Promise<void>;
}

/** Requests that go to the provider together. */
interface Group {
  place: PartPlace;
  prepared: PreparedRequest;
  places: Places;
  content: SpooledFile;
}

export class PartRunner {
  readonly #parts: PartParts;
  readonly #context: PartContext;
  #known: BatchPart[] = [];
  /** Places in parts that have not ended. */
  readonly #open = new Places();
  /** The money reserved for requests that no provider has, by group. */
  #free = new Map<string, Nano>();

  constructor(parts: PartParts, context: PartContext) {
    this.#parts = parts;
    this.#context = context;
  }

  /** Files that no client has: what the batch leaves when it has ended. */
  get files(): number[] {
    return [...new Set(this.#known.map(({ requestsFileId }) => requestsFileId))];
  }

  /** How many requests each provider took. */
  get atProviders(): SentPart[] {
    const taken = Map.groupBy(
      this.#known.filter(({ ref }) => ref !== null),
      ({ provider }) => provider,
    );
    return [...taken].map(([provider, parts]) => ({
      provider,
      requests: parts.reduce((sum, { requests }) => sum + requests, 0),
    }));
  }

  /** Whether a provider has the request. */
  has(position: number): boolean {
    return this.#open.has(position);
  }

  get hasAny(): boolean {
    return this.#known.length > 0;
  }

  /** Gives providers what they take. `isDone`: requests that have results, or may have been sent. */
  async submit(isDone: (position: number) => boolean | Promise<boolean>): Promise<void> {
    const { id } = this.#context.batch();
    this.#known = await this.#parts.store.listParts(id);
    const taken = new Places();
    for (const part of [...this.#known]) {
      if (part.status === 'sending' && !(await this.#recover(part))) continue;
      taken.addAll(part.places);
    }
    for (const part of this.#known) if (part.status !== 'ended') this.#addOpen(part);
    if (!this.#parts.hasPlaces() || this.#context.isOver() || taken.size === this.#context.batch().requests) return;
    this.#free = await this.#parts.reservesOf(this.#context.batch());
    await this.#group((position) => taken.has(position) || isDone(position));
  }

  async #group(isTaken: (position: number) => boolean | Promise<boolean>): Promise<void> {
    const groups = new Map<string, Group>();
    try {
      let position = -1;
      for await (const line of this.#context.requests()) {
        position++;
        if (this.#context.isOver()) return;
        if (this.has(position)) await this.#prepare(line);
        else if (!(await isTaken(position))) await this.#add(groups, position, line);
      }
      for (const group of groups.values()) await this.#send(group);
    } catch (thrown) {
      if (!(thrown instanceof TurnpikeError && thrown.code === 'overloaded')) throw thrown; // no room: the rest is sent one by one
    } finally {
      for (const { content } of groups.values()) await content[Symbol.asyncDispose]();
    }
  }

  async #add(groups: Map<string, Group>, position: number, line: string): Promise<void> {
    const prepared = await this.#prepare(line);
    const place = prepared && this.#parts.placeOf(prepared);
    const text = prepared === null ? null : (place?.batches.line(this.#idOf(position), prepared) ?? null);
    if (prepared === null || place === null || text === null) return;
    const { limits } = place.batches;
    const bytes = Buffer.from(text);
    if (bytes.length > limits.bytes) return;
    const { provider, upstreamModel, credential, url, betas } = prepared;
    const name = JSON.stringify([provider, upstreamModel, credential, url, betas]);
    let group = groups.get(name);
    const isFull = (at: Group) =>
      at.places.size >= limits.requests || at.content.bytes + bytes.length + LINE_END.length > limits.bytes;
    if (group !== undefined && isFull(group)) {
      groups.delete(name);
      await this.#send(group);
      group = undefined;
    }
    if (group === undefined && groups.size >= bounds.batchGroupsMax) return;
    group ??= {
      place,
      prepared,
      places: new Places(),
      content: await this.#parts.spool.create(this.#context.batch().companyId),
    };
    groups.set(name, group);
    if (group.places.size > 0) await group.content.write(LINE_END);
    await group.content.write(bytes);
    freeBytes(bytes);
    group.places.add(position);
  }

  /** null also if the reserve does not have the money of the request: its answer would be billed whether the account can pay or not. */
  async #prepare(line: string): Promise<PreparedRequest | null> {
    const batch = this.#context.batch();
    await nextTurn(); // clients come between two requests
    const prepared = await this.#parts.prepare(batch, readItemAgain(batch, line).body);
    const free = prepared === null ? 0 : (this.#free.get(prepared.group) ?? 0);
    if (prepared === null || prepared.amount > free) return null;
    this.#free.set(prepared.group, free - prepared.amount);
    return prepared;
  }

  /** The id of a request at its provider; of no other batch. */
  #idOf(position: number): string {
    return `${nameOf(this.#context.batch())}-${position}`;
  }

  async #send({ place, prepared, places, content }: Group): Promise<void> {
    await using lines = content;
    await lines.finish();
    if (places.size < (place.batches.limits.requestsMin ?? 1)) return;
    const { id } = this.#context.batch();
    const { provider, upstreamModel, credential, url, betas } = prepared;
    const target = { provider, upstreamModel, credential, url, betas };
    const number = (this.#known.at(-1)?.part ?? -1) + 1;
    const requestsFileId = this.#known[0]?.requestsFileId ?? (await this.#context.keepRequests());
    if (requestsFileId === null) return;
    const times = { requests: places.size, createdAtMs: this.#parts.nowMs(), requestsFileId };
    const part: BatchPart = {
      part: number,
      status: 'sending',
      ...target,
      ref: null,
      places: places.text,
      ...times,
    };
    await this.#parts.store.addPart(id, part);
    this.#known.push(part);
    const made = await this.#create(place, part, { bytes: lines.bytes, read: () => lines.read() });
    await this.#put(made === null ? { ...part, status: 'ended' } : { ...part, status: 'running', ...made });
  }

  /** null: the provider does not take it, so this service sends the requests. */
  async #create(
    place: PartPlace,
    part: BatchPart,
    lines: Parameters<ProviderBatches['create']>[1],
  ): Promise<Found | null> {
    const { signal } = this.#context;
    const batch = this.#describe(place, part);
    let failure: unknown = null;
    for (let tries = 1; ; tries++) {
      try {
        const found = tries === 1 ? null : await this.#find(place, part);
        if (found !== null) return found;
        // The last try, and every later try for a batch that is over, only looks for what an earlier try has created.
        const mayCreate = tries === 1 || (tries <= bounds.batchPartTriesMax && !this.#context.isOver());
        if (mayCreate) return { ref: await place.batches.create(batch, lines, signal) };
      } catch (thrown) {
        signal.throwIfAborted();
        failure = thrown;
        const isRefused = failure instanceof ProviderFault && failure.status !== null && failure.status < 500;
        if (!isRefused && tries <= bounds.batchPartTriesMax) {
          await this.#pause(bounds.batchItemPauseMs * 2 ** tries);
          continue;
        }
      }
      this.#parts.onPartFailure(this.#context.batch(), part, failure);
      await place.batches.discard?.(batch, signal).catch(ignoreFault);
      return null;
    }
  }

  /** False: the provider never had it, and it exists no more. */
  async #recover(part: BatchPart): Promise<boolean> {
    const place = this.#parts.placeOf(part);
    let found: Found | null = null;
    try {
      found = place && (await this.#find(place, part));
    } catch (failure) {
      if (!(failure instanceof ProviderFault) || !this.#isPastGrace()) throw failure;
    }
    if (found !== null) {
      await this.#put({ ...part, status: 'running', ...found });
      return true;
    }
    if (place !== null)
      await place.batches.discard?.(this.#describe(place, part), this.#context.signal).catch(ignoreFault);
    await this.#parts.store.removePart(this.#context.batch().id, part.part);
    this.#known = this.#known.filter((one) => one.part !== part.part);
    return false;
  }

  /** A batch of the provider whose creation may have been cut off. */
  async #find(place: PartPlace, part: BatchPart): Promise<Found | null> {
    const known = this.#known.flatMap(({ ref }) => ref ?? []);
    const ref = await place.batches.find(this.#describe(place, part), known, this.#context.signal);
    if (ref === null) return null;
    return place.batches.hasNames ? { ref } : { ref, isGuessed: true };
  }

  async #put(part: BatchPart): Promise<void> {
    await this.#parts.store.changePart(this.#context.batch().id, part);
    this.#known = this.#known.map((one) => (one.part === part.part ? part : one));
    if (part.status === 'running') this.#addOpen(part);
  }

  #addOpen({ places }: BatchPart): void {
    this.#open.addAll(places);
  }

  #describe({ endpoint }: PartPlace, { part, url, betas, requests, createdAtMs }: BatchPart): ProviderBatch {
    return { endpoint, url, betas, requests, createdAtMs, name: `${nameOf(this.#context.batch())}-${part}` };
  }

  /** Resolves when all parts have ended. `isDone`: requests that have results. */
  async collect(isDone: (position: number) => boolean): Promise<void> {
    const running = this.#known.filter(({ status }) => status === 'running');
    const following = await Promise.allSettled(running.map((part) => this.#follow(part, isDone)));
    for (const one of following) if (one.status === 'rejected') throw one.reason;
    this.#open.clear();
  }

  async #follow(part: BatchPart, isDone: (position: number) => boolean): Promise<void> {
    const { signal } = this.#context;
    const left = Places.read(part.places);
    let isCanceled = false;
    let endedAtMs = Number.POSITIVE_INFINITY;
    for (let failures = 0; ; ) {
      const place = this.#parts.placeOf(part);
      const batch = place && this.#describe(place, part);
      try {
        if (place === null || batch === null) throw new ProviderFault('not_found', 'the provider has been removed');
        const ref = part.ref ?? '';
        const isOver = this.#context.isOver();
        if (isOver && !isCanceled && part.isGuessed !== true)
          await place.batches.cancel(batch, ref, signal).then(() => {
            isCanceled = true;
          }, ignoreFault); // it may have ended, or is canceled when it is asked for again
        if (await place.batches.isEnded(batch, ref, signal)) {
          endedAtMs = Math.min(endedAtMs, this.#parts.nowMs());
          const unreadable = await this.#take(part, place.batches.results(batch, ref, signal), left, isDone);
          if (unreadable !== null) {
            if (failures + 1 < bounds.batchPartTriesMax) throw unreadable;
            this.#parts.onPartFailure(this.#context.batch(), { ...part, requests: left.size }, unreadable);
          }
          const isOurs = left.size < part.requests || part.isGuessed !== true;
          if (isOurs) await place.batches.remove(batch, ref, signal).catch(ignoreFault); // it expires there
          await this.#put({ ...part, status: 'ended' });
          return;
        }
        failures = 0;
      } catch (failure) {
        signal.throwIfAborted();
        if (!isOfProvider(failure)) throw failure;
        failures++;
        const isGone = place === null || (failure instanceof ProviderFault && failure.kind === 'not_found');
        if (isGone || (this.#isPastGrace(endedAtMs) && failures >= bounds.batchPartTriesMax)) {
          this.#parts.onPartFailure(this.#context.batch(), part, failure);
          if (batch !== null) await place?.batches.discard?.(batch, signal).catch(ignoreFault);
          await this.#put({ ...part, status: 'ended' });
          return;
        }
        if (failures === bounds.batchPartTriesMax) this.#parts.onPartWaiting(this.#context.batch(), part, failure);
      }
      await this.#pause((this.#parts.nowMs() - part.createdAtMs) / POLLS_PER_AGE);
    }
  }

  /** Too late for a provider that cannot be reached, or whose results cannot be had. */
  #isPastGrace(endedAtMs = Number.POSITIVE_INFINITY): boolean {
    const { expiresAtMs, cancelAtMs } = this.#context.batch();
    return this.#parts.nowMs() >= Math.min(endedAtMs, cancelAtMs ?? expiresAtMs) + bounds.batchGraceMs;
  }

  /** In steps, so that a cancellation is noticed. */
  async #pause(ms: number): Promise<void> {
    const wasOver = this.#context.isOver();
    const untilMs = performance.now() + Math.min(bounds.batchPartPollMsMax, Math.max(bounds.batchesPollMs, ms));
    while (performance.now() < untilMs && this.#context.isOver() === wasOver) {
      await pause(bounds.batchesPollMs);
      this.#context.signal.throwIfAborted();
    }
  }

  /**
   * Bills the answers to requests in `left` and removes these from it. Resolves to the reason if some results cannot be read, otherwise to null. If the results
   * break off, bills those that arrived, and rejects. Results arrive in any order, but requests are read in sequence: results wait on disk, some hundred places in a file.
   */
  async #take(
    part: BatchPart,
    results: AsyncGenerator<BatchResult | null>,
    left: Places,
    isDone: (position: number) => boolean,
  ): Promise<ProviderFault | null> {
    const taken = new Places();
    const files = new Map<number, SpooledFile>();
    const linesMax = part.requests + bounds.batchStrayLinesMax;
    let [lines, unreadable, cut] = [0, 0, null as unknown];
    try {
      try {
        for await (const result of results) {
          if (++lines > linesMax) break;
          if (result === null) unreadable++;
          const position = result === null ? null : this.#positionOf(result.id);
          const answer = result?.answer ?? null;
          if (answer === null || position === null) continue;
          if (this.#context.isOver() && isFailure(answer)) continue; // or it would be sent again
          if (!left.has(position) || taken.has(position)) continue; // the first one counts
          await this.#spool(files, position, answer);
          taken.add(position);
          if (taken.size === left.size) break;
        }
      } catch (thrown) {
        if (!isOfProvider(thrown)) throw thrown;
        cut = thrown;
      }
      for (const file of files.values()) await file.finish();
      await this.#takeInOrder(part, files, isDone);
    } finally {
      for (const file of files.values()) await file[Symbol.asyncDispose]();
    }
    left.deleteAll(taken);
    if (left.size === 0) return null;
    if (cut !== null) throw cut;
    if (lines > linesMax) return new ProviderFault('failed', 'the results of the batch have too many lines');
    return unreadable === 0 ? null : new ProviderFault('failed', `${unreadable} results of the batch cannot be read`);
  }

  async #spool(files: Map<number, SpooledFile>, position: number, { status, body }: Answer): Promise<void> {
    const at = Math.floor(position / PLACES_PER_FILE);
    const file = files.get(at) ?? (await this.#parts.spool.create(this.#context.batch().companyId));
    files.set(at, file);
    const line = Buffer.from(`${JSON.stringify([position, status, body])}\n`);
    await file.write(line);
    freeBytes(line);
  }

  #positionOf(id: string): number | null {
    const start = `${nameOf(this.#context.batch())}-`;
    return id.startsWith(start) ? parseWholeNumber(id.slice(start.length)) : null;
  }

  async #takeInOrder(
    part: BatchPart,
    files: ReadonlyMap<number, SpooledFile>,
    isDone: (position: number) => boolean,
  ): Promise<void> {
    const open = new Set<Promise<void>>();
    let failure: unknown = null;
    let answers = new Map<number, Answer>();
    let position = -1;
    for await (const line of this.#context.requests(part.requestsFileId)) {
      position++;
      if (position % PLACES_PER_FILE === 0) answers = await readAnswers(files.get(position / PLACES_PER_FILE));
      const answer = answers.get(position);
      if (answer === undefined || isDone(position)) continue;
      while (open.size >= bounds.batchAnswersOpenMax) await Promise.race(open);
      if (failure !== null) break;
      await nextTurn(); // clients come between two answers
      const taking: Promise<void> = this.#context
        .take(position, line, part, answer)
        .catch((thrown) => {
          failure ??= thrown;
        })
        .finally(() => open.delete(taking));
      open.add(taking);
    }
    await Promise.all(open);
    if (failure !== null) throw failure;
  }
}

const LINE_END = Buffer.from('\n');
const PLACES_PER_FILE = 512;
const POLLS_PER_AGE = 10;

function nameOf({ id }: Batch): string {
  return `turnpike-${id}`;
}

/** Whether the provider is at fault, or sends more than there is room for. */
function isOfProvider(thrown: unknown): boolean {
  return thrown instanceof ProviderFault || (thrown instanceof TurnpikeError && thrown.code === 'overloaded');
}

function ignoreFault(thrown: unknown): void {
  if (!(thrown instanceof ProviderFault)) throw thrown;
}

/** Whether the provider failed at the request, which then costs nothing. */
function isFailure({ status }: Answer): boolean {
  return status >= 500 || status === 429;
}

async function readAnswers(file: SpooledFile | undefined): Promise<Map<number, Answer>> {
  const answers = new Map<number, Answer>();
  if (file === undefined) return answers;
  for await (const line of readLines(file.read(), Number.POSITIVE_INFINITY)) {
    const [position, status, body] = JSON.parse(line) as [number, number, string]; // as `#take` wrote it
    answers.set(position, { status, body });
  }
  return answers;
}

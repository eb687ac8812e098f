// Sends the requests of batches, on the node that leads: as messages of their key, each with a claim, so that none is billed twice whatever
// ends the node in between. What is stored already is not sent again. Accounts take turns.

import { FairQueue } from '../base/fair-queue.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import { pause } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { type ErrorCode, overloaded, TurnpikeError } from '../errors.ts';
import type { NewEvent } from '../events/events.ts';
import { type Files, isLost } from '../files/files.ts';
import { Outpaced } from '../ledger/ledger.ts';
import type { Spool, SpooledFile } from '../spool/spool.ts';
import { readLines } from '../wire/wire.ts';
import {
  type Batch,
  type BatchPart,
  type BatchStore,
  type ItemCounts,
  type ItemResult,
  NO_COUNTS,
  reserveIdOf,
} from './batch.ts';
import { type PartParts, PartRunner } from './part-runner.ts';
import { type BatchItem, readItemAgain } from './read-item.ts';
import { type ItemAnswer, isSuccess, noAnswerLine, resultLine } from './result-lines.ts';

/** An answer, and why there is no better one. */
export interface SentItem extends ItemAnswer {
  failure: TurnpikeError | null;
}

/** The answer of a provider's batch to a request, and the target that gave it. */
export interface DoneItem extends Pick<BatchPart, 'provider' | 'upstreamModel' | 'credential'> {
  status: number;
  body: string;
}

export interface RunnerParts extends Omit<PartParts, 'store'> {
  store: BatchStore;
  files: Files;
  spool: Spool;
  /** Sends a request, or bills one that is done, under a claim that is the same each time. */
  send(batch: Batch, body: string, claim: string, done: DoneItem | null): Promise<SentItem>;
  /** The answer that is stored for a request, whatever its key may do now; null: it is not stored any more. */
  findAnswer(batch: Batch, body: string, requestId: string): Promise<SentItem | null>;
  /** The most requests that run at once; 0: none begins. Read on each call, because the setting may change. */
  runningMax(): number;
  /** Whether messages of clients need the node more. */
  isBusy(): boolean;
  /** Whether this node leads. */
  isLeading(): Promise<boolean>;
  /** The cost of a request for its account. */
  costOf(requestId: string): Promise<Nano>;
  onEnded(batch: Batch): void;
  onFailure(batch: Batch | null, failure: unknown): void;
}

/** Refusals by the account's limits or balance. Work that a reserve pays for is never refused so. */
const OF_ACCOUNT: ReadonlySet<ErrorCode> = new Set([
  'requests_rate_exceeded',
  'input_tokens_rate_exceeded',
  'output_tokens_rate_exceeded',
  'concurrency_exceeded',
  'insufficient_user_quota',
]);

/** Refusals that pass: the request is sent again until the batch expires. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  ...OF_ACCOUNT,
  'idempotency_in_progress',
  'upstream_rate_limited',
  'upstream_overloaded',
  'overloaded',
  'store_unavailable',
  'draining',
]);

export class BatchRunner {
  readonly #parts: RunnerParts;
  readonly #stopping = new AbortController();
  readonly #runs = new Map<number, BatchRun>();
  readonly #turns: FairQueue<number>;
  #wake: (() => void) | null = null;
  readonly #ended: Promise<void>;

  /** Begins at once. */
  constructor(parts: RunnerParts) {
    this.#parts = parts;
    const running = () => Math.max(1, parts.runningMax());
    const bounded = {
      get running() {
        return running();
      },
      get runningPerOwner() {
        return running();
      },
      tasks: Number.POSITIVE_INFINITY,
      tasksPerOwner: Number.POSITIVE_INFINITY,
    };
    this.#turns = new FairQueue(bounded, () => overloaded('Too many requests of batches wait.'));
    this.#ended = this.#work();
  }

  /** A batch was made or canceled on this node. */
  look(): void {
    this.#wake?.();
  }

  /** Resolves when the requests in progress have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.look();
    await this.#ended;
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#round();
      } catch (failure) {
        this.#parts.onFailure(null, failure);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      if (!signal.aborted) await Promise.race([promise, pause(bounds.batchesPollMs)]);
    }
    for (const run of this.#runs.values()) run.stop();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  async #round(): Promise<void> {
    const { store, nowMs } = this.#parts;
    if (!(await this.#parts.isLeading())) {
      for (const run of this.#runs.values()) run.stop();
      return;
    }
    const unlisted = new Map(this.#runs);
    for (const batch of await store.listRunningBatches(bounds.batchesAtOnceMax)) {
      const run = this.#runs.get(batch.id);
      unlisted.delete(batch.id);
      if (run === undefined) this.#begin(batch);
      else run.update(batch);
    }
    for (const [id, run] of unlisted) run.update((await store.getBatch(id)) ?? run.batch); // others came before it
    for (const due of await store.listDueBatches(nowMs(), bounds.filesSweptAtOnce)) await this.#remove(due);
  }

  #begin(batch: Batch): void {
    const run = new BatchRun(batch, this.#parts, this.#turns);
    this.#runs.set(batch.id, run);
    void run.ended.then(async (failure) => {
      if (failure !== null) this.#parts.onFailure(batch, failure);
      if (failure !== null) await pause(bounds.batchAgainMs);
      this.#runs.delete(batch.id);
    });
  }

  async #remove({ id, outputFileId, errorFileId }: Batch): Promise<void> {
    for (const file of [outputFileId, errorFileId]) if (file !== null) await this.#parts.files.delete({ id: file });
    await this.#parts.store.removeBatch(id);
  }
}

/** One batch while this node sends its requests. */
class BatchRun {
  /** Resolves to the failure that ended it, or null. */
  readonly ended: Promise<unknown>;
  readonly #parts: RunnerParts;
  readonly #turns: FairQueue<number>;
  readonly #stopping = new AbortController();
  #batch: Batch;
  /** Requests that are in progress, or whose results are not durable. */
  readonly #open = new Set<Promise<void>>();
  #results: ItemResult[] = [];
  #writing: Promise<void> | null = null;
  #failure: unknown = null;
  readonly #atProviders: PartRunner;
  /** The operator knows that answers of a provider cannot be billed. */
  #isUnbilledTold = false;
  /** Up to this position, an earlier run may have sent requests whose results it has not stored. */
  #begunUpTo = -1;

  constructor(batch: Batch, parts: RunnerParts, turns: FairQueue<number>) {
    this.#batch = batch;
    this.#parts = parts;
    this.#turns = turns;
    this.#atProviders = new PartRunner(parts, {
      batch: () => this.#batch,
      signal: this.#stopping.signal,
      isOver: () => this.#isOver(),
      requests: (fileId) => this.#readRequests(fileId),
      keepRequests: () => this.#keepRequests(),
      take: (position, line, { provider, upstreamModel, credential }, answer) =>
        this.#take(position, line, { provider, upstreamModel, credential, ...answer }),
    });
    this.ended = this.#work().then(
      () => null,
      (failure) => (this.#stopping.signal.aborted ? null : failure),
    );
  }

  get batch(): Batch {
    return this.#batch;
  }

  update(batch: Batch): void {
    this.#batch = batch;
  }

  stop(): void {
    this.#stopping.abort(new Error('the node stops'));
  }

  async #work(): Promise<void> {
    const done = await this.#readDone();
    for (const position of done) this.#begunUpTo = Math.max(this.#begunUpTo, position);
    this.#begunUpTo += bounds.batchItemsOpenMax;
    const isDone = (position: number) => done.has(position);
    await this.#atProviders.submit((position) => isDone(position) || this.#isBegun(position));
    for (const one of await Promise.allSettled([this.#sendAll(isDone), this.#atProviders.collect(isDone)]))
      if (one.status === 'rejected') throw one.reason;
    if (this.#atProviders.hasAny) await this.#sendRest();
    await this.#finish();
  }

  /** Sends what providers had, and did not answer. */
  async #sendRest(): Promise<void> {
    const done = await this.#readDone();
    await this.#sendAll((position) => done.has(position));
  }

  async #sendAll(isDone: (position: number) => boolean): Promise<void> {
    let position = -1;
    for await (const line of this.#readRequests()) {
      position++;
      if (isDone(position) || this.#atProviders.has(position)) continue;
      while (this.#open.size >= bounds.batchItemsOpenMax) await Promise.race(this.#open);
      const turn = await this.#nextTurn();
      if (this.#isOver() && !(await this.#isBegun(position))) {
        turn[Symbol.dispose]();
        if (position > this.#begunUpTo || this.#stopping.signal.aborted) break;
        continue;
      }
      const sending = this.#send(position, line, turn).catch((failure) => {
        this.#failure ??= failure;
      });
      this.#open.add(sending);
      void sending.then(() => this.#open.delete(sending));
      if (this.#failure !== null) break;
    }
    await Promise.all(this.#open);
    if (this.#failure !== null) throw this.#failure;
    this.#stopping.signal.throwIfAborted();
  }

  async #readDone(): Promise<Set<number>> {
    const done = new Set<number>();
    for (let after = -1; ; ) {
      const page = await this.#parts.store.listDone({ batchId: this.#batch.id, after, limit: bounds.batchRowsAtOnce });
      for (const position of page) done.add(position);
      if (page.length < bounds.batchRowsAtOnce) return done;
      after = page.at(-1) as number;
    }
  }

  /** Nothing if the client has deleted the file, and no more than can be decrypted: what was not sent is canceled. */
  async *#readRequests(fileId = this.#batch.inputFileId): AsyncGenerator<string> {
    const { files, onFailure } = this.#parts;
    const input = await files.findOwn(fileId);
    if (input === null) return;
    try {
      yield* readLines(await files.read(input), Number.POSITIVE_INFINITY); // checked when the batch was made
    } catch (failure) {
      if (!isLost(failure)) throw failure;
      onFailure(this.#batch, failure);
    }
  }

  #isOver(): boolean {
    const { status, expiresAtMs } = this.#batch;
    return this.#stopping.signal.aborted || status !== 'running' || this.#parts.nowMs() >= expiresAtMs;
  }

  /** Whether an earlier run has sent the request: it may be billed, so it must have its result. */
  async #isBegun(position: number): Promise<boolean> {
    if (position > this.#begunUpTo || this.#stopping.signal.aborted) return false;
    return (await this.#parts.store.findBegun(this.#batch.keyId, claimOf(this.#batch, position))) !== null;
  }

  /** When clients do not need the node more, and it is the account's turn. A batch that waits for clients keeps no turn from others, which may be over. */
  async #nextTurn(): Promise<Disposable> {
    for (;;) {
      while (this.#mustWait()) await pause(bounds.batchBusyMs);
      const turn = await this.#turns.enter(this.#batch.companyId, this.#stopping.signal);
      if (!this.#mustWait()) return turn;
      turn[Symbol.dispose]();
    }
  }

  #mustWait(): boolean {
    return (this.#parts.runningMax() === 0 || this.#parts.isBusy()) && !this.#isOver();
  }

  /** Until there is a result that stays, or the batch is over. */
  async #send(position: number, line: string, firstTurn: Disposable): Promise<void> {
    const batch = this.#batch;
    const item = readItemAgain(batch, line);
    const claim = claimOf(batch, position);
    let turn: Disposable | null = firstTurn;
    for (let tries = 1; ; tries++) {
      let sent: SentItem;
      try {
        if (this.#isOver() && (await this.#costNothing(claim))) return;
        sent = await this.#parts.send(batch, item.body, claim, null);
      } finally {
        turn[Symbol.dispose]();
      }
      if (sent.failure !== null && position <= this.#begunUpTo) sent = (await this.#earlier(item.body, claim)) ?? sent;
      const pauseMs = pauseAfter(sent, tries);
      if (pauseMs === null) return await this.#keep(position, item, sent);
      const isRunning = sent.failure?.code === 'idempotency_in_progress';
      await this.#rest(pauseMs, isRunning);
      if (this.#isOver() && (!isRunning || this.#stopping.signal.aborted)) {
        // An attempt that failed may have been billed: the client gets its error.
        const isRefusal = sent.failure !== null && PASSING.has(sent.failure.code);
        return isRefusal || this.#stopping.signal.aborted ? undefined : await this.#keep(position, item, sent);
      }
      turn = await this.#nextTurn();
      if (!this.#isOver() || isRunning) continue;
      turn[Symbol.dispose]();
      return;
    }
  }

  /**
   * Resolves when a provider's answer is billed and stored. If the answer is that the provider failed, the request is sent again instead. If the account's limits or
   * balance refuse it, its reserve is lost, and the error becomes the result.
   */
  async #take(position: number, line: string, done: DoneItem): Promise<void> {
    const batch = this.#batch;
    const item = readItemAgain(batch, line);
    for (let tries = 1; ; tries++) {
      const sent = await this.#parts.send(batch, item.body, claimOf(batch, position), done);
      const pauseMs = pauseAfter(sent, tries);
      const { failure } = sent;
      const isUnpaid = failure !== null && OF_ACCOUNT.has(failure.code) && tries >= bounds.batchPartTriesMax;
      if (pauseMs === null || isUnpaid) {
        if (failure !== null && !failure.code.startsWith('upstream_')) this.#tellUnbilled(failure);
        return await this.#keep(position, item, sent);
      }
      if (OF_PROVIDER.has(failure?.code as ErrorCode)) return;
      await this.#rest(pauseMs, true);
      this.#stopping.signal.throwIfAborted();
    }
  }

  /** Reports the first of many. */
  #tellUnbilled(failure: TurnpikeError): void {
    if (!this.#isUnbilledTold) this.#parts.onFailure(this.#batch, failure);
    this.#isUnbilledTold = true;
  }

  /**
   * The answer or the state of what an earlier run has sent. A key that may not send the request any more is refused before that is
   * found.
   */
  async #earlier(body: string, claim: string): Promise<SentItem | null> {
    const begun = await this.#parts.store.findBegun(this.#batch.keyId, claim);
    if (begun?.state === 'answered') return this.#parts.findAnswer(this.#batch, body, begun.requestId);
    if (begun?.state !== 'running') return null;
    const failure = new TurnpikeError('idempotency_in_progress', 'The request is in progress.');
    return { requestId: begun.requestId, status: failure.status, body: '', failure };
  }

  /** Whether what was sent of the request has ended without an answer, and was not billed: it is as if it had not been sent. */
  async #costNothing(claim: string): Promise<boolean> {
    const begun = await this.#parts.store.findBegun(this.#batch.keyId, claim);
    return begun === null || (begun.state === 'failed' && (await this.#parts.costOf(begun.requestId)) === 0);
  }

  async #rest(ms: number, isWhole: boolean): Promise<void> {
    const untilMs = performance.now() + ms;
    const { signal } = this.#stopping;
    while (performance.now() < untilMs && !(isWhole ? signal.aborted : this.#isOver()))
      await pause(Math.min(ms, bounds.batchesPollMs));
  }

  /** Resolves when the result is durable. Results that come in the meantime are written together. */
  async #keep(position: number, { customId }: BatchItem, answer: SentItem): Promise<void> {
    const cost = await this.#parts.costOf(answer.requestId);
    const line = resultLine(this.#batch, position, customId, answer);
    const sealed = this.#parts.files.sealText(line, contextOf(this.#batch, position));
    this.#results.push({ position, outcome: isSuccess(answer) ? 'succeeded' : 'errored', sealed, cost });
    while (this.#results.some((result) => result.position === position)) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = null;
      });
      await this.#writing;
    }
  }

  async #write(): Promise<void> {
    const results = this.#results.slice(0, bounds.batchRowsAtOnce);
    await this.#parts.store.addResults(this.#batch.id, results);
    this.#results = this.#results.slice(results.length);
  }

  /** Stores the results as files, and gives back what is left of the money. */
  async #finish(): Promise<void> {
    const { store, files, spool, nowMs } = this.#parts;
    const batch = (await store.getBatch(this.#batch.id)) ?? this.#batch;
    if (batch.status === 'ended') return;
    const { companyId, form } = batch;
    await using output = await spool.create(companyId);
    await using errors = await spool.create(companyId);
    const counts = await this.#writeFiles(batch, output, form === 'openai' ? errors : output);
    await output.finish();
    await errors.finish();
    const endedAtMs = nowMs();
    const dueAtMs = batch.createdAtMs + bounds.batchResultsLifeMs;
    const outputFileId = await this.#keepFile(batch, output, 'output', dueAtMs);
    const errorFileId = await this.#keepFile(batch, errors, 'error', dueAtMs);
    const { cost } = await store.sumResults(batch.id);
    const { atProviders } = this.#atProviders;
    const sums = { counts, cost, atProviders, endedAtMs };
    const ended: Batch = { ...batch, status: 'ended', dueAtMs, outputFileId, errorFileId, ...sums };
    const returns = batch.groups.map((group) => ({
      kind: 'give-back' as const,
      requestId: reserveIdOf(batch, group) as string,
    }));
    try {
      await store.endBatch(ended, batch.status, returns, endedEvent(ended, counts, cost));
    } catch (failure) {
      if (failure instanceof Outpaced)
        for (const id of [outputFileId, errorFileId]) if (id !== null) await files.delete({ id });
      throw failure;
    }
    const own = [...(form === 'messages' ? [batch.inputFileId] : []), ...this.#atProviders.files];
    for (const id of new Set(own)) await files.delete({ id }).catch(() => {}); // the sweep tries again
    this.#parts.onEnded(ended);
  }

  async #keepRequests(): Promise<number | null> {
    const { files, spool, nowMs } = this.#parts;
    const { form, inputFileId, accountId, companyId, keyId, createdAtMs } = this.#batch;
    const input = form === 'messages' ? null : await files.findOwn(inputFileId);
    if (input === null) return inputFileId;
    await using copy = await spool.create(companyId);
    for await (const piece of await files.read(input)) await copy.write(piece);
    await copy.finish();
    const owner = { accountId, companyId, keyId, onlyKeyId: keyId, name: input.name, mediaType: input.mediaType };
    const times = { nowMs: nowMs(), expiresAtMs: createdAtMs + bounds.batchInputLifeMs };
    try {
      return (await files.create({ ...owner, ...times, purpose: 'batch_requests' }, copy)).id;
    } catch (thrown) {
      if (thrown instanceof TurnpikeError && thrown.code === 'file_quota_exceeded') return null;
      throw thrown;
    }
  }

  async #keepFile(
    batch: Batch,
    content: SpooledFile,
    what: 'output' | 'error',
    expiresAtMs: number,
  ): Promise<number | null> {
    if (content.bytes === 0) return null;
    const { accountId, companyId, keyId, form } = batch;
    const { id } = await this.#parts.files.create(
      {
        ...{ accountId, companyId, keyId, onlyKeyId: keyId, expiresAtMs },
        name: `${formatId('msgbatch', batch.id)}_${what}.jsonl`,
        mediaType: 'application/jsonl',
        purpose: form === 'openai' ? 'batch_output' : 'batch_results',
        nowMs: this.#parts.nowMs(),
        isResult: true,
      },
      content,
    );
    return id;
  }

  /** One line for each request, in their order. */
  async #writeFiles(batch: Batch, output: SpooledFile, errors: SpooledFile): Promise<ItemCounts> {
    const counts = { ...NO_COUNTS };
    const stored = this.#storedResults();
    const requests = this.#readRequests();
    const isExpired = batch.status === 'running' && this.#parts.nowMs() >= batch.expiresAtMs;
    const unsent = isExpired ? 'expired' : 'canceled';
    let next = await stored.next();
    for (let position = 0; position < batch.requests; position++) {
      const line = await requests.next();
      const result = next.done === true || next.value.position !== position ? null : next.value;
      const opened = result === null ? null : this.#openResult(result);
      const outcome = result === null ? unsent : opened === null ? 'errored' : result.outcome;
      counts[outcome]++;
      if (result !== null) next = await stored.next();
      if (opened === null && line.done === true) continue;
      const customId = () => readItemAgain(batch, line.value as string).customId;
      const text = opened ?? noAnswerLine(batch, position, customId(), result === null ? unsent : 'unreadable');
      await (outcome === 'succeeded' ? output : errors).write(Buffer.from(`${text}\n`));
    }
    return counts;
  }

  /** null: it was altered, or has another secret. */
  #openResult({ position, sealed }: ItemResult): string | null {
    try {
      return this.#parts.files.openText(sealed, contextOf(this.#batch, position));
    } catch (failure) {
      if (!isLost(failure)) throw failure;
      this.#parts.onFailure(this.#batch, failure);
      return null;
    }
  }

  async *#storedResults(): AsyncGenerator<ItemResult> {
    for (let after = -1; ; ) {
      const page = await this.#parts.store.listResults({
        batchId: this.#batch.id,
        after,
        limit: bounds.batchResultsAtOnce,
      });
      yield* page;
      if (page.length < bounds.batchResultsAtOnce) return;
      after = page.at(-1)?.position as number;
    }
  }
}

const OF_PROVIDER: ReadonlySet<ErrorCode> = new Set([
  'upstream_rate_limited',
  'upstream_overloaded',
  'upstream_failed',
  'upstream_timeout',
  'upstream_credentials',
]);

/** How long to wait before the request is sent again; null: its answer stays. */
function pauseAfter({ failure }: SentItem, tries: number): number | null {
  if (failure === null) return null;
  const isPassing = PASSING.has(failure.code);
  if (!isPassing && (!failure.retry || tries >= bounds.batchItemTriesMax)) return null;
  const growingMs = bounds.batchItemPauseMs * 2 ** Math.min(tries - 1, 6);
  return Math.min(bounds.batchItemPauseMsMax, Math.max(growingMs, failure.details.retryAfterMs ?? 0));
}

function claimOf({ id }: Pick<Batch, 'id'>, position: number): string {
  return `batch ${formatId('msgbatch', id)} ${position}`;
}

function endedEvent({ id, accountId, keyId, requests, endedAtMs }: Batch, counts: ItemCounts, cost: Nano): NewEvent {
  const batch = formatId('msgbatch', id);
  const data = { batch, key: formatId('key', keyId), requests, ...counts, cost: formatUsd(cost) };
  return { atMs: endedAtMs ?? 0, account: accountId, type: 'batch.ended', data, dedupe: `batch.ended ${batch}` };
}

function contextOf({ id }: Pick<Batch, 'id'>, position: number): string {
  return `batch:${id}:${position}`;
}

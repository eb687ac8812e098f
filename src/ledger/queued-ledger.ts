// Messages of a node over a store that other nodes share: each operation waits for its batch. Remembered refusals and
// bounded queues protect the store; admissions in doubt are released, and endings are retried until the store accepts
// them.

import type { Clock } from '../base/clock.ts';
import { sleep, type Timers, within } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { overloaded } from '../errors.ts';
import type {
  Admit,
  Answer,
  Bundle,
  Extend,
  Leave,
  Operation,
  Release,
  Settle,
  Settlement,
  Take,
} from './operation.ts';
import type { Refusals } from './refusals.ts';
import type { MessageGate } from './store.ts';
import { isStoreUnavailable, NothingTaken, storeIsSilent } from './store-failure.ts';
import { emptyRecord } from './usage-record.ts';

class DoubtfulAdmissions {
  readonly #end: (release: Release) => Promise<unknown>;
  readonly #releases = new Map<string, Release>();
  #isReleasing = false;

  /** `end` must retry until the store accepts the release. */
  constructor(end: (release: Release) => Promise<unknown>) {
    this.#end = end;
  }

  /** Whether `more` further admissions would exceed the bound. */
  isFullWith(more: number): boolean {
    return this.#releases.size + more >= bounds.doubtfulAdmissionsMax;
  }

  add({ requestId, account, key, group, draft }: Admit): void {
    const record = {
      ...emptyRecord({ requestId, account, key, group, ...draft }),
      outcome: 'failed' as const,
      status: 503,
    };
    this.#releases.set(requestId, { kind: 'release', requestId, record });
    if (!this.#isReleasing) void this.#releaseAll();
  }

  /** In chunks: while the store is unavailable, the first chunk waits for it and the rest wait behind. */
  async #releaseAll(): Promise<void> {
    this.#isReleasing = true;
    while (this.#releases.size > 0) {
      const piece = this.#releases.values().take(bounds.rowsAtOnce);
      await Promise.all([...piece].map((release) => this.#release(release)));
    }
    this.#isReleasing = false;
  }

  async #release(release: Release): Promise<void> {
    await this.#end(release).catch(() => {}); // only an invariant violation rejects: retrying would not help
    this.#releases.delete(release.requestId);
  }
}

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 2_000;

export interface QueuedLedgerOptions {
  submit(bundle: Bundle): Promise<Answer[]>;
  refusals: Refusals;
  clock: Clock;
  timers: Timers;
  /** Called with a failure of the store. */
  note(failure: unknown): void;
}

export class QueuedLedger implements MessageGate {
  readonly #submit: (bundle: Bundle) => Promise<Answer[]>;
  readonly #refusals: Refusals;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #note: (failure: unknown) => void;
  readonly #queuedByAccount = new Map<number, number>();
  #queued = 0;
  /** Endings that the store has not accepted yet. */
  readonly #unfinished = new Set<Promise<Settlement>>();
  readonly #doubtful = new DoubtfulAdmissions((release) => this.#endAtLast(release, []));

  constructor({ submit, refusals, clock, timers, note }: QueuedLedgerOptions) {
    this.#submit = submit;
    this.#refusals = refusals;
    this.#clock = clock;
    this.#timers = timers;
    this.#note = note;
  }

  get queued(): number {
    return this.#queued;
  }

  get unfinished(): number {
    return this.#unfinished.size;
  }

  async admit(operation: Admit | Take): Promise<Answer> {
    const remembered = this.#refusals.find(operation, this.#clock.nowMs());
    if (remembered !== null) return remembered;
    const { timesForgotten } = this.#refusals;
    this.#enter(operation.account);
    let answer: Answer;
    try {
      answer = await within(this.#timers, bounds.admissionWaitMsMax, this.#ask(operation), storeIsSilent);
    } catch (failure) {
      if (isStoreUnavailable(failure)) {
        this.#note(failure); // also after a timeout
        if (operation.kind === 'admit' && !(failure instanceof NothingTaken)) this.#doubtful.add(operation);
      }
      throw failure;
    } finally {
      this.#exit(operation.account);
    }
    // A refusal decided before a credit must not be remembered after it.
    if (!answer.ok && 'meter' in answer && this.#refusals.timesForgotten === timesForgotten)
      this.#refusals.remember(operation, answer, this.#clock.nowMs());
    return answer;
  }

  change(operation: Extend | Leave): Promise<Answer> {
    return this.#ask(operation);
  }

  /** The co-committed rows may be written more than once if an acknowledgement is lost, and must tolerate that. */
  end(operation: Settle | Release, waitMs: number, coCommitted: unknown[]): Promise<Settlement> {
    const ending = this.#endAtLast(operation, coCommitted);
    this.#unfinished.add(ending);
    const forget = () => this.#unfinished.delete(ending);
    ending.then(forget, forget);
    return within(this.#timers, waitMs, ending, storeIsSilent);
  }

  finish(): Promise<unknown> {
    return Promise.allSettled([...this.#unfinished]);
  }

  async #endOnce(operation: Settle | Release, coCommitted: unknown[]): Promise<Settlement> {
    const answer = await this.#ask(operation, coCommitted);
    const { account, key, group } = operation.record;
    this.#refusals.forget(account, key, group);
    if (answer.ok && answer.kind === 'ended') return answer;
    return { ok: false, reason: 'ended' };
  }

  /** An ending that violates an invariant must not leave its hold open: the hold is released without charge. */
  async #endAtLast(operation: Settle | Release, coCommitted: unknown[]): Promise<Settlement> {
    try {
      return await this.#endInStore(operation, coCommitted);
    } catch (failure) {
      const { requestId } = operation.record;
      const record = { ...emptyRecord(operation.record), outcome: 'failed' as const };
      await this.#endInStore({ kind: 'release', requestId, record }, []).catch(() => {});
      throw failure;
    }
  }

  // Not bounded in time: an answered message is billed as soon as the store recovers. The number of open holds bounds
  // how many endings can be pending.
  async #endInStore(operation: Settle | Release, coCommitted: unknown[]): Promise<Settlement> {
    for (let pauseMs = RETRY_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      try {
        return await this.#endOnce(operation, coCommitted);
      } catch (failure) {
        if (!isStoreUnavailable(failure)) throw failure;
        await sleep(this.#timers, pauseMs);
      }
    }
  }

  async #ask(operation: Operation, coCommitted: unknown[] = []): Promise<Answer> {
    const operations = [operation];
    const answers = await this.#submit(coCommitted.length === 0 ? { operations } : { operations, coCommitted });
    return answers[0] as Answer;
  }

  #enter(account: number): void {
    const queued = this.#queuedByAccount.get(account) ?? 0;
    if (this.#queued >= bounds.ledgerQueueMax || queued >= bounds.ledgerQueuePerAccountMax)
      throw overloaded('The service is overloaded. Try again shortly.');
    if (this.#doubtful.isFullWith(this.#queued)) throw storeIsSilent(); // each queued admission may end up in doubt
    this.#queued++;
    this.#queuedByAccount.set(account, queued + 1);
  }

  #exit(account: number): void {
    this.#queued--;
    const queued = (this.#queuedByAccount.get(account) ?? 1) - 1;
    if (queued === 0) this.#queuedByAccount.delete(account);
    else this.#queuedByAccount.set(account, queued);
  }
}

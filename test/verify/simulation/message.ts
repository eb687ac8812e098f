// One message on its node, as the gateway would treat it: admitted, streamed with its hold extended ahead of
// need and checkpoints written, ended once its cost is known. What its upstream produces is scripted.

import { sleep, type Timers } from '../../../src/base/timers.ts';
import type {
  Admit,
  IdempotencyClaim,
  Outcome,
  RateLimits,
  Release,
  Settle,
  UsageRecord,
} from '../../../src/ledger/ledger.ts';
import { emptyRecord } from '../../../src/ledger/ledger.ts';
import type { Auditor } from './auditor.ts';
import type { NodeRun } from './node.ts';
import type { Trace } from './trace.ts';

const CHECKPOINT_MS = 1_000;
const SETTLE_WAIT_MS = 2_000;
const EXTENSION_RETRY_MS = 300;
const EXTENSION_TRIES = 4;

/** The submitted message, and the behavior of its upstream. */
export interface Script {
  requestId: string;
  account: number;
  key: number;
  group: string;
  limits: RateLimits;
  claim: IdempotencyClaim | null;
  /** Its hold is taken from there. */
  reserve: string | null;
  stream: boolean;
  /** Cost of the input, and the additional amount held at first. */
  inputCost: number;
  inputMargin: number;
  tranche: number;
  /** May begin with less than it wants to hold. */
  isModest: boolean;
  chunks: { afterMs: number; cost: number }[];
  /** Known only at the end. */
  unseenCost: number;
  end: 'completed' | 'upstream_cut' | 'failed';
  /** The client disconnects after this many chunks; null: it stays. */
  leavesAfter: number | null;
  /** The end is asked for twice, at once or so much later. */
  againAfterMs: number | null;
}

/** The result for its client. `broken`: the connection, or a retryable error. */
export type Learned =
  | { kind: 'complete' | 'left' | 'broken' | 'no money' }
  | { kind: 'refused'; reason: string; requestId: string | null };

export interface Surroundings {
  run: NodeRun;
  timers: Timers;
  auditor: Auditor;
  trace: Trace;
}

/** The amount that it wants to hold. */
export function amountOf({ inputCost, inputMargin, stream, tranche, chunks }: Omit<Script, 'requestId'>): number {
  return inputCost + inputMargin + (stream ? tranche : chunks.reduce((sum, { cost }) => sum + cost, 0));
}

/** Resolves when the message has ended as far as its node knows; never where the node crashes before. */
export async function runMessage(script: Script, { run, timers, auditor, trace }: Surroundings): Promise<Learned> {
  const message = new Message(script, { run, timers, auditor, trace });
  const refused = await message.admit();
  if (refused !== null) return refused;
  const outcome = await message.produce();
  return message.end(outcome);
}

class Message {
  readonly #script: Script;
  readonly #around: Surroundings;
  #held = 0;
  /** Produced so far, at its price. */
  #spent = 0;
  #hasLeft = false;
  #isEnded = false;
  #extending: Promise<void> | null = null;

  constructor(script: Script, around: Surroundings) {
    this.#script = script;
    this.#around = around;
  }

  async admit(): Promise<Learned | null> {
    const { run, trace } = this.#around;
    const { requestId, claim, reserve, account, key, group, limits, stream, isModest } = this.#script;
    const input = this.#script.inputCost + this.#script.inputMargin;
    const amount = amountOf(this.#script);
    try {
      const operation: Admit = {
        kind: 'admit',
        ...{ requestId, account, key, group, limits, amount, owner: run.ledger.owner },
        ...(isModest && { least: input }),
        ...(claim !== null && { claim }),
        ...(reserve !== null && { reserve }),
        draft: { model: 'sandbox-lorem', stream },
      };
      const admission = await run.ledger.admit(operation);
      const learned = admission.ok ? 'admitted' : `refused: ${admission.reason}`;
      trace.count(learned);
      trace.note(`${requestId} ${learned}`);
      if (!admission.ok)
        return {
          kind: 'refused',
          reason: admission.reason,
          requestId: 'requestId' in admission ? admission.requestId : null,
        };
      if ('amount' in admission) this.#held = admission.amount;
      if (this.#held < amount) trace.count('held less than was asked for');
      return null;
    } catch (failure) {
      expectKnown(failure, trace);
      trace.count('admission in doubt');
      return { kind: 'broken' };
    }
  }

  /** Takes the upstream's chunks as they come, each when it is covered. */
  async produce(): Promise<Outcome> {
    const { timers, trace } = this.#around;
    const { stream, chunks, inputCost, end, leavesAfter } = this.#script;
    if (end === 'failed') {
      await sleep(timers, chunks[0]?.afterMs ?? 0);
      return 'failed';
    }
    let checkpointAtMs = CHECKPOINT_MS;
    let elapsedMs = 0;
    for (const [index, { afterMs, cost }] of chunks.entries()) {
      if (leavesAfter === index) await this.#leave();
      if (this.#hasLeft && stream) return 'client_gone';
      await sleep(timers, afterMs);
      elapsedMs += afterMs;
      if (index === 0) this.#begin(inputCost);
      if (stream && !(await this.#streamHold(cost))) return this.#isEnded ? 'service_cut' : 'quota_cut';
      this.#spent += cost;
      if (!stream || elapsedMs < checkpointAtMs) continue;
      checkpointAtMs = elapsedMs + CHECKPOINT_MS;
      void this.#extend('same', this.#spent);
      trace.count('checkpoint');
    }
    return this.#hasLeft ? 'client_gone' : end;
  }

  async end(outcome: Outcome): Promise<Learned> {
    const { run, timers, auditor, trace } = this.#around;
    const { requestId, stream, claim, unseenCost, againAfterMs } = this.#script;
    const isComplete = outcome === 'completed';
    const cost = outcome === 'failed' ? 0 : this.#spent + (isComplete ? unseenCost : 0);
    const isFreeWhenLate = isComplete && !stream;
    auditor.truths.set(requestId, { cost, isAnswer: isComplete && claim !== null, isFreeWhenLate });
    const record = this.#record(cost, outcome);
    const operation: Settle | Release =
      outcome === 'failed'
        ? { kind: 'release', requestId, record }
        : { kind: 'settle', requestId, record, isAnswer: isComplete };
    if (againAfterMs !== null) timers.after(againAfterMs, () => void this.#settle(operation, 'asked again'));
    const settled = await this.#settle(operation, 'asked');
    trace.note(`${requestId} ${outcome} at ${cost}: ${settled}; ${run.name}`);
    trace.count(`outcome: ${outcome}`);
    if (this.#hasLeft) return { kind: 'left' };
    if (outcome === 'quota_cut') return { kind: 'no money' };
    return { kind: settled === 'ended' && isComplete ? 'complete' : 'broken' };
  }

  async #settle(operation: Settle | Release, how: string): Promise<string> {
    const { run, auditor, trace } = this.#around;
    try {
      const settlement = await run.ledger.end(operation, SETTLE_WAIT_MS);
      trace.count(`${how}: ${settlement.ok ? 'ended' : 'ended by another'}`);
      if (!settlement.ok) return 'by another';
      auditor.acknowledged(operation.requestId, settlement.cost);
      return 'ended';
    } catch (failure) {
      expectKnown(failure, trace);
      trace.count(`${how}: not yet`);
      return 'not yet';
    }
  }

  /** The stream begins: its input is known, and what was held too much for it is given back. */
  #begin(inputCost: number): void {
    this.#spent = inputCost;
    if (!this.#script.stream || this.#script.inputMargin === 0) return;
    const less = Math.min(this.#held, inputCost + this.#script.tranche);
    this.#around.trace.count('corrected downward');
    // Released amounts may be spent at once, whether the response arrives or not.
    this.#held = less;
    void this.#extend(less, inputCost);
  }

  /** Whether what is held pays for so much more. Asks ahead of need, and waits only where it does not. */
  async #streamHold(more: number): Promise<boolean> {
    const { tranche } = this.#script;
    const aheadOf = (next: number) => this.#spent + next + tranche;
    for (let tries = 0; this.#held < this.#spent + more; tries++) {
      if (tries === EXTENSION_TRIES || this.#isEnded) return false;
      const before = this.#held;
      await (this.#extending ?? this.#extend(aheadOf(more), null));
      if (this.#held <= before && tries > 0) await sleep(this.#around.timers, EXTENSION_RETRY_MS);
    }
    if (this.#isEnded) return false;
    const isNear = this.#held < this.#spent + more + tranche / 2;
    if (isNear && this.#extending === null) void this.#extend(aheadOf(more), null);
    return true;
  }

  #extend(amount: number | 'same', checkpointCost: number | null): Promise<void> {
    const extending = this.#askToExtend(amount, checkpointCost).finally(() => {
      if (this.#extending === extending) this.#extending = null;
    });
    if (amount !== 'same') this.#extending = extending;
    return extending;
  }

  async #askToExtend(amount: number | 'same', checkpointCost: number | null): Promise<void> {
    const { run, trace } = this.#around;
    const { requestId } = this.#script;
    const checkpoint = checkpointCost === null ? null : this.#record(checkpointCost, 'service_cut');
    try {
      const extension = await run.ledger.extend({ kind: 'extend', requestId, amount, checkpoint });
      if (!extension.ok) this.#isEnded = true;
      else if (amount !== 'same') this.#held = extension.amount;
      trace.count(
        extension.ok ? (extension.amount < Number(amount) ? 'extended in part' : 'extended') : 'extended too late',
      );
    } catch (failure) {
      expectKnown(failure, trace);
      trace.count('extension failed');
    }
  }

  async #leave(): Promise<void> {
    const { run, trace } = this.#around;
    const { requestId, account, key, group } = this.#script;
    this.#hasLeft = true;
    trace.count('caller left');
    await run.ledger.leave({ kind: 'leave', requestId }, account, key, group);
  }

  #record(cost: number, outcome: Outcome): UsageRecord {
    const { requestId, account, key, group, stream, inputCost } = this.#script;
    return {
      ...emptyRecord({ requestId, account, key, group, model: 'sandbox-lorem', stream }),
      outcome: this.#hasLeft ? 'client_gone' : outcome,
      status: outcome === 'failed' ? 502 : 200,
      inputTokens: inputCost,
      outputTokens: Math.max(0, cost - inputCost),
      usageSource: cost === 0 ? 'none' : 'estimated',
      cost,
      providerCost: cost % 2 === 0 ? Math.floor(cost / 2) : null,
      ...(cost % 3 === 1 && { units: { counts: { images: cost }, image: null }, unitCosts: { images: cost } }),
    };
  }
}

/** An unavailable store and a full queue are expected in a run; anything else is a bug. */
function expectKnown(failure: unknown, trace: Trace): void {
  const code = (failure as { code?: string }).code;
  if (code === 'store_unavailable' || code === 'overloaded') return;
  trace.fail(`a message failed: ${(failure as Error).stack}`);
}

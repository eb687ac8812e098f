// Background jobs of the node that leads: events are delivered, and accounts are watched. A job that fails is tried
// again in its next round, and is reported as an event once a day.

import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import type { Dispatcher } from '../delivery/delivery.ts';
import { isStoreUnavailable, Outpaced } from '../ledger/ledger.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { Leadership } from './leadership.ts';

/** A job that runs now and then. */
export interface SeldomJob {
  name: string;
  /** Delay of the first run after the start. */
  firstAfterMs?: number;
  everyMs: number;
  run(signal: AbortSignal): Promise<void>;
}

export interface JobParts {
  leadership: Leadership;
  dispatcher: Dispatcher;
  seldom: readonly SeldomJob[];
  clock: Clock;
  log: Pick<LogWriter, 'writeEvent'>;
  /** Reports a failed job as an event. */
  onFailure(job: string, failure: unknown): Promise<void>;
}

/** Starts at once. The returned function stops the jobs, and waits for attempts in progress. */
export function startJobs(parts: JobParts): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  // Each in a loop of its own: a slow provider delays no other job.
  const ended = Promise.all([deliver(parts, signal), ...parts.seldom.map((job) => runSeldom(parts, job, signal))]);
  return async () => {
    stopping.abort();
    await ended;
    await Promise.race([parts.dispatcher.finish().catch(() => {}), rest(bounds.eventsPollMs)]);
  };
}

async function deliver({ leadership, dispatcher, log }: JobParts, signal: AbortSignal): Promise<void> {
  let isLeading = false;
  while (!signal.aborted) {
    try {
      if (!(await leadership.isHeld())) isLeading = false;
      else {
        if (!isLeading) await dispatcher.resume();
        isLeading = true;
        await dispatcher.round();
      }
    } catch (failure) {
      isLeading = false;
      if (failure instanceof Outpaced) {
        leadership.lose();
        dispatcher.forget();
      } else if (!isStoreUnavailable(failure)) log.writeEvent('deliveries_failed', { cause: describeFailure(failure) });
    }
    await Promise.race([dispatcher.waitForEnd(bounds.eventsPollMs), rest(bounds.eventsPollMs, signal)]);
    await rest(bounds.deliveryWritesPauseMs, signal);
  }
}

async function runSeldom(parts: JobParts, job: SeldomJob, signal: AbortSignal): Promise<void> {
  const { leadership, clock, log } = parts;
  let dueMs = clock.nowMs() + (job.firstAfterMs ?? bounds.jobsFirstAfterMs);
  while (!signal.aborted) {
    await rest(bounds.jobsPollMs, signal);
    if (signal.aborted || clock.nowMs() < dueMs || !(await leadership.isHeld().catch(() => false))) continue;
    dueMs = clock.nowMs() + job.everyMs;
    try {
      await job.run(signal);
    } catch (failure) {
      log.writeEvent('job_failed', { job: job.name, cause: describeFailure(failure) });
      if (!isStoreUnavailable(failure)) await parts.onFailure(job.name, failure).catch(() => {});
    }
  }
}

async function rest(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { ref: false, ...(signal && { signal }) });
  } catch {
    // Stopped: the caller looks at the signal.
  }
}

// Spreads events to their destinations and sends what is due, on the one node that leads. Everything that it knows is
// stored: after a crash, what was being sent is due and is sent again, with the same id.

import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { isEventType, type StoredEvent } from '../events/events.ts';
import type { Channels } from './channels.ts';
import {
  type Delivery,
  type DeliveryAttempt,
  type DueDelivery,
  laneOf,
  type Outbox,
  type OutboxChange,
  type SpreadTo,
  wantsEvent,
} from './destination.ts';
import { nextTryMs } from './retries.ts';
import type { SendResult } from './send-http.ts';

export interface DispatcherParts {
  outbox: Outbox;
  channels: Channels;
  clock: Clock;
  /** In [0, 1). */
  random(): number;
  /** Called for each attempt. */
  onAttempt?(kind: string, result: SendResult): void;
}

interface InFlight {
  destination: number;
  account: number;
  lane: string;
  isFailing: boolean;
}

const TOO_MANY = `not sent: ${bounds.deliveriesWaitingMax} deliveries of the account wait at this destination`;

export class Dispatcher {
  readonly #parts: DispatcherParts;
  /** By delivery, until the attempt is recorded. */
  readonly #inFlight = new Map<number, InFlight>();
  #ended: { due: DueDelivery; result: SendResult }[] = [];
  #sending = new Set<Promise<void>>();
  #onEnd: (() => void) | null = null;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /**
   * One round: records attempts that have ended, spreads new events and starts what is due. Throws Outpaced if another
   * node leads, and store_unavailable; the next round continues.
   */
  async round(): Promise<void> {
    await this.#record();
    while (await this.#spread());
    await this.#start();
  }

  /** Continues deliveries that nothing would make due. Called when this node begins to lead, and now and then. */
  resume(): Promise<void> {
    return this.#parts.outbox.write([{ kind: 'resume', atMs: this.#parts.clock.nowMs() }]);
  }

  /** Forgets what is being sent: another node leads, and sends it again. */
  forget(): void {
    this.#inFlight.clear();
    this.#ended = [];
  }

  /** Resolves when an attempt has ended, or after `ms`. */
  async waitForEnd(ms: number): Promise<void> {
    if (this.#ended.length > 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#onEnd = resolve;
    await promise;
    clearTimeout(timer);
    this.#onEnd = null;
  }

  /** Resolves when every attempt in progress has ended and is recorded. */
  async finish(): Promise<void> {
    await Promise.all(this.#sending);
    await this.#record();
  }

  /** Whether there may be more events. */
  async #spread(): Promise<boolean> {
    const { outbox, clock } = this.#parts;
    const events = await outbox.listUnspread(bounds.eventsSpreadAtOnce, isEventType);
    if (events.length === 0) return false;
    const atMs = clock.nowMs();
    const changes: OutboxChange[] = [];
    for (const event of events) changes.push({ kind: 'spread', event, atMs, to: await this.#receiversOf(event) });
    await outbox.write(changes);
    return events.length === bounds.eventsSpreadAtOnce;
  }

  async #receiversOf(event: StoredEvent): Promise<SpreadTo[]> {
    const { outbox } = this.#parts;
    const wanting = (await outbox.listReceivers(event.account)).filter((destination) => wantsEvent(destination, event));
    return Promise.all(
      wanting.map(async ({ id, accountId }) => {
        const waiting = await outbox.countWaiting(id, laneOf(event), bounds.deliveriesWaitingMax);
        return { destinationId: id, accountId, skipped: waiting < bounds.deliveriesWaitingMax ? null : TOO_MANY };
      }),
    );
  }

  async #start(): Promise<void> {
    await this.#startOf(true, bounds.deliveriesFailingAtOnce);
    await this.#startOf(false, bounds.deliveriesAtOnce - bounds.deliveriesFailingAtOnce);
  }

  /**
   * Starts due deliveries until their part of the slots is taken. What one destination or account has too much of is
   * passed over, so that it delays no other.
   */
  async #startOf(isFailing: boolean, slots: number): Promise<void> {
    const nowMs = this.#parts.clock.nowMs();
    const limit = bounds.deliveriesAtOnce;
    let after: { nextAtMs: number; seq: number } | null = null;
    for (let examined = 0; examined < bounds.deliveriesExaminedMax; examined += limit) {
      if (this.#count((one) => one.isFailing === isFailing) >= slots) return;
      const page: DueDelivery[] = await this.#parts.outbox.listDue({ nowMs, isFailing, after, limit });
      for (const due of page) {
        if (this.#count((one) => one.isFailing === isFailing) >= slots) return;
        if (this.#mayStart(due)) this.#send(due, isFailing);
      }
      const last = page.at(-1)?.delivery;
      if (last === undefined || page.length < limit) return;
      after = { nextAtMs: last.nextAtMs ?? nowMs, seq: last.seq };
    }
  }

  #mayStart({ delivery, destination, event }: DueDelivery): boolean {
    const account = destination.accountId ?? 0;
    return (
      !this.#inFlight.has(delivery.seq) &&
      this.#count((one) => one.lane === laneName(destination.id, laneOf(event))) === 0 &&
      this.#count((one) => one.destination === destination.id) < bounds.deliveriesPerDestinationAtOnce &&
      (account === 0 || this.#count((one) => one.account === account) < bounds.deliveriesPerAccountAtOnce)
    );
  }

  /** Few are in flight. */
  #count(isCounted: (one: InFlight) => boolean): number {
    let count = 0;
    for (const one of this.#inFlight.values()) if (isCounted(one)) count++;
    return count;
  }

  #send(due: DueDelivery, isFailing: boolean): void {
    const { delivery, destination, event } = due;
    const entry: InFlight = {
      destination: destination.id,
      account: destination.accountId ?? 0,
      lane: laneName(destination.id, laneOf(event)),
      isFailing,
    };
    this.#inFlight.set(delivery.seq, entry);
    const sent = this.#parts.channels[destination.kind](destination, event).then((result) => {
      this.#sending.delete(sent);
      if (this.#inFlight.get(delivery.seq) !== entry) return; // forgotten meanwhile
      this.#parts.onAttempt?.(destination.kind, result);
      this.#ended.push({ due, result });
      this.#onEnd?.();
    });
    this.#sending.add(sent);
  }

  /** Attempts that cannot be written are kept for the next round. */
  async #record(): Promise<void> {
    const ended = this.#ended.slice(0, bounds.rowsAtOnce);
    if (ended.length === 0) return;
    await this.#parts.outbox.write(ended.flatMap((one) => this.#changesOf(one)));
    this.#ended.splice(0, ended.length);
    for (const { due } of ended) this.#inFlight.delete(due.delivery.seq);
  }

  #changesOf({ due, result }: { due: DueDelivery; result: SendResult }): OutboxChange[] {
    const { delivery, destination, event } = due;
    const nowMs = this.#parts.clock.nowMs();
    const after = afterAttempt(delivery, result, nowMs, this.#parts.random());
    const isDelivered = result.error === null;
    const isSlow = result.ms > bounds.deliverySlowMs;
    const changes: OutboxChange[] = [
      { kind: 'attempted', delivery: after, lane: laneOf(event), atMs: nowMs },
      { kind: 'health', destinationId: destination.id, isDelivered, isSlow, atMs: nowMs },
    ];
    const reason = reasonToDisable(due, after, result);
    if (reason === null) return changes;
    const about = { destination: formatId('dest', destination.id), name: destination.name, reason };
    const dedupe = `destination.disabled:${destination.id}:${destination.version}`;
    const emitted = { atMs: nowMs, account: destination.accountId, type: 'destination.disabled', data: about } as const;
    return [
      ...changes,
      { kind: 'disable', destinationId: destination.id, reason },
      { kind: 'emit', event: { ...emitted, dedupe } },
    ];
  }
}

function laneName(destination: number, lane: number): string {
  return `${destination} ${lane}`;
}

/** The delivery after an attempt. Pure. */
export function afterAttempt(delivery: Delivery, result: SendResult, nowMs: number, random: number): Delivery {
  const { ms, status, error, excerpt, isGone } = result;
  const attempt: DeliveryAttempt = { atMs: nowMs - ms, ms, status, error, excerpt };
  const attempts = [...delivery.attempts, attempt].slice(-bounds.deliveryAttemptsKept);
  const tries = delivery.tries + 1;
  const done = { ...delivery, tries, attempts, nextAtMs: null, doneAtMs: nowMs };
  if (error === null) return { ...done, status: 'delivered' };
  const nextAtMs = isGone ? null : nextTryMs(tries, nowMs, random);
  if (nextAtMs === null) return { ...done, status: 'failed' };
  return { ...delivery, status: 'pending', tries, attempts, nextAtMs, doneAtMs: null };
}

/** A destination that accepted nothing as long as a delivery was tried, or that wants no more, is disabled. */
function reasonToDisable({ destination }: DueDelivery, after: Delivery, result: SendResult): string | null {
  if (result.isGone) return result.status === null ? result.error : 'it answered 410 Gone';
  const isSilent = (destination.deliveredAtMs ?? 0) < after.createdAtMs;
  return after.status === 'failed' && isSilent ? 'it accepted nothing for three days' : null;
}

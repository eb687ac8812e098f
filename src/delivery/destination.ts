// Destinations and deliveries as plain values, and the stores that keep them.

import type { AuditContext } from '../audit/audit.ts';
import { formatId } from '../base/ids.ts';
import type { Requester } from '../base/timers.ts';
import { eventTypes, isForAccount, matchesType, type NewEvent, type StoredEvent } from '../events/events.ts';

export type DestinationKind = 'webhook' | 'slack' | 'mail';

/** Where events are sent to. */
export interface Destination {
  id: number;
  /** null: the operators'. */
  accountId: number | null;
  kind: DestinationKind;
  name: string;
  /** The URL of a webhook, the origin of a Slack-compatible one, or an email address. */
  address: string;
  /** Patterns of event types. */
  types: readonly string[];
  /** Newest first: the signing secrets of a webhook, or the URL of a Slack-compatible one. */
  secrets: readonly SealedSecret[];
  /** Time since which a mail address gets only events about security; null: subscribed. */
  unsubscribedAtMs: number | null;
  madeBy: string;
  createdAtMs: number;
  status: 'enabled' | 'disabled';
  /** Why it was disabled by the service; null otherwise. */
  disabledReason: string | null;
  /** Raised by each change; a change of an older version is refused with Outpaced. */
  version: number;
  /** Since when all attempts have failed; null: the last one succeeded, or there was none. */
  failingSinceMs: number | null;
  /** When the last attempt succeeded. */
  deliveredAtMs: number | null;
}

export interface SealedSecret {
  sealed: string;
  /** null: until it is replaced. */
  endsAtMs: number | null;
}

/** The context in which the secrets of a destination are sealed. */
export function destinationContext({ id }: Pick<Destination, 'id'>): string {
  return `destination:${id}`;
}

/** Whether the event is sent to the destination. Events from before it was created are not. */
export function wantsEvent(destination: Destination, event: StoredEvent): boolean {
  const { accountId, types, status, unsubscribedAtMs, id, createdAtMs } = destination;
  if (event.atMs < createdAtMs) return false;
  if (status !== 'enabled' || (accountId !== null && (event.account !== accountId || !isForAccount(event))))
    return false;
  if (event.type === 'destination.tested') return event.data['destination'] === formatId('dest', id);
  if (unsubscribedAtMs !== null && !eventTypes[event.type].isSecurity) return false;
  return matchesType(types, event.type);
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

/** One event for one destination. */
export interface Delivery {
  seq: number;
  eventSeq: number;
  destinationId: number;
  /** The account of the destination; null: the operators'. */
  accountId: number | null;
  status: DeliveryStatus;
  /** Attempts since it was created or redelivered. */
  tries: number;
  createdAtMs: number;
  /** When the next attempt is due; null: it waits for an earlier event, for its destination, or is done. */
  nextAtMs: number | null;
  doneAtMs: number | null;
  /** The latest ones, oldest first. */
  attempts: readonly DeliveryAttempt[];
}

export interface DeliveryAttempt {
  atMs: number;
  ms: number;
  /** The status of the answer; null: none, or no HTTP. */
  status: number | null;
  /** Why it failed; null: it succeeded. */
  error: string | null;
  /** The beginning of the answer of a failed attempt. */
  excerpt: string | null;
}

export interface DestinationStore {
  getDestination(id: number): Promise<Destination | null>;
  /** Oldest first; `accountId` null: all, 'operators': theirs. */
  listDestinations(page: {
    accountId: number | 'operators' | null;
    after: number | null;
    limit: number;
  }): Promise<Destination[]>;
  countDestinations(accountId: number | null): Promise<number>;
  /** Everything sealed, to be sealed under a new secret. */
  listSealedDestinations(): Promise<Destination[]>;
  createDestination(destination: Destination, auditContext: AuditContext): Promise<void>;
  /**
   * `destination.version` is the version that is replaced. Its deliveries pause with it and continue when it is enabled.
   * Throws Outpaced.
   */
  updateDestination(destination: Destination, nowMs: number, auditContext: AuditContext): Promise<void>;
}

export interface DeliveryPage {
  /** The account of the destinations; null: all. */
  accountId: number | null;
  destinationId: number | null;
  status: DeliveryStatus | null;
  /** The first time of its creation; null: any. */
  sinceMs: number | null;
  /** The last one, likewise. */
  untilMs: number | null;
  /** Cursor: the seq of the last delivery seen. */
  before: number | null;
  limit: number;
}

/** A delivery with the event that it carries. */
export interface ListedDelivery extends Delivery {
  event: StoredEvent;
}

export interface DeliveryStore {
  getDelivery(seq: number): Promise<ListedDelivery | null>;
  /** Newest first. */
  listDeliveries(page: DeliveryPage, requester?: Requester): Promise<ListedDelivery[]>;
  /** Deliveries that wait, and the time at which the first of them became due; null: none is. */
  countDeliveries(): Promise<{ waiting: number; dueSinceMs: number | null }>;
  /** Makes the delivery due now, whatever waits before it. */
  redeliver(seq: number, nowMs: number, auditContext: AuditContext): Promise<void>;
}

/** A delivery that is due, with everything that sending it needs. */
export interface DueDelivery {
  delivery: Delivery;
  event: StoredEvent;
  destination: Destination;
}

/** A change of the dispatcher. All changes of one `write` are made, or none. */
export type OutboxChange =
  /** The event was spread to these destinations, and to no other. */
  | { kind: 'spread'; event: StoredEvent; atMs: number; to: readonly SpreadTo[] }
  /** The delivery after an attempt. When it is done, the next event of its account becomes due. */
  | { kind: 'attempted'; delivery: Delivery; lane: number; atMs: number }
  /** `isSlow`: it is treated as failing, so that it delays no others. */
  | { kind: 'health'; destinationId: number; isDelivered: boolean; isSlow: boolean; atMs: number }
  | { kind: 'disable'; destinationId: number; reason: string }
  | { kind: 'emit'; event: NewEvent }
  /** Deliveries that nothing would make due, such as behind one that retention dropped. */
  | { kind: 'resume'; atMs: number };

export interface SpreadTo {
  destinationId: number;
  accountId: number | null;
  /** Why it is not sent, because too many wait; null: it is. */
  skipped: string | null;
}

/** Reads and writes of the dispatcher. */
export interface Outbox {
  /** Events of known types that were not spread yet, oldest first. Others are left to a later release. */
  listUnspread(limit: number, isKnown: (type: string) => boolean): Promise<StoredEvent[]>;
  /** Enabled destinations of the account and of the operators. */
  listReceivers(account: number | null): Promise<Destination[]>;
  /** Deliveries of the account that wait at the destination, at most `limit`. */
  countWaiting(destinationId: number, lane: number, limit: number): Promise<number>;
  /** By due time. `isFailing`: of destinations whose last attempt failed, or of the others. */
  listDue(page: {
    nowMs: number;
    isFailing: boolean;
    after: { nextAtMs: number; seq: number } | null;
    limit: number;
  }): Promise<DueDelivery[]>;
  /** Throws Outpaced if this node no longer leads, and store_unavailable. */
  write(changes: readonly OutboxChange[]): Promise<void>;
}

/** Deliveries to one destination about one account are sent in order. 0: about the installation. */
export function laneOf({ account }: Pick<StoredEvent, 'account'>): number {
  return account ?? 0;
}

// The door of events: what happened, to be delivered to destinations. Pure: nothing is stored or sent here.

import type { Requester } from '../base/timers.ts';
import { type EventData, type EventType, eventTypes } from './event-types.ts';

export { type EventType, eventTypes, isEventType, type Severity } from './event-types.ts';

/** An event that has not been stored. Written in the transaction of what it reports. */
export type NewEvent<Type extends EventType = EventType> = {
  [One in Type]: {
    atMs: number;
    /** The account that it is about; null: the installation. */
    account: number | null;
    type: One;
    data: EventData<One>;
    /** Unique in the installation: a second event with the same text is not stored. null: always stored. */
    dedupe: string | null;
  };
}[Type];

export interface StoredEvent {
  /** Its public id is formatId('evt', seq). */
  seq: number;
  atMs: number;
  account: number | null;
  type: EventType;
  data: Readonly<Record<string, unknown>>;
}

export interface EventPage {
  /** null: all accounts. */
  account: number | null;
  /** Only of these types; null: of all. */
  types: readonly EventType[] | null;
  /** Inclusive; null: from the first one. */
  sinceMs: number | null;
  /** Inclusive; null: up to the last one. */
  untilMs: number | null;
  /** Cursor: the seq of the last event seen. */
  before: number | null;
  limit: number;
}

/** The fact that says when the newest recorded backup was taken, in milliseconds since 1970. */
export const LAST_BACKUP = 'last_backup_at_ms';

export interface EventStore {
  /**
   * Stores events that no other change reports, with further rows of the same transaction. An event whose `dedupe` is
   * stored already has no effect.
   */
  emit(events: readonly NewEvent[], rows?: readonly unknown[]): Promise<void>;
  /** A fact that events depend on, such as since when a provider fails; '' if it was never stored. */
  readFact(name: string): Promise<string>;
  /** Stores the events and further rows if the fact still is `from`, and changes it. Throws Outpaced. */
  changeFact(
    fact: { name: string; from: string; to: string },
    events: readonly NewEvent[],
    rows?: readonly unknown[],
  ): Promise<void>;
  getEvent(seq: number): Promise<StoredEvent | null>;
  /** Newest first. */
  listEvents(page: EventPage, requester?: Requester): Promise<StoredEvent[]>;
}

/** One sentence in plain text, without a link. */
export function describeEvent({ type, data }: Pick<StoredEvent, 'type' | 'data'>): string {
  if ('unreadable' in data) return 'What is stored of this event cannot be read.';
  return (eventTypes[type].describe as (data: unknown) => string)(data);
}

/** Whether the account's own destinations may have the event. Others are for operators only. */
export function isForAccount({ type, account }: Pick<StoredEvent, 'type' | 'account'>): boolean {
  return account !== null && eventTypes[type].audience === 'account';
}

/** Whether one of the patterns matches: an exact type, `*`, or a group of types such as `payment.*`. */
export function matchesType(patterns: readonly string[], type: EventType): boolean {
  return patterns.some(
    (pattern) =>
      pattern === type || pattern === '*' || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  );
}

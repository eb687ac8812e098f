// The door of events: what happened, to be delivered to destinations. Pure: nothing is stored or sent here.

import { type EventData, type EventType, eventTypes } from './event-types.ts';

export {
  type Audience,
  type EventData,
  type EventType,
  eventTypes,
  isEventType,
  type Severity,
} from './event-types.ts';

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

/** One sentence in plain text, without a link. */
export function describeEvent({ type, data }: Pick<StoredEvent, 'type' | 'data'>): string {
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

// Counts the requests of this node that are refused before admission, by key, code and minute. A refusal that is counted
// already in its minute costs two lookups and allocates nothing, so that a flood of them takes no time from messages.

import { bounds } from '../config/config.ts';
import { type LimitScope, storableMessage, type TurnpikeError } from '../errors.ts';
import type { RefusalCount } from './traffic-store.ts';

const MINUTE_MS = 60_000;
const NONE = 0; // no id is 0

/** The caller, if the key is known. */
export type RefusedCaller = { account: { id: number }; key: { id: number } } | null;

interface Counted {
  readonly minuteMs: number;
  readonly account: number;
  readonly key: number;
  readonly code: string;
  status: number;
  message: string;
  scope?: LimitScope;
  lastAtMs: number;
  /** Since the counts were last taken. */
  count: number;
}

export interface RefusalBounds {
  /** Different counts of one minute. Beyond them, a count has neither key nor account. */
  rowsPerMinuteMax: number;
  /** Counts of the keys of one account, of those. Beyond them, a count has the account only. */
  rowsPerAccountMax: number;
  /** Counts that wait to be stored, such as while the store is unavailable. Beyond them, the oldest are forgotten. */
  rowsWaitingMax: number;
}

const usualBounds: RefusalBounds = {
  rowsPerMinuteMax: bounds.refusalRowsPerMinuteMax,
  rowsPerAccountMax: bounds.refusalRowsPerAccountMax,
  rowsWaitingMax: bounds.refusalRowsWaitingMax,
};

export class RefusalCounts {
  readonly #bounds: RefusalBounds;
  #minuteMs = 0;
  #untilMs = 0;
  /** Counts of the current minute by code, then by key; without a key by the negative account. */
  readonly #byCode = new Map<string, Map<number, Counted>>();
  #rows = 0;
  /** Counts of the current minute that have a key, by account. */
  readonly #rowsOf = new Map<number, number>();
  /** Counts that have changed since they were taken. */
  #changed: Counted[] = [];

  constructor(limits: RefusalBounds = usualBounds) {
    this.#bounds = limits;
  }

  /** Counts one refusal. `atMs` may lie before the current minute by a little. */
  count(failure: TurnpikeError, caller: RefusedCaller, atMs: number): void {
    if (atMs >= this.#untilMs) this.#beginMinute(atMs);
    const { code } = failure;
    const message = storableMessage(failure);
    const counted = this.#byCode.get(code)?.get(caller === null ? NONE : caller.key.id) ?? this.#find(code, caller);
    if (counted.count++ === 0) this.#changed.push(counted);
    counted.status = failure.status;
    counted.lastAtMs = atMs;
    if (failure.details.scope !== undefined) counted.scope = failure.details.scope;
    counted.message = message.length > bounds.refusalMessageCharactersMax ? copyStart(message) : message;
  }

  /** The counts since the last call, in the order of their identity: nodes that add to the same rows do so in one order. */
  take(): RefusalCount[] {
    const taken = this.#changed.map(takeCount);
    this.#changed = [];
    return taken.sort(compareCounts);
  }

  /** Counts that could not be stored, to be taken again. */
  putBack(counts: readonly RefusalCount[]): void {
    const before: Counted[] = [];
    for (const { atMs: minuteMs, account, key, ...rest } of counts) {
      const counted: Counted = { ...rest, minuteMs, account: account ?? NONE, key: key ?? NONE };
      const current = minuteMs === this.#minuteMs ? this.#byCode.get(rest.code)?.get(placeOf(counted)) : undefined;
      if (current === undefined) before.push(counted);
      else {
        if (current.count === 0) this.#changed.push(current);
        current.count += rest.count;
      }
    }
    this.#changed = this.#bounded([...before, ...this.#changed]);
  }

  /** Number of counts in memory. */
  get size(): number {
    return this.#rows + this.#changed.length;
  }

  #beginMinute(atMs: number): void {
    this.#minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    this.#untilMs = this.#minuteMs + MINUTE_MS;
    this.#byCode.clear();
    this.#rowsOf.clear();
    this.#rows = 0;
    this.#changed = this.#bounded(this.#changed);
  }

  /** The rest is forgotten, the oldest first: room for the counts of another minute is left. */
  #bounded(counts: Counted[]): Counted[] {
    const { rowsWaitingMax } = this.#bounds;
    return counts.length > rowsWaitingMax ? counts.slice(-rowsWaitingMax) : counts;
  }

  /** The count for a refusal that has none of its own: a new one, or one that it shares. */
  #find(code: string, caller: RefusedCaller): Counted {
    const { rowsPerMinuteMax, rowsPerAccountMax } = this.#bounds;
    if (caller === null) return this.#of(code, NONE, NONE);
    const account = caller.account.id;
    const rows = this.#rowsOf.get(account) ?? 0;
    if (this.#rows >= rowsPerMinuteMax) {
      // A count of the account that exists already is used; a new one would go beyond the bound.
      const shared = this.#byCode.get(code)?.get(-account);
      return shared ?? this.#of(code, NONE, NONE);
    }
    if (rows >= rowsPerAccountMax) return this.#of(code, account, NONE);
    this.#rowsOf.set(account, rows + 1);
    return this.#of(code, account, caller.key.id);
  }

  /** Counts without an account are as many as codes, beside the bound. */
  #of(code: string, account: number, key: number): Counted {
    let ofCode = this.#byCode.get(code);
    if (ofCode === undefined) {
      ofCode = new Map();
      this.#byCode.set(code, ofCode);
    }
    let counted = ofCode.get(key === NONE ? -account : key);
    if (counted === undefined) {
      counted = { minuteMs: this.#minuteMs, account, key, code, status: 0, message: '', lastAtMs: 0, count: 0 };
      ofCode.set(placeOf(counted), counted);
      this.#rows++;
    }
    return counted;
  }
}

/** Where the count is found under its code. */
function placeOf({ account, key }: Counted): number {
  return key === NONE ? -account : key;
}

function takeCount(counted: Counted): RefusalCount {
  const { minuteMs: atMs, account, key, code, status, count, lastAtMs, scope } = counted;
  const message = shownMessage(counted.message);
  counted.count = 0;
  return {
    atMs,
    account: account === NONE ? null : account,
    key: key === NONE ? null : key,
    code,
    status,
    count,
    lastAtMs,
    message,
    ...(scope !== undefined && { scope }),
  };
}

function compareCounts(one: RefusalCount, other: RefusalCount): number {
  return (
    one.atMs - other.atMs ||
    (one.key ?? NONE) - (other.key ?? NONE) ||
    (one.account ?? NONE) - (other.account ?? NONE) ||
    (one.code < other.code ? -1 : 1)
  );
}

/** A copy: part of a text would keep the whole in memory. */
function copyStart(message: string): string {
  return Buffer.from(message.slice(0, bounds.refusalMessageCharactersMax)).toString();
}

/** Keys of this service and of providers, which a client may have sent in another place, such as the model. */
const SECRETS = /\b(sk|tk|AIza|AKIA|gsk|xai|Bearer)([-_ ]?)[\w-]{12,}/g;

/** As it is stored: bounded, on one line, without control characters and secrets. */
export function shownMessage(message: string): string {
  return message
    .slice(0, bounds.refusalMessageCharactersMax)
    .replace(/[\p{C}\s]+/gu, ' ')
    .replace(SECRETS, '$1$2…');
}

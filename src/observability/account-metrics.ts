// Metrics of chosen accounts, each with the accounts below it. Few at any time: nobody adds series by creating accounts,
// by renaming or by moving them.

import { formatId } from '../base/ids.ts';
import { NANO_PER_USD, type Nano } from '../base/money.ts';
import { OTHER_VALUE } from '../base/tag-set-numbers.ts';
import { bounds } from '../config/config.ts';
import { type ErrorCode, errorTable } from '../errors.ts';
import type { MessageReport } from '../gateway/gateway.ts';
import type { Answered } from '../public-api/public-api.ts';
import type { GaugeReading, MetricRegistry, Reading } from './registry.ts';

/** An account that has series of its own. */
export interface ShownAccount {
  id: number;
  name: string;
  /** The account above. */
  parent: number | null;
}

/** Amounts that an account may still spend, in nanodollars. */
export interface AccountReading {
  /** The rest of its own balance and credit line; null if the account above pays. */
  available: Nano | null;
  limits: readonly {
    limit: 'allowance' | 'plan';
    window: 'total' | '5h' | 'day' | 'week' | 'month';
    amount: Nano;
    used: Nano;
    /** null: it does not end, or has not begun. */
    endsAtMs: number | null;
  }[];
}

export interface AccountReadings {
  /** The accounts to show now. */
  find(): Promise<readonly ShownAccount[]>;
  /** null: there is no such account. */
  read(account: number): Promise<AccountReading | null>;
}

const TOKEN_KINDS = ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'] as const;
const REFUSAL_REASONS = ['money', 'rate', 'access', 'request', 'service'] as const;
type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Since the start of this node, while the account was shown. */
class AccountCounts {
  messages = 0;
  costUsd = 0;
  readonly tokens: Record<(typeof TOKEN_KINDS)[number], number> = {
    input: 0,
    output: 0,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
  };
  readonly refusals: Record<RefusalReason, number> = { money: 0, rate: 0, access: 0, request: 0, service: 0 };

  count(record: MessageReport['record']): void {
    this.messages++;
    this.costUsd += record.cost / NANO_PER_USD;
    this.tokens.input += record.inputTokens;
    this.tokens.output += record.outputTokens;
    this.tokens.cache_read += record.cacheReadTokens;
    this.tokens.cache_write_5m += record.cacheWrite5mTokens;
    this.tokens.cache_write_1h += record.cacheWrite1hTokens;
  }
}

interface Shown extends ShownAccount {
  counts: AccountCounts;
}

export class AccountMetrics {
  #shown: ReadonlyMap<number, Shown> = new Map();
  /** Counts of accounts that are no longer shown, the latest last: one that returns continues its counters. */
  readonly #left = new Map<number, AccountCounts>();
  /** Counts of messages of no shown account, while there are shown ones. */
  readonly #others = new AccountCounts();
  #readings: AccountReadings | null = null;
  /** Read once per scrape, by the first of the gauges. */
  #limits: Promise<[string, AccountReading][]> | null = null;

  constructor(registry: MetricRegistry) {
    addCounters(registry, () => this.#counted());
    addGauges(registry, {
      shown: () => [...this.#shown.values()],
      limits: () => {
        this.#limits ??= this.#readLimits();
        return this.#limits;
      },
    });
  }

  begin(readings: AccountReadings): void {
    this.#readings = readings;
  }

  /** Before a scrape. Shows the former accounts if the present ones cannot be read. */
  async refresh(): Promise<void> {
    this.#limits = null;
    const found = await this.#readings?.find().catch(() => null);
    if (found) this.#show(found);
  }

  countMessage({ record, caller: { above } }: MessageReport): void {
    if (this.#shown.size === 0) return;
    let isShown = false;
    const own = this.#shown.get(record.account);
    if (own !== undefined) {
      own.counts.count(record);
      isShown = true;
    }
    for (const { id } of above) {
      const shown = this.#shown.get(id);
      if (shown === undefined) continue;
      shown.counts.count(record);
      isShown = true;
    }
    if (!isShown) this.#others.count(record);
  }

  /** A refusal of a request whose key is known. */
  countRefusal({ account, above }: NonNullable<Caller>, code: ErrorCode): void {
    if (this.#shown.size === 0) return;
    const reason = reasonOf(code);
    const shown = [account, ...above].flatMap(({ id }) => this.#shown.get(id) ?? []);
    if (shown.length === 0) this.#others.refusals[reason]++;
    for (const { counts } of shown) counts.refusals[reason]++;
  }

  #show(accounts: readonly ShownAccount[]): void {
    const before = this.#shown;
    const shown = new Map<number, Shown>();
    for (const account of accounts.slice(0, 2 * bounds.accountsInMetricsMax)) {
      const counts = before.get(account.id)?.counts ?? this.#left.get(account.id) ?? new AccountCounts();
      this.#left.delete(account.id);
      shown.set(account.id, { ...account, counts });
    }
    for (const { id, counts } of before.values()) if (!shown.has(id)) this.#left.set(id, counts);
    for (const id of this.#left.keys()) {
      if (this.#left.size <= bounds.accountCountsKeptMax) break;
      this.#left.delete(id);
    }
    this.#shown = shown;
  }

  #counted(): [string, AccountCounts][] {
    const shown = [...this.#shown.values()].map(({ id, counts }): [string, AccountCounts] => [
      formatId('acct', id),
      counts,
    ]);
    return [...shown, [OTHER_VALUE, this.#others]];
  }

  async #readLimits(): Promise<[string, AccountReading][]> {
    const found: [string, AccountReading][] = [];
    for (const id of this.#shown.keys()) {
      const reading = (await this.#readings?.read(id)) ?? null;
      if (reading !== null) found.push([formatId('acct', id), reading]);
    }
    return found;
  }
}

type Caller = NonNullable<Answered['clientRequest']>['caller'];

const REASON_OF_TYPE: Readonly<Record<string, RefusalReason>> = {
  billing_error: 'money',
  rate_limit_error: 'rate',
  authentication_error: 'access',
  permission_error: 'access',
};

function reasonOf(code: ErrorCode): RefusalReason {
  const { type, status } = errorTable[code];
  return REASON_OF_TYPE[type] ?? (status >= 500 ? 'service' : 'request');
}

function addCounters(registry: MetricRegistry, counted: () => [string, AccountCounts][]): void {
  const add = (
    name: string,
    help: string,
    labels: Record<string, readonly string[]>,
    read: (counts: AccountCounts) => [string[], number][],
  ) =>
    registry.reading({ name, help, labels: { account: null, ...labels } }, 'counter', () =>
      counted().flatMap(([account, counts]) =>
        read(counts).map(([values, value]): GaugeReading => [[account, ...values], value]),
      ),
    );
  add('turnpike_account_messages_total', 'Admitted messages that have ended, by account', {}, ({ messages }) => [
    [[], messages],
  ]);
  add('turnpike_account_tokens_total', 'Tokens of ended messages, by account', { kind: TOKEN_KINDS }, ({ tokens }) =>
    TOKEN_KINDS.map((kind) => [[kind], tokens[kind]]),
  );
  add('turnpike_account_cost_usd_total', 'Cost of ended messages at their prices, by account', {}, ({ costUsd }) => [
    [[], costUsd],
  ]);
  add(
    'turnpike_account_refusals_total',
    'Requests with a known key that were refused before admission, by account',
    { reason: REFUSAL_REASONS },
    ({ refusals }) => REFUSAL_REASONS.map((reason) => [[reason], refusals[reason]]),
  );
}

interface GaugeSources {
  shown(): Shown[];
  limits(): Promise<[string, AccountReading][]>;
}

function addGauges(registry: MetricRegistry, { shown, limits }: GaugeSources): void {
  const add = (name: string, help: string, labels: readonly string[], read: () => Reading | Promise<Reading>) => {
    const named = Object.fromEntries(['account', ...labels].map((label) => [label, null]));
    registry.reading({ name, help, labels: named }, 'gauge', read);
  };
  const ofLimits = async (value: (limit: AccountReading['limits'][number]) => number | null) =>
    (await limits()).flatMap(([account, reading]) =>
      reading.limits.flatMap((one): GaugeReading[] => {
        const of = value(one);
        return of === null ? [] : [[[account, one.limit, one.window], of]];
      }),
    );
  add('turnpike_account_info', 'Always 1; the labels give the name and the account above', ['name', 'parent'], () =>
    shown().map(({ id, name, parent }): GaugeReading => {
      const above = parent === null ? '' : formatId('acct', parent);
      return [[formatId('acct', id), name, above], 1];
    }),
  );
  add('turnpike_account_available_usd', 'Amount that balance and credit line of an account have left', [], async () =>
    (await limits()).flatMap(([account, { available }]): GaugeReading[] =>
      available === null ? [] : [[[account], available / NANO_PER_USD]],
    ),
  );
  const ofLimit = ['limit', 'window'];
  add('turnpike_account_limit_usd', 'Allowance of an account, or of its plan, in a window', ofLimit, () =>
    ofLimits(({ amount }) => amount / NANO_PER_USD),
  );
  add('turnpike_account_limit_used_usd', 'Used amount of the limit in its current window', ofLimit, () =>
    ofLimits(({ used }) => used / NANO_PER_USD),
  );
  add('turnpike_account_limit_end_timestamp_seconds', 'Time when the current window of the limit ends', ofLimit, () =>
    ofLimits(({ endsAtMs }) => (endsAtMs === null ? null : endsAtMs / 1000)),
  );
}

// A store with an account, a key and a lease, and short helpers for ledger tests. Every invariant is checked when a
// test ends.

import type { AccountTerms, KeyTerms } from '../../../src/accounts/accounts.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { newNumber } from '../../../src/base/ids.ts';
import {
  type Admit,
  type Answer,
  type Credit,
  checkLedger,
  type LedgerGate,
  type LedgerSums,
  type MessageGate,
  type Operation,
  type Owner,
  type RateLimits,
  type UsageRecord,
} from '../../../src/ledger/ledger.ts';
import type { Stores } from '../../../src/storage/stores.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

export interface OpenedStores {
  stores: Stores;
  sums(): LedgerSums | Promise<LedgerSums>;
  close(): void | Promise<void>;
}

export type OpenStores = (clock: Clock) => OpenedStores | Promise<OpenedStores>;

/** A Wednesday at noon. */
export const START_MS = Date.UTC(2026, 10, 18, 12);
export const NO_LIMITS: RateLimits = {
  requestsPerMinute: null,
  inputTokensPerMinute: null,
  outputTokensPerMinute: null,
  concurrency: null,
};
const KEY_TERMS: KeyTerms = { status: 'enabled', expiresAtMs: null, quota: null, quotaPeriod: 'total', ...NO_LIMITS };
const ACCOUNT_TERMS: AccountTerms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' };

export function usageRecord(facts: Pick<UsageRecord, 'requestId' | 'account' | 'key'> & Partial<UsageRecord>) {
  const record: UsageRecord = {
    above: [],
    payer: facts.account,
    person: null,
    atMs: 0,
    group: 'default',
    model: 'sandbox-echo',
    provider: 'sandbox',
    upstreamModel: 'sandbox-echo',
    stream: true,
    outcome: 'completed',
    status: 200,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWrite5mTokens: 0,
    cacheWrite1hTokens: 0,
    webSearches: 0,
    usageSource: 'reported',
    cost: 0,
    writtenOff: 0,
    planPaid: 0,
    providerCost: null,
    rates: { input: '1', multiplier: '1' },
    attempts: [
      {
        provider: 'sandbox',
        model: 'sandbox-echo',
        credential: null,
        result: 'ok',
        status: 200,
        reason: null,
        startedMs: 0,
        ms: 1,
      },
    ],
    admittedMs: null,
    latencyMs: 1,
    firstTokenMs: null,
    meters: null,
    tags: {},
    session: null,
    agent: null,
    tagSet: 0,
    error: null,
    ...facts,
  };
  return record;
}

/** Applies one operation: as a message would if the gate decides messages, else as a bundle. */
export async function ask(gate: LedgerGate | (LedgerGate & MessageGate), operation: Operation): Promise<Answer> {
  if ('admit' in gate) {
    const { kind } = operation;
    if (kind === 'admit' || kind === 'take') return gate.admit(operation);
    if (kind === 'extend' || kind === 'leave') return gate.change(operation);
    if (kind === 'settle' || kind === 'release')
      return (await gate.end(operation, Number.POSITIVE_INFINITY, [])) as Answer;
  }
  return submit(gate, operation);
}

/** Applies one operation as a bundle: its message may have ended, and a fault changes nothing. */
export async function submit(gate: LedgerGate, operation: Operation): Promise<Answer> {
  const [answer] = await gate.submit({ operations: [operation] });
  return answer as Answer;
}

/** Opens a store with one account of that balance, one key of those terms, and the lease of a node. */
export async function openWorkbench(
  open: OpenStores,
  balance: number,
  terms: Partial<KeyTerms> = {},
): Promise<Workbench> {
  const clock = manualClock(START_MS);
  const bench = new Workbench(clock, await open(clock));
  await bench.takeLease('node-1');
  bench.account = await bench.addAccount(balance);
  bench.key = await bench.addKey(terms);
  return bench;
}

export class Workbench {
  readonly clock: Clock & { advance(ms: number): void };
  readonly stores: Stores;
  /** Default account and key of operations. */
  account = 0;
  key = 0;
  owner: Owner = { node: 'none', epoch: 0 };
  readonly #opened: OpenedStores;
  #messages = 0;

  constructor(clock: Workbench['clock'], opened: OpenedStores) {
    this.clock = clock;
    this.stores = opened.stores;
    this.#opened = opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const report = checkLedger(await this.#opened.sums());
    await this.#opened.close();
    if (!report.ok) throw new Error(report.faults.join('\n'));
  }

  ask(operation: Operation): Promise<Answer> {
    return ask(this.stores.gate, operation);
  }

  submit(operation: Operation): Promise<Answer> {
    return submit(this.stores.gate, operation);
  }

  async takeLease(node: string): Promise<Owner> {
    const answer = await this.ask({ kind: 'renew', node, epoch: null, leaseMs: 15_000 });
    if (!answer.ok || answer.kind !== 'lease') throw new Error('the lease was not given');
    this.owner = { node, epoch: answer.epoch };
    return this.owner;
  }

  async addAccount(balance: number, terms: Partial<AccountTerms> = {}): Promise<number> {
    const id = newNumber();
    await this.stores.accounts.createAccount(
      { id, name: `account ${id}`, groups: ['default'], status: 'enabled', createdAtMs: this.clock.nowMs() },
      { ...ACCOUNT_TERMS, ...terms },
      balance === 0 ? null : { amount: balance, kind: 'payment', reference: null, note: null },
      noAuditContext,
    );
    return id;
  }

  async addKey(terms: Partial<KeyTerms> = {}, account = this.account, madeBy: string | null = null): Promise<number> {
    const id = newNumber();
    await this.stores.accounts.createKey(
      {
        id,
        accountId: account,
        name: `key ${id}`,
        prefix: 'sk-tp-abcd',
        groups: null,
        models: null,
        status: 'enabled',
        expiresAtMs: null,
        origins: null,
        addresses: null,
        madeBy,
        createdAtMs: this.clock.nowMs(),
      },
      `hash of ${id}`,
      { ...KEY_TERMS, ...terms },
      noAuditContext,
    );
    return id;
  }

  setAccount(terms: Partial<AccountTerms>): Promise<Answer> {
    return this.ask({ kind: 'set-account', account: this.account, terms: { ...ACCOUNT_TERMS, ...terms } });
  }

  setKey(terms: Partial<KeyTerms> & { person?: number }): Promise<Answer> {
    return this.ask({ kind: 'set-key', key: this.key, account: this.account, terms: { ...KEY_TERMS, ...terms } });
  }

  credit(amount: number, facts: Partial<Credit> = {}): Promise<Answer> {
    const credit = { amount, source: 'payment', reference: null, note: null } as const;
    return this.ask({ kind: 'credit', account: this.account, ...credit, ...facts });
  }

  admission(amount: number, facts: Partial<Admit> = {}): Admit {
    const of = {
      requestId: facts.requestId ?? `req_${++this.#messages}`,
      account: facts.account ?? this.account,
      key: facts.key ?? this.key,
    };
    return {
      kind: 'admit',
      ...of,
      group: 'default',
      limits: NO_LIMITS,
      amount,
      owner: this.owner,
      draft: { model: 'sandbox-echo', stream: false },
      ...facts,
    };
  }

  /** Tries to admit a message that holds `amount`. */
  admit(amount: number, facts: Partial<Admit> = {}): Promise<Answer> {
    return this.ask(this.admission(amount, facts));
  }

  /** Admits a message, which must succeed, and returns its request id. */
  async begin(amount: number, facts: Partial<Admit> = {}): Promise<string> {
    const admission = this.admission(amount, facts);
    const answer = await this.ask(admission);
    if (!answer.ok) throw new Error(`not admitted: ${JSON.stringify(answer)}`);
    return admission.requestId;
  }

  settle(requestId: string, cost: number, facts: Partial<UsageRecord> = {}): Promise<Answer> {
    return this.ask({ kind: 'settle', requestId, record: this.record(requestId, { cost, ...facts }) });
  }

  release(requestId: string): Promise<Answer> {
    const record = this.record(requestId, { outcome: 'failed', status: 502, usageSource: 'none' });
    return this.ask({ kind: 'release', requestId, record });
  }

  extend(requestId: string, amount: number, checkpoint: UsageRecord | null = null): Promise<Answer> {
    return this.ask({ kind: 'extend', requestId, amount, checkpoint });
  }

  record(requestId: string, facts: Partial<UsageRecord> = {}): UsageRecord {
    return usageRecord({ requestId, account: this.account, key: this.key, ...facts });
  }

  /** Balance and held amount of the account. */
  async wallet(): Promise<{ balance: number; held: number }> {
    const meters = await this.stores.ledger.accountMeters(this.account, this.clock.nowMs());
    if (meters === null) throw new Error('the account has no meters');
    return { balance: meters.balance, held: meters.held };
  }

  async entries(): Promise<{ kind: string; amount: number; debit: number; credit: number }[]> {
    const entries = await this.stores.ledger.listEntries({
      account: this.account,
      sinceMs: null,
      untilMs: null,
      before: null,
      limit: 100,
    });
    return entries.map(({ kind, amount, debit, credit }) => ({ kind, amount, debit, credit }));
  }
}

/** Returns the rejection of the promise. `expect(…).rejects` would block the answers of a worker thread. */
export async function failureOf(asked: unknown): Promise<unknown> {
  try {
    await asked;
  } catch (failure) {
    return failure;
  }
  throw new Error('it was not rejected');
}

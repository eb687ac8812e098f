// Random operations for the simulation, as clients, operators and failing nodes may send them: also repeated, late,
// or on rows of others. The same random numbers give the same operations.

import type {
  Admit,
  Attribution,
  BudgetTerms,
  CompanyTerms,
  Credit,
  Extend,
  Operation,
  Owner,
  PlanTerms,
  RateLimits,
  Reserve,
  SetAccount,
  SetKey,
  Settle,
  UsageRecord,
} from '../../../../src/ledger/ledger.ts';
import { START_MS, usageRecord } from '../workbench.ts';

/** Returns an integer from 0 to below `n`. */
export type Draw = (n: number) => number;

interface Message {
  requestId: string;
  account: number;
  key: number;
  group: string;
}

const PERIODS = ['total', 'day', 'week', 'month'] as const;
const GROUPS = ['default', 'vip', 'constructor'];
const MODELS = ['sandbox-echo', 'sandbox-lorem'];
const NODES = ['node-1', 'node-2', 'node-3'];
const SOURCES = ['payment', 'promotion', 'adjustment', 'write_off'] as const;
const OUTCOMES = [
  'completed',
  'completed',
  'upstream_cut',
  'service_cut',
  'client_gone',
  'quota_cut',
  'failed',
] as const;
const LEASE_MS = 15_000;
const LENGTHS = ['5h', 'day', 'week', 'month'] as const;
const PLANS = ['small', 'large'];
const DAY_MS = 86_400_000;
const OF_NOBODY = { status: 'enabled', quota: null, person: null } as const;

export class World {
  readonly accounts = [1001, 1002, 1003, 1004, 1005];
  readonly keys = [2001, 2002, 2003, 2004, 2005, 2006];
  readonly people = [3001, 3002, 3003];
  readonly #draw: Draw;
  readonly #leaseMs: number;
  readonly #admitted: Message[] = [];
  /** Money set aside, also of before, which was given back. */
  readonly #reserves: Message[] = [];
  readonly #owners = new Map<string, Owner>();
  #groupLimits = new Map<string, RateLimits>();
  #lastMessage = 0;
  #lastReserve = 0;
  #lastOfReserve: Admit | null = null;
  /** Operations with reserves, one after the other. */
  readonly #next: (() => Operation)[] = [];
  #lastReference = 0;
  #nowMs = START_MS;
  #anchorMs = START_MS;

  constructor(draw: Draw, leaseMs = LEASE_MS) {
    this.#draw = draw;
    this.#leaseMs = leaseMs;
  }

  /** Accounts, keys and leases at the start. */
  begin(): Operation[] {
    const operations: Operation[] = [];
    for (const account of this.accounts) {
      const parent = this.#draw(2) === 0 && account > 1001 ? 1001 : null;
      const company = { parent, paysFrom: this.#pick(['own', 'parent'] as const), personBudget: this.#budget() };
      const { terms, ...others } = this.#setAccount(account);
      operations.push({ ...others, terms: { ...terms, company } }, this.#credit(account, 500, 'payment'));
    }
    for (const person of this.people) operations.push({ kind: 'set-person', person, account: 1001, enabled: true });
    for (const key of this.keys) {
      const { terms, ...others } = this.#setKey(key);
      const person = this.#draw(2) === 0 ? null : this.#pick(this.people);
      operations.push({ ...others, account: this.#accountOf(key), terms: { ...terms, person } });
    }
    for (const node of NODES) operations.push({ kind: 'renew', node, epoch: null, leaseMs: this.#leaseMs });
    return operations;
  }

  /**
   * Notes an admitted message (it may be ended), a reserve (messages may be admitted from it), a new lease (its node admits under it), or a lost one (its node
   * starts again).
   */
  heard(operation: Operation, answer: Record<string, unknown>): void {
    if (operation.kind === 'admit' && answer['ok']) this.#admitted.push(operation);
    if (operation.kind === 'reserve' && answer['ok']) this.#reserves.push(operation);
    if (operation.kind !== 'renew') return;
    if (answer['ok']) this.#owners.set(operation.node, { node: operation.node, epoch: Number(answer['epoch']) });
    else if (answer['reason'] === 'ended') this.#owners.delete(operation.node);
  }

  /** Time that passes before the next batch. */
  pauseMs(): number {
    const ms = this.#drawPauseMs();
    this.#nowMs += ms;
    return ms;
  }

  #drawPauseMs(): number {
    const turn = this.#draw(100);
    if (turn < 40) return 0;
    if (turn < 80) return this.#draw(50);
    if (turn < 95 || this.#draw(2) === 0) return this.#draw(6_000);
    if (turn < 98) return this.#draw(3 * 3_600_000);
    return this.#draw(turn < 99 ? DAY_MS : 20 * DAY_MS);
  }

  bundle(): Operation[] {
    if (this.#draw(10) > 0) return [this.#operation()];
    return Array.from({ length: 2 + this.#draw(2) }, () => this.#operation());
  }

  #operation(): Operation {
    if (this.#draw(4) === 0) {
      const next = this.#next.shift();
      if (next !== undefined) return next();
    }
    const turn = this.#draw(100);
    if (turn < 26) return this.#admit();
    if (turn < 34) return this.#admitReserved();
    if (turn < 35) return this.#reserve();
    if (turn < 39) return this.#beginReserve();
    if (turn < 41) return { kind: 'give-back', requestId: this.#reserved().requestId };
    if (turn < 43) return this.#take();
    if (turn < 50) return this.#extend();
    if (turn < 53) return { kind: 'leave', requestId: this.#message().requestId };
    if (turn < 73) return this.#end();
    if (turn < 76) return this.#refund();
    if (turn < 81) return this.#credit(this.#pick(this.accounts), this.#draw(60) === 0 ? 400 : 120 - this.#draw(160));
    if (turn < 82) return this.#reversePayment(this.#pick(this.accounts));
    if (turn < 83) return this.#setAccount(this.#pick(this.accounts));
    if (turn < 84) return this.#setPerson(this.#pick(this.people));
    if (turn < 86) return this.#setKey(this.#pick(this.keys));
    if (turn < 90) return this.#plan(this.#pick([...this.accounts, ...this.accounts, 7]));
    if (turn < 98) return this.#renew();
    return { kind: 'expire' };
  }

  #admit(message = this.#draw(20) === 0 ? this.#message() : this.#newMessage()): Admit {
    const owner = this.#owners.get(this.#pick(NODES)) ?? { node: 'node-1', epoch: 1 };
    const stale = this.#draw(40) === 0 ? { ...owner, epoch: owner.epoch - 1 } : owner;
    const draft = { model: this.#pick(MODELS), stream: this.#draw(2) === 0, ...attributionOf(message.key) };
    const limits = this.#limitsOf(message.group);
    const least = this.#draw(2) === 0 ? {} : { least: this.#draw(60) };
    const alone = this.#draw(4) === 0 ? { isAloneIfShort: true } : {};
    const claim = this.#draw(2) === 0 ? {} : { claim: this.#claim() };
    return {
      kind: 'admit',
      ...message,
      limits,
      amount: this.#draw(80),
      ...least,
      ...alone,
      owner: stale,
      ...claim,
      draft,
    };
  }

  /** By the key of the reserve, mostly in its group. Sometimes the last one again, as after a lost answer. */
  #admitReserved({ requestId: reserve, account, key, group } = this.#reserved()): Operation {
    if (this.#lastOfReserve !== null && this.#draw(8) === 0) return this.#lastOfReserve;
    const message = this.#newMessage();
    const others = this.#draw(4) === 0 ? {} : { group };
    const done = this.#draw(3) === 0 ? { isDone: true as const } : {};
    const admit = this.#admit({ ...message, account, key, ...others });
    this.#lastOfReserve = { ...admit, claim: this.#claim(), reserve, ...done };
    return this.#lastOfReserve;
  }

  /** Begins a reserve. Messages are admitted from it later, and one of them is answered, while its rows change. */
  #beginReserve(): Operation {
    const reserve = this.#reserve();
    const { requestId, account, key, group } = reserve;
    const admit = () => this.#admitReserved({ requestId, account, key, group });
    const claimed = { ...this.#newMessage(), account, key, group };
    const claim = { name: `claim of ${requestId}`, requestHash: 'same' };
    const admitClaimed = (message = claimed) => ({ ...this.#admit(message), claim, reserve: requestId });
    const repeat = (): Operation => {
      const repeated = admitClaimed({ ...claimed, requestId: this.#newMessage().requestId });
      return { ...repeated, limits: { ...repeated.limits, requestsPerMinute: 30 } }; // a replay takes from this
    };
    const answer = () => ({ ...this.#settlement(claimed), isAnswer: true });
    const disturb = () => this.#disturb(reserve);
    this.#next.push(disturb, admit, admitClaimed, answer, repeat, disturb, admit);
    if (this.#draw(4) > 0) this.#next.push(() => ({ kind: 'give-back', requestId }));
    return reserve;
  }

  /** Changes a row that the reserve took from. */
  #disturb({ requestId, key }: Message): Operation {
    const account = this.#accountOf(key);
    const turn = this.#draw(8);
    if (turn === 0) return this.#setKey(key);
    if (turn === 1) return { kind: 'set-key', key, account, terms: { ...this.#setKey(key).terms, ...OF_NOBODY } };
    if (turn < 4) return this.#setAccount(account);
    if (turn < 6) return this.#plan(account);
    if (turn === 6) return this.#reversePayment(account);
    return { kind: 'extend', requestId, amount: this.#draw(250), checkpoint: null };
  }

  #reserve(): Reserve {
    const isAgain = this.#draw(8) === 0;
    const message = isAgain ? this.#reserved() : { ...this.#newMessage(), requestId: this.#newReserveId() };
    const draft = { model: this.#pick(MODELS), stream: false, ...attributionOf(message.key) };
    const amount = this.#draw(8) === 0 ? this.#draw(600) : this.#draw(90);
    return { kind: 'reserve', ...message, limits: this.#limitsOf(message.group), amount, draft };
  }

  #newReserveId(): string {
    return `rsv_${String(++this.#lastReserve).padStart(6, '0')}`;
  }

  /** Picks one of the last reserves, which may be given back, and rarely one that never existed. */
  #reserved(): Message {
    const { length } = this.#reserves;
    if (length === 0 || this.#draw(30) === 0) return { ...this.#newMessage(), requestId: this.#newReserveId() };
    const { requestId, account, key, group } = this.#reserves.at(-1 - this.#draw(Math.min(length, 4))) as Message;
    return { requestId, account, key, group };
  }

  /** Picks one of a few values, so that messages collide, and sometimes another one. */
  #claim() {
    return { name: `claim ${this.#draw(6)}`, requestHash: this.#draw(8) === 0 ? 'other' : 'same' };
  }

  #take(): Operation {
    const { account, key, group } = this.#newMessage();
    return { kind: 'take', account, key, group, limits: this.#limitsOf(group) };
  }

  #extend(): Operation {
    if (this.#draw(8) === 0) return { ...this.#extension(this.#reserved()), checkpoint: null };
    return this.#extension(this.#message());
  }

  #extension(message: Message): Extend {
    const checkpoint = this.#draw(2) === 0 ? null : this.#record(message, this.#draw(60));
    const amount = this.#draw(4) === 0 ? 'same' : this.#draw(150);
    return { kind: 'extend', requestId: message.requestId, amount, checkpoint };
  }

  #end(): Operation {
    const message = this.#message();
    const { requestId } = message;
    if (this.#draw(5) === 0) {
      const reserve = this.#draw(2) === 0 ? {} : { reserve: this.#reserved().requestId };
      return { kind: 'release', requestId, record: this.#record(message, 0), ...reserve };
    }
    return this.#settlement(message);
  }

  #settlement(message: Message): Settle {
    const { requestId } = message;
    const cost = this.#draw(8) === 0 ? this.#draw(400) : this.#draw(80);
    const isAnswer = this.#draw(3) === 0 ? {} : { isAnswer: this.#draw(2) === 0 };
    const reversalsMax = this.#draw(3) === 0 ? {} : { reversalsMax: 150 };
    const done = this.#draw(6) === 0 ? { isDone: true as const } : {};
    return { kind: 'settle', requestId, record: this.#record(message, cost), ...isAnswer, ...reversalsMax, ...done };
  }

  #refund(): Operation {
    const amount = this.#draw(2) === 0 ? 'all' : this.#draw(30);
    return { kind: 'refund', requestId: this.#message().requestId, amount, note: null };
  }

  #credit(account: number, amount: number, source: Credit['source'] = this.#pick(SOURCES)): Operation {
    const reference =
      this.#draw(3) === 0 ? null : `reference ${this.#draw(5) === 0 ? this.#lastReference : ++this.#lastReference}`;
    // Debts are small, and so are write-offs of them. Some exceed the debt.
    const given = source === 'write_off' ? this.#draw(15) : amount;
    return { kind: 'credit', account, amount: given, source, reference, note: null };
  }

  #reversePayment(account: number): Operation {
    const credit = this.#credit(account, -1 - this.#draw(250), 'payment');
    return { ...credit, isForced: true } as Operation;
  }

  #plan(account: number): Operation {
    const turn = this.#draw(10);
    const plan = this.#draw(8) === 0 ? null : this.#planTerms();
    if (turn < 5) return { kind: 'set-plan', account, plan, ...(this.#draw(3) === 0 && { keepsOverflow: true }) };
    if (turn < 7) {
      const amount = this.#draw(3) === 0 ? -20 : 20;
      const reference = `reference ${this.#draw(4) === 0 ? this.#lastReference : ++this.#lastReference}`;
      return { kind: 'plan-payment', account, amount, reference, note: null };
    }
    const { windows, groups, overflow } = this.#planTerms();
    const changes = this.#pick([{ windows }, { groups }, { overflow }, { windows, groups }]);
    return { kind: 'change-plan', account, name: this.#pick(PLANS), changes };
  }

  #planTerms(): PlanTerms {
    const lengths = LENGTHS.filter(() => this.#draw(2) === 0);
    const windows = (lengths.length === 0 ? [this.#pick(LENGTHS)] : lengths).map((length) => ({
      length,
      limit: this.#draw(400),
    }));
    if (this.#draw(3) === 0) this.#anchorMs = this.#nowMs - this.#draw(40) * this.#draw(DAY_MS);
    const paidUntilMs = this.#draw(2) === 0 ? null : this.#nowMs + this.#draw(10 * DAY_MS) - DAY_MS;
    const endsAtMs = this.#draw(2) === 0 ? null : (paidUntilMs ?? this.#nowMs) + this.#draw(4 * DAY_MS);
    const groups = this.#draw(3) > 0 ? null : GROUPS.filter(() => this.#draw(2) === 0);
    const overflow = this.#draw(2) === 0;
    return { name: this.#pick(PLANS), windows, groups, anchorMs: this.#anchorMs, paidUntilMs, endsAtMs, overflow };
  }

  #setAccount(account: number): SetAccount {
    const allowance = this.#draw(2) === 0 ? null : this.#draw(400);
    const terms = { enabled: this.#draw(12) > 0, creditLine: this.#draw(3) * 20, allowance };
    const company = this.#draw(3) === 0 ? {} : { company: this.#company() };
    return { kind: 'set-account', account, terms: { ...terms, allowancePeriod: this.#pick(PERIODS), ...company } };
  }

  #company(): Partial<CompanyTerms> {
    const parent = this.#draw(4) === 0 ? null : this.#pick([...this.accounts, ...this.accounts, 7]);
    const paysFrom = this.#pick(['own', 'parent'] as const);
    return { parent, paysFrom, personBudget: this.#draw(3) === 0 ? null : this.#budget() };
  }

  #budget(): BudgetTerms {
    const limits = LENGTHS.filter(() => this.#draw(2) === 0).map((length) => ({ length, limit: this.#draw(150) }));
    return { limits, stops: this.#draw(3) > 0 };
  }

  #setPerson(person: number): Operation {
    const account = this.#draw(3) > 0 ? 1001 : this.#pick([...this.accounts, ...this.accounts, 7]);
    const terms = this.#draw(3) === 0 ? this.#pick([null, 'default'] as const) : this.#budget();
    const budget = this.#draw(2) === 0 ? {} : { budget: { account: this.#pick(this.accounts), terms } };
    return { kind: 'set-person', person, account, enabled: this.#draw(10) > 0, ...budget };
  }

  #setKey(key: number): SetKey {
    const account = this.#draw(30) === 0 ? this.#pick(this.accounts) : this.#accountOf(key);
    const status = this.#draw(12) === 0 ? this.#pick(['disabled', 'revoked'] as const) : 'enabled';
    const quota = this.#draw(2) === 0 ? null : this.#draw(300);
    const terms = { status, expiresAtMs: null, quota, quotaPeriod: this.#pick(PERIODS), ...this.#limits() } as const;
    const person = this.#draw(3) === 0 ? {} : { person: this.#draw(8) === 0 ? null : this.#pick([...this.people, 7]) };
    return { kind: 'set-key', key, account, terms: { ...terms, ...person } };
  }

  #renew(): Operation {
    const node = this.#pick(NODES);
    const isNew = this.#draw(12) === 0;
    return {
      kind: 'renew',
      node,
      epoch: isNew ? null : (this.#owners.get(node)?.epoch ?? null),
      leaseMs: this.#leaseMs,
    };
  }

  #limits(): RateLimits {
    const limit = (most: number) => (this.#draw(3) > 0 ? null : this.#draw(most));
    return {
      requestsPerMinute: limit(40),
      inputTokensPerMinute: limit(1500),
      outputTokensPerMinute: limit(1500),
      concurrency: limit(6),
    };
  }

  /** Limits of a group, which an operator changes now and then. */
  #limitsOf(group: string): RateLimits {
    const known = this.#groupLimits.get(group);
    if (known !== undefined && this.#draw(30) > 0) return known;
    const limits = this.#limits();
    this.#groupLimits.set(group, limits);
    return limits;
  }

  #newMessage(): Message {
    const key = this.#pick(this.keys);
    const account = this.#draw(60) === 0 ? this.#pick([...this.accounts, 7]) : this.#accountOf(key);
    const requestId = `req_${String(++this.#lastMessage).padStart(6, '0')}`;
    return { requestId, account, key, group: this.#pick(GROUPS) };
  }

  /** Picks a recent message, or any at all, and rarely one that never existed. */
  #message(): Message {
    const { length } = this.#admitted;
    if (length === 0 || this.#draw(50) === 0) return this.#newMessage();
    const recent = this.#draw(6) === 0 ? length : Math.min(length, 8);
    const { requestId, account, key, group } = this.#admitted.at(-1 - this.#draw(recent)) ?? this.#newMessage();
    return { requestId, account, key, group };
  }

  #record(message: Message, cost: number): UsageRecord {
    return usageRecord({
      ...message,
      model: this.#pick(MODELS),
      stream: this.#draw(2) === 0,
      inputTokens: this.#draw(300),
      outputTokens: this.#draw(300),
      cacheReadTokens: this.#draw(300),
      cacheWrite5mTokens: this.#draw(20),
      cacheWrite1hTokens: this.#draw(20),
      providerCost: this.#draw(2) === 0 ? null : this.#draw(30),
      outcome: this.#pick(OUTCOMES),
      cost,
      provider: cost % 5 === 0 ? null : 'sandbox',
      ...attributionOf(cost),
      ...unitsOf(cost),
    });
  }

  #accountOf(key: number): number {
    return this.accounts[key % this.accounts.length] ?? 0;
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[this.#draw(values.length)] as Value;
  }
}

/** None, units that are a part of the cost or all of it, or those of an older record. */
function unitsOf(cost: number): Partial<UsageRecord> {
  if (cost % 4 === 0) return {};
  const units = { counts: { images: 1 + (cost % 3), input_image_tokens: cost }, image: null };
  if (cost % 4 === 1) return { units };
  const images = Math.floor(cost / 3);
  return { units, unitCosts: { input_image_tokens: cost % 4 === 2 ? images : cost - images, images } };
}

/** One of a few attributions, and sometimes that of an older record. */
function attributionOf(number: number): Partial<Attribution> {
  if (number % 3 === 0) return {};
  return {
    tags: { team: 'search' },
    tagSet: number % 7 === 0 ? null : number % 3,
    ...(number % 5 === 0 && { totalsLackGroup: true as const }),
  };
}

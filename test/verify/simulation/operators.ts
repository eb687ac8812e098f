// Operators: credit with references, again where its answer was lost, corrections, terms that change under
// messages that run, refunds of what was billed.

import type {
  Answer,
  BudgetTerms,
  Credit,
  Operation,
  PlanTerms,
  SetAccount,
  SetKey,
  SetPerson,
} from '../../../src/ledger/ledger.ts';
import type { Chance } from './chance.ts';
import { Process } from './scheduler.ts';
import type { World } from './world.ts';

const CREDIT_TRIES = 5;
const PAYMENTS_MAX = 6; // whose reversals are drawn
const BONUS_PERCENTS = [3, 10, 25];
const NO_CREDIT = { kind: 'credit', note: null } as const;
const NO_RATES = { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null } as const;
const LENGTHS = ['5h', 'day', 'week', 'month'] as const;
const PLANS = ['small', 'large'];
const DAY_MS = 86_400_000;
const RUN_MS = 10 * 60_000; // some ends of windows and plans fall into a run
const PERIODS = ['total', 'day', 'week', 'month'] as const;

/** A payment with a bonus. Its parts are changed together, by the next version. */
interface Payment {
  name: string;
  account: number;
  amount: number;
  bonus: number;
  version: number;
  credited: number;
}

/** Actions of operators in one run. */
export interface Rule {
  pauseMsMax: number;
  creditMax: number;
  /** Null: nothing of that kind is bounded. */
  quotaMax: number | null;
  allowanceMax: number | null;
  creditLineMax: number;
  concurrencyMax: number | null;
}

export class Operators {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #rule: Rule;
  readonly #process = new Process();
  #references = 0;
  /** Those of which no change is on its way. */
  readonly #payments: Payment[] = [];
  isStopped = false;

  constructor(world: World, rule: Rule) {
    this.#world = world;
    this.#chance = world.chance;
    this.#rule = rule;
  }

  /** The accounts and keys, with a first payment each. */
  firstTerms(): Operation[] {
    const operations: Operation[] = [];
    for (const [at, account] of this.#world.accounts.entries())
      operations.push(
        {
          kind: 'set-account',
          account,
          terms: {
            ...{ enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
            ...this.#firstPlace(at),
          },
        },
        this.#credit(account, this.#rule.creditMax),
      );
    for (const { person, account } of this.#world.people)
      operations.push({ kind: 'set-person', person, account, enabled: true, ...this.#exception(account) });
    for (const { key, account, person } of this.#world.callers) {
      const { terms, ...others } = this.#setKey(key, account, 'enabled');
      operations.push({ ...others, terms: { ...terms, person } });
    }
    return operations;
  }

  /** Each account with up to four below it, on three levels. */
  #firstPlace(at: number): Pick<SetAccount['terms'], 'company'> {
    if (this.#world.people.length === 0) return {};
    const parent = at === 0 ? null : (this.#world.accounts[Math.ceil(at / 4) - 1] ?? null);
    const mayBeBelow = at === 0 || Math.ceil(at / 4) - 1 <= 4;
    const paysFrom = this.#chance.is(0.6) ? 'parent' : 'own';
    return { company: { parent: mayBeBelow ? parent : null, paysFrom, personBudget: this.#budget() } };
  }

  #budget(): BudgetTerms | null {
    const { allowanceMax } = this.#rule;
    if (allowanceMax === null || this.#chance.is(0.3)) return null;
    const limits = LENGTHS.filter(() => this.#chance.is(0.4)).map((length) => ({
      length,
      limit: this.#chance.below(allowanceMax),
    }));
    return { limits, stops: this.#chance.is(0.8) };
  }

  #exception(account: number): Pick<SetPerson, 'budget'> {
    if (this.#chance.is(0.6)) return {};
    return { budget: { account, terms: this.#chance.is(0.2) ? 'default' : this.#budget() } };
  }

  start(): void {
    if (this.isStopped) return;
    this.#act();
    this.#world.scheduler.after(this.#chance.below(this.#rule.pauseMsMax), this.#process, () => this.start());
  }

  #act(): void {
    const chance = this.#chance;
    const account = chance.pick(this.#world.accounts);
    const { key, account: ofKey } = chance.pick(this.#world.callers);
    const turn = chance.below(27);
    if (turn >= 24) this.#payOrReverse(account);
    else if (turn >= 20) this.#changePlan(account, turn);
    else if (turn < 8) this.#giveCredit(this.#credit(account, chance.below(this.#rule.creditMax)), 1);
    else if (turn < 10) void this.#ask(this.#credit(account, -chance.between(1, this.#rule.creditMax)));
    else if (turn < 13) void this.#ask(this.#chance.is(0.4) ? this.#setCompany(account) : this.#setAccount(account));
    else if (turn < 16)
      void this.#ask(this.#setKey(key, ofKey, chance.is(0.2) ? chance.pick(['disabled', 'revoked']) : 'enabled'));
    else if (turn === 16)
      void this.#ask({
        kind: 'credit',
        account,
        amount: chance.between(1, 50),
        source: 'write_off',
        reference: null,
        note: null,
      });
    else this.#refund();
  }

  /** Again with the same reference until its answer comes; and now and then once more after that. */
  async #giveCredit(credit: Credit, tries: number): Promise<void> {
    const { auditor, trace, scheduler } = this.#world;
    const again = () =>
      scheduler.after(this.#chance.between(10, 3_000), this.#process, () => void this.#giveCredit(credit, tries + 1));
    const answer = await this.#ask(credit);
    if (answer?.ok === true && answer.kind === 'credited' && credit.reference !== null) {
      auditor.credited(credit.account, credit.reference, answer.amount);
      if (answer.repeated) trace.count('credit repeated');
      if (tries === 1 && this.#chance.is(0.3)) again();
    }
    if (answer === null && tries < CREDIT_TRIES) again();
  }

  /** A payment is made, or a part of one is taken back or given again, and the same part of its bonus. */
  #payOrReverse(account: number): void {
    const chance = this.#chance;
    const paid = this.#payments.length > 0 && chance.is(0.6) ? chance.pick(this.#payments) : null;
    const amount = paid?.amount ?? chance.between(1, this.#rule.creditMax);
    const bonus = paid?.bonus ?? Math.floor((amount * chance.pick(BONUS_PERCENTS)) / 100);
    const payment = paid ?? { name: `p${++this.#references}`, account, amount, bonus, version: 0, credited: 0 };
    if (paid === null) this.#world.auditor.payments.set(payment.name, { amount, bonus });
    else this.#payments.splice(this.#payments.indexOf(paid), 1);
    const credited = paid === null ? amount : chance.pick([0, amount, chance.below(amount + 1)]);
    void this.#changePayment(payment, credited, 1);
  }

  /** Again until its answer comes; then others may change it. */
  async #changePayment(payment: Payment, credited: number, tries: number): Promise<void> {
    const { name, account, amount, bonus } = payment;
    const version = payment.version + 1;
    const bonusOf = (part: number) => Math.floor((bonus * part) / amount);
    const part = (source: Credit['source'], reference: string, change: number): Credit[] =>
      change === 0 ? [] : [{ ...NO_CREDIT, account, amount: change, source, reference, isForced: change < 0 }];
    const operations = [
      ...part('payment', `paid:${name}:${version}`, credited - payment.credited),
      ...part('promotion', `bonus:${name}:${version}`, bonusOf(credited) - bonusOf(payment.credited)),
    ];
    const [first, ...others] = operations;
    if (first !== undefined && (await this.#ask(first, ...others)) === null) {
      const again = () => void this.#changePayment(payment, credited, tries + 1);
      if (tries < CREDIT_TRIES) this.#world.scheduler.after(this.#chance.between(10, 3_000), this.#process, again);
      return;
    }
    if (this.#payments.length < PAYMENTS_MAX) this.#payments.push({ ...payment, version, credited });
  }

  /** Payments are reversed whatever is left of them, and plans are given, changed, paid and ended. */
  #changePlan(account: number, turn: number): void {
    const chance = this.#chance;
    if (turn === 20) void this.#ask({ ...this.#credit(account, -1, 'payment'), ...this.#reversal() });
    else if (turn < 23) void this.#ask({ kind: 'set-plan', account, plan: chance.is(0.2) ? null : this.#planTerms() });
    else if (chance.is(0.5)) {
      const { windows, groups, overflow } = this.#planTerms();
      const changes = chance.pick([{ windows }, { groups }, { overflow }]);
      void this.#ask({ kind: 'change-plan', account, name: chance.pick(PLANS), changes });
    } else {
      const reference = `reference ${++this.#references}`;
      void this.#ask({ kind: 'plan-payment', account, amount: chance.is(0.2) ? -9 : 9, reference, note: null });
    }
  }

  #reversal(): Pick<Credit, 'amount' | 'isForced'> {
    return { amount: -this.#chance.between(1, this.#rule.creditMax), isForced: true };
  }

  /** Windows that end within the run, among others. */
  #planTerms(): PlanTerms {
    const chance = this.#chance;
    const nowMs = this.#world.database.nowMs();
    const lengths = LENGTHS.filter(() => chance.is(0.5));
    const windows = (lengths.length === 0 ? (['day'] as const) : lengths).map((length) => ({
      length,
      limit: chance.below(this.#rule.creditMax),
    }));
    const soonMs = () => nowMs + chance.below(RUN_MS);
    const paidUntilMs = chance.is(0.5) ? null : soonMs();
    return {
      name: chance.pick(PLANS),
      windows,
      groups: chance.is(0.7) ? null : [chance.pick(['default', 'vip'])],
      anchorMs: soonMs() - 7 * DAY_MS,
      paidUntilMs,
      endsAtMs: chance.is(0.5) ? null : soonMs(),
      overflow: chance.is(0.5),
    };
  }

  #refund(): void {
    const ended = [...this.#world.auditor.endings].slice(-12);
    if (ended.length === 0) return;
    // Those that expired at a cost may yet be corrected by their owners.
    const expired = ended.filter(([, { record, endedBy }]) => endedBy === 'expired' && record.cost > 0);
    const [requestId] = this.#chance.pick(expired.length > 0 && this.#chance.is(0.5) ? expired : ended);
    const amount = this.#chance.is(0.5) ? 'all' : this.#chance.between(1, 40);
    void this.#ask({ kind: 'refund', requestId, amount, note: null });
  }

  /** On a node that is there. Null: it has no answer, and the ledger may have done it all the same. */
  async #ask(...operations: [Operation, ...Operation[]]): Promise<Answer | null> {
    const { nodes, trace } = this.#world;
    const up = nodes.flatMap(({ run }) => (run === null ? [] : [run]));
    if (up.length === 0) return null;
    try {
      const answers = await this.#chance.pick(up).ledger.submit({ operations });
      for (const [at, answer] of answers.entries())
        trace.count(`${operations[at]?.kind}: ${answer.ok ? 'done' : answer.reason}`);
      return answers[0] ?? null;
    } catch (failure) {
      if ((failure as { code?: string }).code !== 'store_unavailable')
        trace.fail(`an operator was told ${(failure as Error).stack}`);
      return null;
    }
  }

  #credit(account: number, amount: number, of?: Credit['source']): Credit {
    const source = of ?? (amount < 0 ? 'adjustment' : this.#chance.pick(['payment', 'promotion'] as const));
    return {
      kind: 'credit',
      account,
      amount: amount || 1,
      source,
      reference: `reference ${++this.#references}`,
      note: null,
    };
  }

  /** A person changes, or an account moves. */
  #setCompany(account: number): Operation {
    const chance = this.#chance;
    const { people, accounts } = this.#world;
    if (people.length === 0) return this.#setAccount(account);
    const { person, account: own } = chance.pick(people);
    if (chance.is(0.5))
      return { kind: 'set-person', person, account: own, enabled: chance.is(0.8), ...this.#exception(own) };
    const parent = chance.is(0.3) ? null : chance.pick(accounts);
    const paysFrom = chance.pick(['own', 'parent'] as const);
    const { terms, ...others } = this.#setAccount(account);
    return { ...others, terms: { ...terms, company: { parent, paysFrom, personBudget: this.#budget() } } };
  }

  #setAccount(account: number): SetAccount {
    const { allowanceMax, creditLineMax } = this.#rule;
    const allowance = allowanceMax === null || this.#chance.is(0.5) ? null : this.#chance.below(allowanceMax);
    const terms = { enabled: this.#chance.is(0.85), creditLine: this.#chance.below(creditLineMax + 1), allowance };
    return { kind: 'set-account', account, terms: { ...terms, allowancePeriod: this.#chance.pick(PERIODS) } };
  }

  #setKey(key: number, account: number, status: 'enabled' | 'disabled' | 'revoked'): SetKey {
    const { quotaMax, concurrencyMax } = this.#rule;
    const quota = quotaMax === null || this.#chance.is(0.5) ? null : this.#chance.below(quotaMax);
    const concurrency =
      concurrencyMax === null || this.#chance.is(0.5) ? null : this.#chance.between(1, concurrencyMax);
    const terms = {
      status,
      expiresAtMs: null,
      quota,
      quotaPeriod: this.#chance.pick(PERIODS),
      ...NO_RATES,
      concurrency,
    };
    return { kind: 'set-key', key, account, terms };
  }
}

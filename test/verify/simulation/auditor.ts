// Holds every commit against the invariants of the ledger. It keeps sums of its own of what was written, so that
// each step costs only what it touched, and knows of every message what its end asked for.

import {
  type AccountRow,
  type Admit,
  type Bundle,
  type Changes,
  type Ending,
  type Extend,
  type HoldRow,
  type LeaseRow,
  type NewEntry,
  RESERVED,
  type Reserve,
} from '../../../src/ledger/ledger.ts';
import type { MemoryTables } from '../../support/memory-store/memory-store.ts';
import { ClaimsAudit } from './claims-audit.ts';
import {
  accountOverrun,
  budgetOverrun,
  countEntry,
  countHold,
  findBrokenMeters,
  keyOverrun,
  type MeterSums,
  noSums,
  planOverrun,
} from './meter-sums.ts';
import type { Trace } from './trace.ts';

const REVENUE = 3;
const CREDITS = ['payment', 'promotion', 'adjustment', 'debt_write_off'];

/** The cost that a message submitted at its end; null before. */
export interface Truth {
  cost: number | null;
  isAnswer: boolean;
  /** A whole message whose client gets an error where someone else ended its hold: it costs nothing then. */
  isFreeWhenLate: boolean;
}

/** One batch: what it did, and what was asked for. */
interface Commit {
  changes: Changes;
  nowMs: number;
  admitted: Map<string, Admit>;
  extended: Map<string, Extend[]>;
  reserved: Map<string, Reserve>;
  givenBack: Set<string>;
  /** Accounts and keys whose terms it may have changed. */
  termsSet: Set<number>;
}

export class Auditor {
  readonly truths = new Map<string, Truth>();
  /** Whether the node that admitted this message still has it. */
  isRunning: (requestId: string) => boolean = () => false;
  readonly sums: MeterSums = noSums();
  readonly holds = new Map<string, HoldRow>();
  readonly endings = new Map<string, Ending>();
  readonly #tables: MemoryTables;
  readonly #trace: Trace;
  readonly #leases = new Map<string, LeaseRow>();
  readonly #overruns = new Map<string, number>();
  /** Billed and refunded amounts of a message's entries. */
  readonly #billed = new Map<string, number>();
  readonly #refunded = new Map<string, number>();
  /** Cost of a message when it expired. */
  readonly #expiredAt = new Map<string, number>();
  /** Nodes with epochs of which a hold has expired. */
  readonly #pastEpochs = new Set<string>();
  readonly #credited = new Map<string, number>();
  /** The whole amount and bonus of each payment, by name. */
  readonly payments = new Map<string, { amount: number; bonus: number }>();
  readonly #paid = new Map<string, { paid: number; bonus: number }>();
  readonly #claims: ClaimsAudit;

  constructor(tables: MemoryTables, trace: Trace) {
    this.#tables = tables;
    this.#trace = trace;
    this.#claims = new ClaimsAudit(this, (fault) => trace.fail(fault));
  }

  /** Whether a repeated admission finds its message, or an owner whose lease has lapsed. */
  isDecided({ requestId, owner }: Admit): boolean {
    const isKnown = this.holds.has(requestId) || this.endings.has(requestId);
    return isKnown || this.#leases.get(owner.node)?.epoch !== owner.epoch;
  }

  /** After each commit. `nowMs`: by the store's clock. */
  committed(bundles: readonly Bundle[], changes: Changes, nowMs: number): void {
    const commit = describe(bundles, changes, nowMs);
    for (const entry of changes.entries) this.#addEntry(entry);
    this.#compareBonuses(changes.entries);
    this.#compareReserves(commit);
    for (const ending of changes.endings) this.#addEnding(commit, ending);
    for (const [requestId, hold] of changes.holds) this.#changeHold(commit, requestId, hold);
    for (const ending of changes.corrections) {
      this.#correctEnding(ending);
      if (ending.endedBy === 'forgiven') this.#claims.reversed(ending.record.requestId, changes);
    }
    for (const { record } of [...changes.endings, ...changes.corrections]) this.#compareBill(record.requestId);
    for (const lease of changes.leases.values()) this.#changeLease(commit, lease);
    for (const fault of findBrokenMeters(this.sums, changes)) this.#trace.fail(fault);
    for (const { requestId, key, claim } of commit.admitted.values()) {
      const isBegun = this.holds.has(requestId) || this.endings.has(requestId);
      if (claim !== undefined && isBegun) this.#claims.began(requestId, key, claim.name);
    }
    this.#claims.committed(changes, nowMs);
    this.#compareOverruns(commit);
    this.#trace.note(`commit ${nowMs} of ${bundles.length}: ${[...changes.holds.keys()]}; ${changes.entries.length}`);
  }

  /** A node got this result for its message: the rows must have it, at this cost. */
  acknowledged(requestId: string, cost: number): void {
    const ending = this.#tables.endings.get(requestId);
    if (ending === undefined) {
      this.#trace.fail(`${requestId} was acknowledged, and no row has its end`);
      return;
    }
    const { record, endedBy } = ending;
    const { isAnswer = false } = this.truths.get(requestId) ?? {};
    if (isAnswer && endedBy !== 'settled') this.#trace.fail(`${requestId} was told complete, and has ${endedBy}`);
    if (isAnswer) this.#claims.told(requestId);
    const refunded = this.#refunded.get(requestId) ?? 0;
    if (endedBy !== 'forgiven' && (cost < record.cost || cost > record.cost + refunded))
      this.#trace.fail(
        `${requestId} was acknowledged at ${cost}, and its row has ${record.cost} and ${refunded} refunded`,
      );
  }

  /** An operator got this credited amount for the reference. */
  credited(account: number, reference: string, amount: number): void {
    const given = this.#credited.get(`${account} ${reference}`);
    if (given !== amount)
      this.#trace.fail(`the credit ${reference} of ${account} was told to be ${amount}, and is ${given}`);
  }

  #addEntry(entry: NewEntry): void {
    const { account, debit, credit, amount, kind, reference } = entry;
    if (debit === credit || !(amount > 0)) this.#trace.fail(`an entry moves ${amount} from ${debit} to ${credit}`);
    countEntry(this.sums, entry);
    if (kind === 'debt') this.#trace.count(credit === account ? 'debt began' : 'debt paid');
    if (reference === null) return;
    if (CREDITS.includes(kind)) {
      const name = `${account} ${reference}`;
      if (this.#credited.has(name)) this.#trace.fail(`the credit ${reference} was given to ${account} twice`);
      this.#credited.set(name, credit === account ? amount : -amount);
      return;
    }
    this.#billed.set(reference, (this.#billed.get(reference) ?? 0) + (credit === REVENUE ? amount : -amount));
    if (kind === 'refund') this.#refunded.set(reference, (this.#refunded.get(reference) ?? 0) + amount);
  }

  /** The same part of each payment and of its bonus is credited, after every commit. */
  #compareBonuses(entries: readonly NewEntry[]): void {
    const changed = new Set<string>();
    for (const { account, credit, amount, reference } of entries) {
      const [kind, name = ''] = reference?.split(':') ?? [];
      if (kind !== 'paid' && kind !== 'bonus') continue;
      const sums = this.#paid.get(name) ?? { paid: 0, bonus: 0 };
      sums[kind] += credit === account ? amount : -amount;
      this.#paid.set(name, sums);
      changed.add(name);
      if (kind === 'bonus') this.#trace.count(credit === account ? 'bonus credited' : 'bonus taken back');
    }
    for (const name of changed) {
      const { paid = 0, bonus = 0 } = this.#paid.get(name) ?? {};
      const whole = this.payments.get(name) ?? { amount: 1, bonus: 0 };
      if (paid < 0 || paid > whole.amount) this.#trace.fail(`${paid} of the payment ${name} are credited`);
      if (bonus !== Math.floor((whole.bonus * paid) / whole.amount))
        this.#trace.fail(`${bonus} of the bonus of ${name} are credited with ${paid} of ${whole.amount}`);
    }
  }

  #changeHold(commit: Commit, requestId: string, hold: HoldRow | null): void {
    const known = this.holds.get(requestId);
    if (known !== undefined) countHold(this.sums, known, -1);
    if (hold !== null) {
      if (known === undefined) this.#checkBegin(commit, hold);
      if (this.endings.has(requestId)) this.#trace.fail(`${requestId} has ended, and holds`);
      this.holds.set(requestId, hold);
      countHold(this.sums, hold, 1);
      return;
    }
    this.holds.delete(requestId);
    if (known?.owner.node === RESERVED.node) {
      if (!commit.givenBack.has(requestId)) this.#trace.fail(`${requestId} is gone, and nobody has given it back`);
      if (this.endings.has(requestId)) this.#trace.fail(`${requestId} is a reserve, and is billed`);
    } else if (!this.endings.has(requestId))
      this.#trace.fail(`the hold of ${requestId} is gone, and nothing has ended it`);
  }

  #changeLease({ nowMs }: Commit, lease: LeaseRow): void {
    const { node, epoch } = lease;
    const before = this.#leases.get(node);
    this.#leases.set(node, lease);
    if (before === undefined || before.epoch === epoch) return;
    if (epoch < before.epoch) this.#trace.fail(`the epoch of ${node} went back`);
    if (before.expiresAtMs <= nowMs) return;
    for (const { requestId, owner } of this.holds.values()) {
      const isOfThat = owner.node === node && owner.epoch === before.epoch;
      if (isOfThat && this.isRunning(requestId))
        this.#trace.fail(`${node} took a new epoch, and gave up its own ${requestId}`);
    }
  }

  /** As far as a message goes that began, its reserve is lowered in the same commit; and for nothing else. */
  #compareReserves({ changes, admitted }: Commit): void {
    const ended = new Set(changes.endings.map(({ record }) => record.requestId));
    const taken = new Map<string, number>();
    for (const { requestId, reserve, amount } of admitted.values()) {
      const wasThere = this.holds.has(requestId) || this.endings.has(requestId);
      const isBegun = changes.holds.get(requestId) != null || ended.has(requestId);
      if (reserve === undefined || wasThere || !isBegun) continue;
      taken.set(reserve, (taken.get(reserve) ?? 0) + amount);
      const left = this.holds.get(reserve)?.amount;
      if (left === undefined) this.#trace.count('admitted without its reserve');
      else this.#trace.count(left < amount ? 'admitted beyond a reserve' : 'admitted from a reserve');
    }
    for (const [requestId, { amount, owner }] of this.holds) {
      if (owner.node !== RESERVED.node || changes.holds.get(requestId) === null) continue;
      const left = changes.holds.get(requestId)?.amount ?? amount;
      const should = Math.max(0, amount - (taken.get(requestId) ?? 0));
      if (left !== should) this.#trace.fail(`${left} of ${amount} are left in ${requestId}, and not ${should}`);
    }
  }

  #checkBegin(commit: Commit, hold: HoldRow): void {
    if (hold.owner.node === RESERVED.node) {
      const whole = commit.reserved.get(hold.requestId)?.amount ?? -1;
      if (hold.amount > whole) this.#trace.fail(`${hold.requestId} is a reserve of ${hold.amount}, and not ${whole}`);
      if (!hold.left) this.#trace.fail(`${hold.requestId} is a reserve, and has a slot`);
    } else this.#checkMessage(commit, hold);
  }

  #checkMessage({ changes, admitted, extended, termsSet }: Commit, hold: HoldRow): void {
    const { requestId, owner, key, account, above, person, amount } = hold;
    const operation = admitted.get(requestId);
    if (operation === undefined) {
      this.#trace.fail(`${requestId} holds, and nobody admitted it`);
      return;
    }
    const before = this.#leases.get(owner.node)?.epoch ?? 0;
    const after = changes.leases.get(owner.node)?.epoch ?? before;
    if (owner.epoch < before || owner.epoch > after)
      this.#trace.fail(`${requestId} was admitted under epoch ${owner.epoch} of ${owner.node}, which has ${before}`);
    if (this.#pastEpochs.has(`${owner.node} ${owner.epoch}`))
      this.#trace.fail(`${requestId} was admitted under an epoch of which holds have expired`);
    const status = changes.keys.get(key)?.status;
    if (status !== 'enabled' && !termsSet.has(key))
      this.#trace.fail(`${requestId} was admitted by a key that is ${status}`);
    for (const id of [account, ...above])
      if (changes.accounts.get(id)?.enabled !== true && !termsSet.has(id))
        this.#trace.fail(`${requestId} was admitted by an account that is disabled, or below one`);
    if (person !== null && changes.people.get(person)?.enabled !== true && !termsSet.has(person))
      this.#trace.fail(`${requestId} was admitted by the key of a person who is disabled`);
    if (above.length > 0) this.#trace.count('admitted below another account');
    if (person !== null) this.#trace.count("admitted by a person's key");
    const isAsDecided = !extended.has(requestId);
    if (isAsDecided && amount > operation.amount) this.#trace.fail(`${requestId} holds more than it asked for`);
    if (isAsDecided && amount < Math.min(operation.least ?? operation.amount, operation.amount))
      this.#trace.fail(`${requestId} holds ${amount}, less than the least that it asked for`);
  }

  #addEnding(commit: Commit, ending: Ending): void {
    const { record, endedBy } = ending;
    const { requestId, cost, writtenOff, planPaid } = record;
    this.#trace.count(`ended: ${endedBy}`);
    if (planPaid > 0) this.#trace.count(planPaid < cost - writtenOff ? 'paid by plan and wallet' : 'paid by a plan');
    if (writtenOff > 0) this.#trace.count('written off');
    if (this.endings.has(requestId)) this.#trace.fail(`${requestId} ended twice`);
    this.endings.set(requestId, ending);
    const hold = this.holds.get(requestId);
    if (hold === undefined && !commit.admitted.has(requestId)) this.#trace.fail(`${requestId} ended and never began`);
    const isAsHeld = hold !== undefined && !commit.extended.has(requestId);
    if (isAsHeld && cost <= hold.amount && writtenOff > 0)
      this.#trace.fail(`${requestId} held ${hold.amount}, cost ${cost}, and ${writtenOff} is written off`);
    if (endedBy !== 'expired') return;
    this.#expiredAt.set(requestId, cost);
    this.#checkExpired(commit, hold, ending);
  }

  #checkExpired({ changes, nowMs, extended }: Commit, hold: HoldRow | undefined, { record }: Ending): void {
    if (hold === undefined) return;
    const { owner, requestId, checkpoint } = hold;
    this.#pastEpochs.add(`${owner.node} ${owner.epoch}`);
    const before = this.#leases.get(owner.node);
    const epochAfter = changes.leases.get(owner.node)?.epoch ?? before?.epoch;
    if (before !== undefined && before.expiresAtMs > nowMs && epochAfter === owner.epoch)
      this.#trace.fail(`${requestId} expired while the lease of ${owner.node} stood`);
    const costs = [checkpoint?.cost ?? 0];
    for (const extension of extended.get(requestId) ?? [])
      if (extension.checkpoint !== null) costs.push(extension.checkpoint.cost);
    if (costs.length === 1 && checkpoint !== null) this.#trace.count('billed at its checkpoint');
    if (!costs.includes(record.cost + (this.#refunded.get(requestId) ?? 0)))
      this.#trace.fail(`${requestId} expired at ${record.cost}, and its checkpoints are ${costs}`);
  }

  /** An ending may be corrected once by its late owner, forgiven once, and refunded in parts. */
  #correctEnding(ending: Ending): void {
    const { requestId } = ending.record;
    const before = this.endings.get(requestId);
    if (before === undefined) {
      this.#trace.fail(`${requestId} is corrected, and has not ended`);
      return;
    }
    this.endings.set(requestId, ending);
    const isMoved = ending.endedBy !== before.endedBy;
    if (isMoved) this.#trace.count(`then: ${ending.endedBy}`);
    if (isMoved && before.endedBy === 'forgiven')
      this.#trace.fail(`${requestId} was forgiven, and is ${ending.endedBy} now`);
    if (isMoved && ending.endedBy === 'corrected' && before.endedBy !== 'expired')
      this.#trace.fail(`${requestId} had ${before.endedBy}, and is corrected`);
    if (isMoved && !['corrected', 'forgiven'].includes(ending.endedBy))
      this.#trace.fail(`${requestId} had ${before.endedBy}, and is ${ending.endedBy} now`);
    if (!isMoved && ending.record.cost > before.record.cost) this.#trace.fail(`${requestId} costs more than it did`);
  }

  /** The record against its entries, and against what its owner asked for. */
  #compareBill(requestId: string): void {
    const ending = this.endings.get(requestId);
    if (ending === undefined) return;
    const { record, endedBy } = ending;
    const billed = this.#billed.get(requestId) ?? 0;
    if (billed !== record.cost)
      this.#trace.fail(`the entries of ${requestId} bill ${billed}, and its record ${record.cost}`);
    if (record.writtenOff < 0 || record.writtenOff > record.cost)
      this.#trace.fail(`${requestId} is written off strangely`);
    const whole = record.cost + (this.#refunded.get(requestId) ?? 0);
    const { cost = null, isFreeWhenLate = false } = this.truths.get(requestId) ?? {};
    if (endedBy === 'settled' && whole !== cost) this.#trace.fail(`${requestId} settled at ${whole}, and cost ${cost}`);
    if (endedBy === 'released' && whole !== 0) this.#trace.fail(`${requestId} was released, and costs ${whole}`);
    if (endedBy === 'forgiven' && record.cost !== 0)
      this.#trace.fail(`${requestId} is forgiven, and costs ${record.cost}`);
    // By its late owner, who asks for no cost where its admission was in doubt; or by a refund.
    const lateCost = isFreeWhenLate ? 0 : (cost ?? 0);
    const isExplained = whole === lateCost || whole === this.#expiredAt.get(requestId);
    if (endedBy === 'corrected' && !isExplained)
      this.#trace.fail(`${requestId} is corrected to ${record.cost}, with refunds ${whole}, and cost ${cost}`);
  }

  /** A limit may be exceeded where it was lowered below what was used; nothing is ever taken beyond it. */
  #compareOverruns({ changes, termsSet, nowMs }: Commit): void {
    const compare = (id: number, what: string, overrun: number) => {
      const name = `${what} of ${id}`;
      if (overrun > (this.#overruns.get(name) ?? 0) && !termsSet.has(id))
        this.#trace.fail(`the ${name} is exceeded by ${overrun}`);
      this.#overruns.set(name, overrun);
    };
    for (const account of changes.accounts.values()) {
      compare(account.id, 'allowance', accountOverrun(account));
      compare(account.id, 'plan', planOverrun(account));
    }
    for (const key of changes.keys.values()) compare(key.id, 'quota', keyOverrun(key));
    // Terms of accounts are also those of people.
    const people = termsSet.size > 0 ? this.#tables.personMeters : changes.people;
    for (const person of people.values()) {
      if (termsSet.size > 0) termsSet.add(person.id);
      compare(person.id, 'budget', budgetOverrun(person, this.#chainOf(person.account), nowMs));
    }
  }

  #chainOf(account: number): AccountRow[] {
    const chain: AccountRow[] = [];
    for (let id: number | null = account; id !== null; id = chain.at(-1)?.company.parent ?? null) {
      const row = this.#tables.accountMeters.get(id);
      if (row === undefined) break;
      chain.push(row);
    }
    return chain;
  }
}

function describe(bundles: readonly Bundle[], changes: Changes, nowMs: number): Commit {
  const asked = { admitted: new Map(), extended: new Map(), reserved: new Map(), givenBack: new Set<string>() };
  const commit: Commit = { changes, nowMs, ...asked, termsSet: new Set() };
  for (const { operations } of bundles) {
    for (const operation of operations) {
      if (operation.kind === 'admit') commit.admitted.set(operation.requestId, operation);
      if (operation.kind === 'reserve') commit.reserved.set(operation.requestId, operation);
      if (operation.kind === 'give-back') commit.givenBack.add(operation.requestId);
      if (operation.kind === 'set-plan' || operation.kind === 'change-plan') commit.termsSet.add(operation.account);
      if (operation.kind === 'set-account') commit.termsSet.add(operation.account);
      if (operation.kind === 'set-key') commit.termsSet.add(operation.key);
      if (operation.kind === 'set-person') commit.termsSet.add(operation.person);
      if (operation.kind !== 'extend') continue;
      const before = commit.extended.get(operation.requestId) ?? [];
      commit.extended.set(operation.requestId, [...before, operation]);
    }
  }
  return commit;
}

// A run with several partitions, each with a store, nodes and a part of the accounts. A mover takes accounts from one to another by the
// steps of docs/decisions/0026-partitions.md. It crashes at any time and resumes from its directory, which is durable.

import { BrokenInvariant } from '../../../src/base/assert.ts';
import { sleep } from '../../../src/base/timers.ts';
import type { Admit, Answer, Bundle, Operation } from '../../../src/ledger/ledger.ts';
import { findFaultsAtEnd, hashRows } from './audit-end.ts';
import { Clients } from './clients.ts';
import { FaultMaker } from './faults.ts';
import { Operators } from './operators.ts';
import { Process } from './scheduler.ts';
import { comeToEnd, drawPlan, type Plan, type RunResult } from './simulate.ts';
import { beginCourse, type Course, makeWorld, type World } from './world.ts';

const MOVE_PAUSE_MS_MAX = 3_000;
const FINISH_STEPS_MAX = 200_000;
const LOOK_MS = 200; // between looks at messages that still run
const ANSWER_MS_MAX = 10_000; // a node that crashed does not answer
const RETRY_MS = 500;
const STALE_MS_MAX = 60_000; // how long a router may send an account to its old partition
const MOVE_NOTE = 'moved to another partition';
const NO_RATES = { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null } as const;

/** Its account belongs to another partition. The row of the account says so, and each change of the account reads it. */
class MovedAway extends BrokenInvariant {
  readonly code = 'store_unavailable'; // callers may retry elsewhere
}

interface Partition {
  index: number;
  world: World;
  clients: Clients;
  operators: Operators;
  faults: FaultMaker;
  /**
   * For each account that ever moved, the number of its latest move, and whether it is closed. Durable: columns of the account's row,
   * read and written by each transaction that changes the account.
   */
  marks: Map<number, { number: number; isClosed: boolean }>;
}

/** One amount on its way: a move of an account, or the sweep of what reached its old partition later. */
interface Move {
  account: number;
  keys: number[];
  from: Partition;
  to: Partition;
  /** From 1, in the order of all moves. */
  number: number;
  kind: 'account' | 'sweep';
}

/** Runs partitions of different sizes, loads and faults until `steps`, then to their end. */
export function simulatePartitions(seed: number, steps: number): RunResult {
  const course = beginCourse(seed);
  const { scheduler, trace } = course;
  const partitions = Array.from({ length: 2 + (seed % 3) }, (_, index) => open(planOf(seed, index), course, index));
  const mover = new Mover(partitions, course);
  const step = () => {
    trace.step++;
    return scheduler.step() && trace.fault === null;
  };
  try {
    for (const { clients, operators, faults } of partitions)
      for (const one of [clients, operators, faults]) one.start();
    mover.start();
    while (trace.step < steps && step());
    mover.isStopped = true;
    for (const { clients, operators, faults } of partitions) {
      clients.isStopped = true;
      operators.isStopped = true;
      faults.stop();
    }
    trace.note('faults have stopped');
    mover.finish(step);
    for (const { world, clients } of partitions) comeToEnd(world, clients, step, true);
    mover.sweep();
    mover.finish(step);
    if (trace.fault === null) for (const fault of mover.findFaults()) trace.fail(fault);
  } catch (failure) {
    trace.fail(`the simulation threw: ${(failure as Error).stack}`);
  }
  for (const { world } of partitions) {
    if (trace.fault === null) for (const fault of findFaultsAtEnd(world)) trace.fail(fault);
    trace.note(hashRows(world.database.tables));
  }
  return { seed, steps: trace.step, hash: trace.hash, counts: trace.counts, fault: trace.fault };
}

/** At least two accounts each, so that one can be moved. */
function planOf(seed: number, index: number): Plan {
  const plan = drawPlan(seed * 7 + index);
  return { ...plan, numbers: { ...plan.numbers, accounts: plan.numbers.accounts + 1, hasPeers: true } };
}

function open({ numbers, load, rule, faults }: Plan, course: Course, index: number): Partition {
  const world = makeWorld(numbers, course, index);
  const operators = new Operators(world, rule);
  world.database.write([{ operations: operators.firstTerms() }]);
  for (const node of world.nodes) node.start();
  const clients = new Clients(world, load);
  return { index, world, clients, operators, faults: new FaultMaker(world, faults), marks: new Map() };
}

class Mover {
  isStopped = false;
  readonly #partitions: readonly Partition[];
  readonly #course: Course;
  /** The directory: which partition has an account, and what is under way. Durable. */
  readonly #homes = new Map<number, Partition>();
  readonly #moves = new Map<number, Move>();
  readonly #left = new Set<Move>();
  #number = 0;
  /** Its operations, with the number of their move. A partition takes them for a closed account, unless a later move came before. */
  readonly #own = new WeakMap<Operation, number>();
  readonly #keeper = new Process();
  #process = new Process();

  constructor(partitions: readonly Partition[], course: Course) {
    this.#partitions = partitions;
    this.#course = course;
    for (const partition of partitions) {
      const { database, accounts } = partition.world;
      for (const account of accounts) this.#homes.set(account, partition);
      database.refuses = (batch) => this.#refuses(partition, batch);
      database.onCommit = ({ bundles }) => this.#committed(partition, bundles);
    }
  }

  get isBusy(): boolean {
    return this.#moves.size > 0;
  }

  /** Begins moves, and crashes, until it is stopped. */
  start(): void {
    const { scheduler, chance } = this.#course;
    scheduler.after(chance.below(MOVE_PAUSE_MS_MAX), this.#keeper, () => {
      if (this.isStopped) return;
      if (chance.is(0.3)) this.#crash();
      else if (chance.is(0.5)) this.sweep();
      else this.#beginMove();
      this.start();
    });
  }

  /** Steps until nothing is on its way. */
  finish(step: () => boolean): void {
    for (let turn = 0; this.isBusy && step(); turn++) {
      if (turn < FINISH_STEPS_MAX) continue;
      for (const { kind, account, from, to } of this.#moves.values())
        this.#course.trace.fail(`the ${kind} of ${account} from ${from.index} to ${to.index} never ends`);
    }
  }

  /** Begins to fetch what reached old partitions since. */
  sweep(): void {
    for (const { account, from, keys } of this.#left) {
      const home = this.#homes.get(account) as Partition;
      if (home === from || this.#moves.has(account) || this.#spare(from, account) <= 0) continue;
      this.#begin({ account, keys, from, to: home, number: ++this.#number, kind: 'sweep' });
    }
  }

  /** Faults that remain when everything has ended. */
  findFaults(): string[] {
    const faults: string[] = [];
    for (const [account, home] of this.#homes) {
      const moved = this.#partitions.reduce((sum, one) => sum + this.#sumOfMoves(one, account), 0);
      if (moved !== 0) faults.push(`moves of ${account} add up to ${moved}`);
      for (const partition of this.#partitions) {
        if (partition === home) continue;
        const spare = this.#spare(partition, account);
        if (spare > 0) faults.push(`${spare} of ${account} is left in partition ${partition.index}`);
      }
    }
    return faults;
  }

  #crash(): void {
    this.#process.isAlive = false;
    this.#process = new Process();
    if (this.isBusy) this.#course.trace.count('mover crashed in a move');
    for (const move of this.#moves.values()) void this.#carryOut(move);
  }

  #beginMove(): void {
    const { chance } = this.#course;
    const from = chance.pick(this.#partitions);
    const { accounts, callers } = from.world;
    const account = chance.pick(accounts);
    const to = chance.pick(this.#partitions);
    if (accounts.length < 2 || from === to || this.#moves.has(account) || this.#homes.get(account) !== from) return;
    const keys = callers.filter((one) => one.account === account).map(({ key }) => key);
    this.#begin({ account, keys, from, to, number: ++this.#number, kind: 'account' });
  }

  #begin(move: Move): void {
    this.#moves.set(move.account, move);
    this.#course.trace.count(`${move.kind} begun`);
    void this.#carryOut(move);
  }

  /** Each step can be repeated after a crash: it is recorded in the rows or in the directory. */
  async #carryOut(move: Move): Promise<void> {
    const { account, from, to, kind } = move;
    const process = this.#process;
    if (kind === 'account' && this.#homes.get(account) === from) {
      await this.#close(process, move);
      while (this.#isRunning(from, account)) await this.#pause(process, LOOK_MS);
    }
    const amount = await this.#takeOut(process, move);
    const credit = amount > 0 ? [this.#credit(move, amount)] : [];
    const keys = kind === 'account' ? move.keys.map((key) => this.#key(account, key)) : [];
    const terms = kind === 'account' ? [this.#terms(to, account, false)] : [];
    const operations = [...terms, ...keys, ...credit];
    if (operations.length > 0) await this.#do(process, move, to, operations);
    if (kind === 'account') {
      this.#homes.set(account, to); // in the directory
      await this.#do(process, move, to, [this.#terms(to, account, true)]);
      this.#tellRouters(move);
    }
    this.#moves.delete(account);
    this.#left.add(move);
    this.#course.trace.count(`${kind} done`);
  }

  /** A credit line that was lowered meanwhile may be too low. */
  async #close(process: Process, move: Move): Promise<void> {
    const { from, account } = move;
    while (!(await this.#do(process, move, from, [this.#terms(from, account, false)])).every(({ ok }) => ok))
      await this.#pause(process, RETRY_MS);
  }

  /** The amount that the reference took out of the old partition. */
  async #takeOut(process: Process, move: Move): Promise<number> {
    const { account, from } = move;
    const reference = referenceOf(move);
    for (;;) {
      const entry = from.world.database.tables.entries.find(
        (one) => one.account === account && one.reference === reference,
      );
      if (entry !== undefined) return entry.amount;
      const spare = this.#spare(from, account);
      if (spare <= 0) return 0;
      const [answer] = await this.#do(process, move, from, [this.#credit(move, -spare)]);
      if (answer?.ok === true && answer.kind === 'credited') return -answer.amount;
      await this.#pause(process, RETRY_MS); // a correction came first
    }
  }

  /** On any node of the partition, until there is an answer; never if the mover has crashed. */
  async #do(process: Process, { number }: Move, partition: Partition, operations: Operation[]): Promise<Answer[]> {
    for (const operation of operations) this.#own.set(operation, number);
    for (;;) {
      const up = partition.world.nodes.flatMap(({ run }) => (run === null ? [] : [run]));
      const asked =
        up.length === 0
          ? null
          : this.#course.chance
              .pick(up)
              .ledger.submit({ operations })
              .catch(() => null);
      const answers = await Promise.race([asked, this.#pause(process, ANSWER_MS_MAX).then(() => null)]);
      if (answers !== null && process.isAlive) return answers;
      await this.#pause(process, RETRY_MS);
    }
  }

  #pause(process: Process, ms: number): Promise<void> {
    return sleep(this.#course.scheduler.timersOf(process), ms);
  }

  /** Clients and operators find the account in its new partition, at first in both. */
  #tellRouters({ account, keys, from, to }: Move): void {
    const { scheduler, chance } = this.#course;
    remove(from.world.accounts, (one) => one === account);
    if (!to.world.accounts.includes(account)) to.world.accounts.push(account);
    const known = new Set(to.world.callers.map(({ key }) => key));
    for (const key of keys) if (!known.has(key)) to.world.callers.push({ account, key, person: null });
    scheduler.after(chance.below(STALE_MS_MAX), this.#keeper, () => {
      const { callers } = from.world;
      const hasOthers = callers.some((one) => one.account !== account);
      if (hasOthers && this.#homes.get(account) !== from) remove(callers, (one) => one.account === account);
    });
  }

  /** A closed account takes refunds, corrections, and operations of its latest move. A change beside a move's is decided alone. */
  #refuses({ marks, world }: Partition, batch: readonly Bundle[]): Error | null {
    const changes = batch.flatMap(({ operations }) => operations).filter(isChange);
    for (const change of changes) {
      const mark = marks.get(change.account);
      const own = this.#own.get(change);
      const isBeside = changes.some((other) => other.account === change.account && this.#own.get(other) !== own);
      const isLate = mark !== undefined && (own === undefined ? mark.isClosed : own < mark.number);
      if (isLate)
        world.trace.count(
          own === undefined ? 'change of a moved account refused' : 'operation of an earlier move refused',
        );
      if (isLate || isBeside) return new MovedAway('the account has moved');
    }
    return null;
  }

  #committed({ marks }: Partition, bundles: readonly Bundle[]): void {
    for (const operation of bundles.flatMap(({ operations }) => operations)) {
      const number = this.#own.get(operation);
      if (operation.kind === 'set-account') {
        if (number !== undefined) marks.set(operation.account, { number, isClosed: !operation.terms.enabled });
        if (operation.terms.enabled) this.#checkEnabled(operation.account);
      }
      if (operation.kind === 'credit' && number !== undefined) this.#checkMoves(operation.account);
    }
  }

  #checkEnabled(account: number): void {
    const isEnabled = ({ world }: Partition) => world.database.tables.accountMeters.get(account)?.enabled === true;
    const count = this.#partitions.filter(isEnabled).length;
    if (count > 1) this.#course.trace.fail(`${account} is enabled in ${count} partitions`);
  }

  #checkMoves(account: number): void {
    const added = this.#partitions.reduce((sum, one) => sum + this.#sumOfMoves(one, account), 0);
    if (added > 0) this.#course.trace.fail(`moves of ${account} added ${added} more than they took`);
  }

  #isRunning({ world }: Partition, account: number): boolean {
    return [...world.database.tables.holds.values()].some((hold) => hold.account === account);
  }

  /** The balance without what a debt takes of it. */
  #spare({ world }: Partition, account: number): number {
    const row = world.database.tables.accountMeters.get(account);
    return row === undefined ? 0 : row.balance - row.debt;
  }

  #sumOfMoves({ world }: Partition, account: number): number {
    let sum = 0;
    for (const entry of world.database.tables.entries)
      if (entry.account === account && entry.note === MOVE_NOTE)
        sum += entry.credit === account ? entry.amount : -entry.amount;
    return sum;
  }

  #terms({ world }: Partition, account: number, enabled: boolean): Operation {
    const { creditLine = 0 } = world.database.tables.accountMeters.get(account) ?? {};
    const terms = { enabled, creditLine, allowance: null, allowancePeriod: 'total' } as const;
    return { kind: 'set-account', account, terms };
  }

  #key(account: number, key: number): Operation {
    const terms = {
      status: 'enabled',
      expiresAtMs: null,
      quota: null,
      quotaPeriod: 'total',
      ...NO_RATES,
      concurrency: null,
    } as const;
    return { kind: 'set-key', key, account, terms };
  }

  #credit(move: Move, amount: number): Operation {
    const { account } = move;
    return { kind: 'credit', account, amount, source: 'adjustment', reference: referenceOf(move), note: MOVE_NOTE };
  }
}

function isChange(operation: Operation): operation is Exclude<Extract<Operation, { account: number }>, Admit> {
  return 'account' in operation && operation.kind !== 'admit';
}

function referenceOf({ number, account }: Move): string {
  return `move ${number} of ${account}`;
}

function remove<Item>(items: Item[], isMatch: (item: Item) => boolean): void {
  items.splice(0, items.length, ...items.filter((item) => !isMatch(item)));
}

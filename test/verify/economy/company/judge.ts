// The rules of the company: nobody spends more than those above them allow, by whatever calls; what was decided above stays; money
// comes from nowhere; nothing of others is shown; and a disabled person is out.

import { periodStartMs } from '../../../../src/base/clock.ts';
import { beganAtMs, parseId } from '../../../../src/base/ids.ts';
import type { UsageRecord } from '../../../../src/ledger/ledger.ts';
import { leftOver } from '../judge-node.ts';
import {
  type AccountName,
  accountNames,
  company,
  costCentres,
  isWithin,
  type Limit,
  markOf,
  NANO_PER_DOLLAR,
  type PersonName,
  PINNED,
  payerOf,
  people,
  personNames,
} from './company.ts';
import type { CompanyFacts, Credential } from './episode.ts';
import type { Operation } from './operations.ts';
import { readTerms } from './terms.ts';
import { type Answer, CODE_DOLLARS, type CompanyWorld } from './world.ts';

const HOURS_5_MS = 5 * 3_600_000;

export interface Called {
  credential: Credential;
  operation: Operation;
  url: string;
  sent: unknown;
  answer: Answer;
}

/** After each call: it fails in no other way than it says, shows nothing of others, and is no call of a disabled person. */
export function judgeAnswer(facts: CompanyFacts, world: CompanyWorld, called: Called): string | null {
  const { credential, operation, answer } = called;
  const who = credential.person ?? `a token of the role ${credential.role}`;
  if (answer.status >= 500 && answer.status !== 501)
    return `failure: ${operation.name} of ${who} got ${answer.status}: ${world.failures.at(-1)}`;
  const { of } = credential;
  if (operation.roles !== null && facts.deactivated.has(of) && answer.status !== 401)
    return `disabled: ${operation.name} of ${who}, of ${of}, got ${answer.status}`;
  const shown = findMark(facts, world, called);
  return shown === null ? null : `shown: ${operation.name} showed ${who} "${shown}"`;
}

/** A word in the answer that only others' objects have, or the id of an account that the request does not have. */
function findMark({ coalition }: CompanyFacts, world: CompanyWorld, called: Called): string | null {
  const { credential, url, sent, answer } = called;
  const asked = `${url} ${JSON.stringify(sent ?? null)}`;
  for (const name of accountNames) {
    const id = parseId('acct', world.accounts[name]) ?? 0;
    if (maySee(world, credential, id)) continue;
    if (answer.text.includes(markOf(name))) return markOf(name);
    // A member's own keys may be in accounts below theirs, whose ids they tell.
    if (maySee(world, { ...credential, role: 'owner' }, id) || asked.includes(world.accounts[name])) continue;
    if (answer.text.includes(world.accounts[name])) return `the id of ${name}`;
  }
  for (const name of personNames) {
    if (name === credential.person || !answer.text.includes(markOf(name))) continue;
    // Owners give keys of one to another, with their names.
    if (coalition.rules !== null && coalition.people.includes(name)) continue;
    const { accountId = null } = world.tables.people.get(parseId('person', world.people[name]) ?? 0)?.person ?? {};
    if (credential.role !== 'owner' || accountId === null || !maySee(world, credential, accountId)) return markOf(name);
  }
  return null;
}

/** Owners see their account and those below it, members their account. */
function maySee({ tables }: CompanyWorld, { account, role }: Credential, id: number): boolean {
  if (id === account) return true;
  if (role !== 'owner') return false;
  for (let at = tables.accounts.get(id)?.parentId ?? null; at !== null; at = tables.accounts.get(at)?.parentId ?? null)
    if (at === account) return true;
  return false;
}

/** While messages run: a member's key has no more at once than its owner allowed. */
export function judgeKey({ coalition, productions, byRequest }: CompanyFacts, world: CompanyWorld): string | null {
  if (coalition.rules !== null) return null;
  for (const [id, person] of givenKeys(world)) {
    const { concurrency } = people[person].given ?? { concurrency: Number.POSITIVE_INFINITY };
    let running = 0;
    for (const [requestId, list] of productions)
      if (
        (byRequest.get(requestId)?.asked.key ?? world.tables.holds.get(requestId)?.key) === id &&
        list.some(({ isRunning }) => isRunning)
      )
        running++;
    if (running > concurrency) return `concurrency: ${running} messages run with the key that ${person} was given`;
  }
  return null;
}

/** Keys that an owner gave, with limits. */
function givenKeys({ keys }: CompanyWorld): [id: number, person: PersonName][] {
  return keys.flatMap(({ id, person }, at) =>
    person !== null && people[person].given !== null && keys[at - 1]?.person === person ? [[id, person]] : [],
  );
}

export function judgeEnd(facts: CompanyFacts, world: CompanyWorld): string | null {
  const spent = readSpent(facts, world);
  return (
    leftOver(world) ??
    changedTerms(facts, world) ??
    madeElsewhere(facts, world) ??
    disabledAdmitted(facts, world) ??
    beyondAccounts(facts, spent) ??
    beyondBudgets(facts, spent) ??
    liftedLimits(facts, world) ??
    beyondKeys(facts, world, spent) ??
    wrongBalances(facts, world, spent) ??
    wrongScope(facts, spent) ??
    notServed(facts)
  );
}

/** One message and what was paid for it. */
interface Spent {
  record: UsageRecord;
  paid: number;
  startMs: number;
  /** The account of the company, or the one above it that operators made. */
  account: AccountName;
  /** The person of the key; null: nobody whom operators made. */
  person: PersonName | null;
}

function readSpent({ coalition, owners }: CompanyFacts, { tables, accounts, people: ids }: CompanyWorld): Spent[] {
  return [...tables.endings.values()].map(({ record, endedBy }): Spent => {
    const known = accountNames.find((name) => parseId('acct', accounts[name]) === record.account);
    const named = personNames.find((name) => parseId('person', ids[name]) === record.person) ?? null;
    return {
      record,
      paid: endedBy === 'forgiven' ? 0 : record.cost - record.writtenOff,
      startMs: beganAtMs(record.requestId) ?? 0,
      account: known ?? coalition.rules ?? 'harbour',
      person: coalition.rules === null ? (owners.get(record.key) ?? named) : named,
    };
  });
}

/** The most that was spent in one window. Messages that ran while one ended count in none. */
function mostIn(spent: readonly Spent[], window: Limit['window']): number {
  const sum = (some: readonly Spent[]) => some.reduce((all, { paid }) => all + paid, 0);
  if (window === 'total') return sum(spent);
  if (window === '5h') {
    const within = (fromMs: number) =>
      spent.filter(({ startMs, record }) => startMs >= fromMs && record.atMs < fromMs + HOURS_5_MS);
    // A window begins with a message: two of them may meet in any five hours.
    const isOne = spent.every(({ record }) => record.atMs < (spent[0]?.startMs ?? 0) + HOURS_5_MS);
    return isOne ? sum(spent) : Math.max(...spent.map(({ startMs }) => sum(within(startMs)))) / 2;
  }
  const windows = new Map<number, number>();
  for (const { startMs, record, paid } of spent) {
    const from = periodStartMs(window, startMs);
    if (from === periodStartMs(window, record.atMs)) windows.set(from, (windows.get(from) ?? 0) + paid);
  }
  return Math.max(0, ...windows.values());
}

function beyond(words: string, spent: readonly Spent[], { window, most }: Limit): string | null {
  const paid = mostIn(spent, window);
  return paid <= most * NANO_PER_DOLLAR ? null : `${words} ${paid / NANO_PER_DOLLAR}, and may ${most} (${window})`;
}

/** Whether those who act may decide about the account, beyond what owners may for their own. */
function isRuled({ coalition: { rules } }: CompanyFacts, name: AccountName): boolean {
  return rules !== null && name !== rules && isWithin(name, rules);
}

/** Only operators decide about an account with a balance of its own. */
function isOfOperators(name: AccountName): boolean {
  return company[name].paysFrom === 'own';
}

function beyondAccounts(facts: CompanyFacts, spent: readonly Spent[]): string | null {
  return first(accountNames, (name) => {
    const { allowance } = company[name];
    if (allowance === null || (isRuled(facts, name) && !isOfOperators(name))) return null;
    const of = spent.filter(({ account }) => isWithin(account, name));
    return beyond(`allowance: ${name} and what is below spent`, of, allowance);
  });
}

/** Each budget that somebody above set, over all keys of the person. */
function beyondBudgets(facts: CompanyFacts, spent: readonly Spent[]): string | null {
  const isTheirs = (name: AccountName) => isRuled(facts, name) || name === facts.coalition.rules;
  return first(accountNames, (name) => {
    if (isTheirs(name)) return null;
    const of = spent.filter(({ account }) => isWithin(account, name));
    const ids = new Set(of.map(({ record, person }) => person ?? record.person));
    return first([...ids], (who) => {
      if (who === null) return null;
      const own = typeof who === 'string' ? people[who].budgets.find(({ at }) => at === name)?.limit : undefined;
      const limit = own ?? company[name].personBudget;
      const theirs = of.filter(({ record, person }) => (person ?? record.person) === who);
      return limit === null ? null : beyond(`budget: below ${name}, ${who} spent`, theirs, limit);
    });
  });
}

/** Members only make the numbers of such keys smaller. */
function liftedLimits({ coalition }: CompanyFacts, world: CompanyWorld): string | null {
  if (coalition.rules !== null) return null;
  return first(givenKeys(world), ([id, person]) => {
    const { quota: given = 0, concurrency: most = 0 } = people[person].given ?? {};
    const { quota = null, limits } = world.tables.keyMeters.get(id) ?? {};
    const isLifted = quota === null || quota > given * NANO_PER_DOLLAR || (limits?.concurrency ?? most + 1) > most;
    return isLifted ? `lifted: the key that ${person} was given has the quota ${quota}` : null;
  });
}

/** Quotas and models of keys that members were given. */
function beyondKeys({ coalition }: CompanyFacts, world: CompanyWorld, spent: readonly Spent[]): string | null {
  if (coalition.rules !== null) return null;
  return first(givenKeys(world), ([id, person]) => {
    const { quota = 0, models = [] } = people[person].given ?? {};
    const of = spent.filter(({ record }) => record.key === id);
    const other = of.find(({ record }) => !(models as readonly string[]).includes(record.model));
    if (other !== undefined) return `models: the key that ${person} was given was sold ${other.record.model}`;
    return beyond(`quota: the key that ${person} was given spent`, of, { window: 'total', most: quota });
  });
}

/** Balances are what operators gave, less what was paid; those of others, less what they themselves paid. */
function wrongBalances(
  { coalition: { rules } }: CompanyFacts,
  { tables, accounts }: CompanyWorld,
  spent: readonly Spent[],
): string | null {
  const sum = (some: readonly Spent[]) => some.reduce((all, { paid }) => all + paid, 0);
  const given = accountNames.reduce((all, name) => all + company[name].credit, 0) * NANO_PER_DOLLAR;
  const isRedeemed = [...tables.codes.values()].some(({ redemption }) => redemption !== null);
  const expected = given + (isRedeemed ? CODE_DOLLARS * NANO_PER_DOLLAR : 0) - sum(spent);
  const all = [...tables.accountMeters.values()].reduce((total, { balance }) => total + balance, 0);
  if (all !== expected) return `money: all balances are ${all}, and should be ${expected}`;
  return first(accountNames, (name) => {
    if (rules !== null && isWithin(name, rules)) return null;
    const { balance = 0 } = tables.accountMeters.get(parseId('acct', accounts[name]) ?? 0) ?? {};
    const due = company[name].credit * NANO_PER_DOLLAR - sum(spent.filter(({ account }) => payerOf(account) === name));
    return balance === due ? null : `money: ${name} has ${balance}, and should have ${due}`;
  });
}

/** Groups and tags of an account hold for all accounts below it, wherever its owners move these. */
function wrongScope(facts: CompanyFacts, spent: readonly Spent[]): string | null {
  return first(spent, ({ record, account }) => {
    const least = isRuled(facts, account) ? (facts.coalition.rules ?? account) : account;
    if (!company[least].groups.includes(record.group)) return `group: ${account} was sold ${record.group}`;
    const pinned = accountNames.find((name) => name in costCentres && isWithin(least, name));
    const tag = record.tags['cost_centre'];
    if (pinned === undefined) return null;
    if (Object.hasOwn(record.tags, PINNED)) return `tags: a client of ${account} named ${PINNED}`;
    if (tag === costCentres[pinned]) return null;
    return `tags: a message of ${account} is for ${tag}, and not for ${costCentres[pinned]}`;
  });
}

function changedTerms({ coalition, terms }: CompanyFacts, world: CompanyWorld): string | null {
  const now = readTerms(world, coalition);
  return first([...terms], ([words, before]) => {
    const after = now.get(words);
    return after === before ? null : `terms: ${words} were ${before} and are ${after}`;
  });
}

/** Everything that they made is within what they decide about. */
function madeElsewhere({ coalition: { rules, people: actors } }: CompanyFacts, world: CompanyWorld): string | null {
  const { tables, accounts, people: ids } = world;
  const top = rules === null ? null : (parseId('acct', accounts[rules]) ?? 0);
  const isOperators = (madeBy: string | null) => madeBy === 'local' || madeBy?.startsWith('tok_') === true;
  const members = actors.map((name) => ids[name] as string);
  for (const key of tables.keys.values()) {
    const { madeBy, accountId, personId = null } = key;
    if (rules === null && madeBy !== null && members.includes(madeBy)) {
      const of = parseId('person', madeBy);
      const place = tables.people.get(of ?? 0)?.person.accountId;
      if (personId !== of || accountId !== place) return 'elsewhere: a member made a key that is not theirs';
    } else if (top !== null && !isOperators(madeBy) && !isBelow(world, accountId, top))
      return `elsewhere: ${madeBy} made a key in an account that they do not own`;
  }
  if (top === null) return null;
  const own = Object.values(accounts).map((id) => parseId('acct', id));
  for (const { id, paysFrom } of tables.accounts.values())
    if (!own.includes(id) && paysFrom !== 'parent') return 'elsewhere: owners made an account with its own balance';
  const rows: [string, { accountId: number | null; madeBy: string | null }][] = [
    ...[...tables.people.values()].map(({ person }) => ['person', person] as [string, typeof person]),
    ...[...tables.tokens.values()].map(({ token }) => ['token', token] as [string, typeof token]),
  ];
  for (const [what, { accountId, madeBy }] of rows)
    if (madeBy?.startsWith('person_') && (accountId === null || !isBelow(world, accountId, top)))
      return `elsewhere: ${madeBy} made a ${what} in an account that they do not own`;
  return null;
}

function isBelow({ tables }: CompanyWorld, id: number, top: number): boolean {
  for (let at: number | null = id; at !== null; at = tables.accounts.get(at)?.parentId ?? null)
    if (at === top) return true;
  return false;
}

function disabledAdmitted({ messages }: CompanyFacts, { tables }: CompanyWorld): string | null {
  return first(messages, ({ asked, status, requestId }) => {
    if (!asked.isDisabled || (status !== 200 && !tables.endings.has(requestId ?? ''))) return null;
    return `disabled: a message of a disabled person got ${status}`;
  });
}

function notServed({ messages, coalition }: CompanyFacts): string | null {
  if (coalition.rules === 'rival') return null;
  return first(messages, ({ asked, status, errorCode, isWhole }) => {
    if (!asked.isBeside || (status === 200 && isWhole)) return null;
    return `service: rob, of another company, got ${status} ${errorCode}`;
  });
}

function first<Item>(items: readonly Item[], judge: (item: Item) => string | null): string | null {
  for (const item of items) {
    const broken = judge(item);
    if (broken !== null) return broken;
  }
  return null;
}

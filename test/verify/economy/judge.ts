// The rules of the economy about money. Each is said in a finding as what was broken, by whom and by how much. The truth
// is the provider's own bill.

import { bounds } from '../../../src/config/config.ts';
import type { UsageRecord } from '../../../src/ledger/ledger.ts';
import { type Counts, chargeOf, countsOf, type Production, priceOfCounts } from './answers.ts';
import { type AccountName, cast, keyOf, NANO_PER_DOLLAR, plans } from './cast.ts';
import type { ClientMessage } from './client.ts';
import type { Facts } from './episode.ts';
import { judgeNode } from './judge-node.ts';
import { judgeTill } from './judge-till.ts';
import {
  behaviourOf,
  honestModels,
  isTruthful,
  type ModelName,
  priceOf,
  TRANCHE_TOKENS,
  wellModels,
} from './models.ts';
import type { World } from './world.ts';

/** Share of the provider's charge. */
const BILLED_SHARE_LEAST = 0.99;
const BILLED_SHARE_MOST = 1.1;
const BILLED_TOKENS_LESS = 4; // of one message: rounding, and the end of a text that was cut
const BILLED_TOKENS_MORE = 32;
/** The store may lose what a node that stood still held. */
const SUSPENDED_SHARE_LEAST = 0.12;

const SPENT_NANO = priceOf(0, TRANCHE_TOKENS); // what is left of money that is spent: it extends no hold
/** The hold covers an estimate of the output, and output beyond it waits. */
const COVERED_SHARE_LEAST = 0.4;
const COVERED_TOKENS_PER_BYTE = 0.25;

/** A message with its provider's bill. */
export interface Billed {
  message: ClientMessage;
  record: UsageRecord;
  /** All attempts, the last one last. */
  productions: readonly Production[];
  /** The billed and paid amounts. */
  paid: number;
  /** Its charge was given back when a later attempt was answered. */
  isReversed: boolean;
  isRevoked: boolean;
  isDrained: boolean;
  /** No other message of its account was at a provider meanwhile. */
  isAlone: boolean;
  /** Nothing is left that could pay for more. */
  isSpent: boolean;
}

/** A row or item of docs/ledger.md by which less is billed than the provider charges. */
export interface Exception {
  /** How it begins. */
  row: string;
  applies(billed: Billed): boolean;
  /** The part that must be billed all the same. */
  least(billed: Billed): number;
}

export const exceptions: readonly Exception[] = [
  {
    row: '**The cost of failed attempts**',
    applies: ({ record, isReversed, productions }) =>
      isReversed && (record.outcome === 'service_cut' || productions.every(({ isFaulty }) => isFaulty)),
    least: () => 0,
  },
  {
    row: '| a prompt |', // fetched input or a summary may cost more than the balance; such a message runs alone
    applies: ({ message, record, isAlone, isSpent }) => isSpent && hasFetched(message) && record.stream && isAlone,
    least: () => 0,
  },
  {
    row: '| output that is not visible while it is produced |',
    applies: ({ message, record }) => record.writtenOff > 0 && message.asked.wanted.thinking > 0,
    least: ({ record, productions }) => sumOf(productions, chargeOf) - priceOf(0, record.outputTokens),
  },
  {
    row: '| visible output |',
    applies: ({ record }) => record.writtenOff > 0 && record.stream,
    least: ({ productions }) => COVERED_SHARE_LEAST * sumOf(productions, chargeOf),
  },
  {
    row: '| `money`:',
    applies: ({ message, record }) => record.outcome === 'quota_cut' || (record.stream && isPoor(message)),
    least: ({ message, productions }) =>
      COVERED_SHARE_LEAST * sumOf(productions, (each) => relayed(each, message.receivedBytes)),
  },
  {
    row: '| `client`:',
    applies: ({ record }) => record.outcome === 'client_gone',
    least: ({ productions }) => sumOf(productions, received),
  },
  {
    row: '| `revoked`:',
    applies: ({ record, isRevoked }) => isRevoked && record.stream,
    least: ({ productions }) => sumOf(productions, held),
  },
  {
    row: '| `provider`:',
    applies: ({ record, productions }) => record.outcome === 'upstream_cut' && productions.at(-1)?.isFaulty === true,
    least: ({ productions }) => sumOf(productions, seen),
  },
  {
    row: '| `service`:',
    applies: ({ record, isDrained, isRevoked }) => isDrained || (record.outcome === 'service_cut' && !isRevoked),
    least: ({ record, productions }) => (record.stream ? COVERED_SHARE_LEAST * sumOf(productions, seen) : 0),
  },
  {
    row: '| `unusable`:', // and its provider counts nothing
    applies: ({ record, productions }) => record.outcome === 'failed' && productions.every(isUncounted),
    least: () => 0,
  },
];

/** Its streams may exhaust its money at any time, also while others of the account give some back. */
function isPoor({ asked: { by, key } }: ClientMessage): boolean {
  return cast[by].creditNano < 10 * NANO_PER_DOLLAR || (keyOf(by, key).terms.quota ?? null) !== null;
}

function hasFetched({ asked: { wanted } }: ClientMessage): boolean {
  return wanted.tool !== null;
}

/** Text that was not yet received is not known, nor what a stream hid that its reader broke by not reading. */
function received(production: Production): number {
  if (production.gaveUp || production.isFaulty) return seen(production);
  const bytes = production.taken?.bytes ?? 0;
  return chargeWith(production, (counts) => ({ ...counts, output: outputOf({ ...production, bytes }) }));
}

/** The hold for hidden thinking and the text after it, or the text alone if that is more. Thinking that was counted on the way is not hidden. */
function held(production: Production): number {
  const { thinking, model } = production.wanted;
  if (thinking === 0 || isTruthful(model, 'in every event')) return received(production);
  const bytes = production.taken?.bytes ?? 0;
  const covered = production.thinking + bytes * COVERED_TOKENS_PER_BYTE;
  const output = Math.max(covered, outputOf({ ...production, bytes, thinking: 0 }));
  return chargeWith(production, (counts) => ({ ...counts, output }));
}

/** Beyond the money nothing is relayed. */
function relayed(production: Production, bytes: number): number {
  return chargeWith(production, (counts) => ({ ...counts, output: outputOf({ ...production, bytes, thinking: 0 }) }));
}

/** Neither what is hidden is known, unless it was counted, nor what results of tools add. */
function seen(production: Production): number {
  const { wanted, taken } = production;
  if (taken === null) return 0;
  const thinking = isTruthful(wanted.model, 'in every event') ? taken.thinking : 0;
  const { searches } = countsOf(wanted, taken);
  return chargeWith(production, () => ({ ...countsOf(wanted, { ...taken, thinking, uses: 0 }), searches }));
}

function isUncounted({ wanted }: Production): boolean {
  return wanted.ending === 'unusable' && behaviourOf(wanted.model).reports === 'never';
}

function outputOf(production: Production): number {
  return countsOf(production.wanted, production).output;
}

function chargeWith(production: Production, change: (counts: Counts) => Counts): number {
  if (production.isRefused) return 0;
  return Math.min(chargeOf(production), priceOfCounts(change(countsOf(production.wanted, production))));
}

function sumOf(productions: readonly Production[], charge: (production: Production) => number): number {
  return productions.reduce((sum, production) => sum + charge(production), 0);
}

export function judgeEnd(facts: Facts, world: World): string | null {
  const bills = billsOf(facts, world);
  return (
    judgeNode(facts, world) ??
    firstOf(bills, (billed) => unpaid(billed, facts)) ??
    firstOf(bills, exactlyBilled) ??
    (facts.wasSuspended ? null : firstOf(bills, overbilled)) ??
    firstOf(bills, beyondBounds) ??
    readForNothing(bills, facts) ??
    overPlan(bills, facts) ??
    judgeTill(bills, facts, world)
  );
}

function billsOf(facts: Facts, { tables }: World): Billed[] {
  const { messages, productions, revoked, drained } = facts;
  return messages.flatMap((message) => {
    const { requestId } = message;
    const ending = tables.endings.get(requestId ?? '');
    if (ending === undefined) return [];
    const { record, endedBy } = ending;
    const billed: Billed = {
      message,
      record,
      productions: productions.get(record.requestId) ?? [],
      paid: record.cost - record.writtenOff,
      isReversed: endedBy === 'forgiven',
      isRevoked: record.outcome === 'service_cut' && revoked.has(message),
      isDrained: drained.has(message),
      isAlone: isAlone(facts, message),
      isSpent: isSpent(record, tables) || facts.paid.some(({ by }) => by === message.asked.by),
    };
    return [billed];
  });
}

/** A new plan pays for further messages beside it. */
function isAlone({ productions: all, byRequest, plansSet }: Facts, { asked, requestId }: ClientMessage): boolean {
  const own = all.get(requestId ?? '') ?? [];
  const isSwitched = plansSet.some(({ by, atMs }) => by === asked.by && own.some((one) => one.startedMs < atMs));
  if (isSwitched) return true;
  for (const [other, productions] of all) {
    if (other === requestId || byRequest.get(other)?.asked.by !== asked.by) continue;
    if (own.some((one) => productions.some((two) => overlap(one, two)))) return false;
  }
  return true;
}

function isSpent({ account, key }: UsageRecord, { accountMeters, keyMeters }: World['tables']): boolean {
  const { balance = 0, plan = null } = accountMeters.get(account) ?? {};
  const { quota = null, spending } = keyMeters.get(key) ?? {};
  const left = plan === null ? balance : Math.min(...plan.windows.map(({ limit, used }) => limit - used));
  return Math.min(left, (quota ?? Number.POSITIVE_INFINITY) - (spending?.used ?? 0)) < SPENT_NANO;
}

function overlap(one: Production, other: Production): boolean {
  return (
    one.startedMs < (other.endedMs ?? Number.POSITIVE_INFINITY) &&
    other.startedMs < (one.endedMs ?? Number.POSITIVE_INFINITY)
  );
}

/** No message is billed less than its provider charges, but for the exceptions. */
function unpaid(billed: Billed, { wasSuspended }: Facts): string | null {
  const { message, record, productions, paid, isReversed } = billed;
  if (wasSuspended || !isHonestModel(message.asked.wanted.model)) return null;
  const charge = sumOf(productions, chargeOf);
  const least = leastOf(billed, exceptions);
  if (paid >= BILLED_SHARE_LEAST * least - priceOf(BILLED_TOKENS_LESS, BILLED_TOKENS_LESS)) return null;
  const { by, wanted, isStream } = message.asked;
  const end = `${record.outcome}${isReversed ? ', reversed' : ''}${record.writtenOff > 0 ? `, ${record.writtenOff} written off` : ''}`;
  return `unpaid: ${by} paid ${paid} for ${least} of ${wanted.model}${isStream ? ', streamed' : ''} (${end}; ${productions.length} attempts, ${charge} charged)`;
}

/** The amount that must be billed: the charge, or less by the exceptions that apply. */
function leastOf(billed: Billed, among: readonly Exception[]): number {
  const allowed = among.filter((each) => each.applies(billed)).map((each) => each.least(billed));
  return Math.min(sumOf(billed.productions, chargeOf), ...allowed);
}

/** A whole answer whose counts are true costs what they say. */
function exactlyBilled({ message, record, productions }: Billed): string | null {
  const { model } = message.asked.wanted;
  if (record.outcome !== 'completed' || !isTruthful(model)) return null;
  const price = sumOf(productions, chargeOf);
  return record.cost === price ? null : `bill: ${message.asked.by} was billed ${record.cost} for an answer of ${price}`;
}

/** Nobody honest is billed for more than was produced for the message, within the bounds of estimates. */
function overbilled({ message, productions, paid }: Billed): string | null {
  const { by, wanted } = message.asked;
  if (!cast[by].isHonest || !isWell(wanted.model)) return null;
  const charge = sumOf(productions, chargeOf);
  if (paid <= BILLED_SHARE_MOST * charge + priceOf(BILLED_TOKENS_MORE, BILLED_TOKENS_MORE)) return null;
  return `overbilled: ${by}, honest, paid ${paid} nanodollars for ${charge} of ${wanted.model} (${(paid / charge).toFixed(2)} times)`;
}

/** Whatever a provider reports, a message costs no more than the largest counts of a message. */
function beyondBounds({ message, record }: Billed): string | null {
  const tokens = bounds.usageTokensMax;
  const most = priceOf(2 * tokens, 2 * tokens);
  return record.cost <= most ? null : `beyond: ${message.asked.by} was billed ${record.cost} for one message`;
}

/** The largest answer read under each idempotency key, and each message without one, is paid for. */
function readForNothing(bills: readonly Billed[], { wasSuspended }: Facts): string | null {
  const groups = new Map<string, { read: number; paid: number; by: AccountName; count: number }>();
  for (const [at, billed] of bills.entries()) {
    const { message, record, productions, paid } = billed;
    const { asked, receivedBytes } = message;
    if (!isHonestModel(asked.wanted.model)) continue;
    const name = asked.claim === null ? String(at) : `${asked.by} ${asked.key} ${asked.claim}`;
    const group = groups.get(name) ?? { read: 0, paid: 0, by: asked.by, count: 0 };
    groups.set(name, group);
    group.count++;
    // The money that a node held may be another message's once the node has stood still: then the bill is written off.
    group.paid += paid + (wasSuspended ? record.writtenOff : 0);
    const last = productions.at(-1);
    if (receivedBytes === 0 || last === undefined) continue;
    const owed = wasSuspended
      ? SUSPENDED_SHARE_LEAST * seen(last)
      : BILLED_SHARE_LEAST * Math.min(relayed(last, receivedBytes), leastOf(billed, exceptions.slice(1)));
    group.read = Math.max(group.read, owed);
  }
  for (const { read, paid, by, count } of groups.values())
    if (read > paid + priceOf(BILLED_TOKENS_LESS, BILLED_TOKENS_LESS))
      return `for nothing: ${by} read an answer of which ${Math.round(read)} nanodollars must be paid, and paid ${paid} (${count} requests)`;
  return null;
}

/** Within an episode, which is shorter than any window, a plan pays no more than each of its windows allows. */
function overPlan(bills: readonly Billed[], { plansSet }: Facts): string | null {
  const paid = new Map<string, number>();
  for (const { message, record } of bills) {
    const inForce = (atMs: number) => plansSet.findLast((set) => set.by === message.asked.by && set.atMs <= atMs)?.plan;
    const plan = inForce(message.sentMs);
    if (record.planPaid === 0 || plan === undefined || plan !== inForce(message.endedMs ?? message.sentMs)) continue;
    const name = `${message.asked.by} ${plan}`;
    const sum = (paid.get(name) ?? 0) + record.planPaid;
    paid.set(name, sum);
    for (const { length, limit } of plans[plan])
      if (sum > limit) return `plan: "${plan}" paid ${sum} for ${message.asked.by}, its ${length} allows ${limit}`;
  }
  return null;
}

function isHonestModel(model: ModelName): boolean {
  return honestModels.includes(model);
}

function isWell(model: ModelName): boolean {
  return wellModels.includes(model);
}

function firstOf<Item>(items: readonly Item[], judge: (item: Item) => string | null): string | null {
  for (const item of items) {
    const broken = judge(item);
    if (broken !== null) return broken;
  }
  return null;
}

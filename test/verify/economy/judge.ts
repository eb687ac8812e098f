// The rules of the economy. Each is said in a finding as what was broken, by whom and by how much.

import { checkLedger } from '../../../src/ledger/ledger.ts';
import { sumMemory } from '../../support/memory-store/memory-store.ts';
import { type AccountName, accountNames, cast, honestNames } from './cast.ts';
import type { ClientMessage } from './client.ts';
import type { Facts } from './episode.ts';
import { honestModels, type ModelName, priceOf, wellModels } from './models.ts';
import { outputTokens, tokensOfAnswer } from './provider.ts';
import { isOrdinary } from './texts.ts';
import type { World } from './world.ts';

/**
 * The share of the read output that must be paid: for ordinary text, and for text or tokenizers that no estimate
 * knows.
 */
const PAID_SHARE_LEAST = 0.7;
const PAID_SHARE_LEAST_ODD = 0.12;
const PAID_EXCESS = 1.1;
const TOKENS_FREE = 64; // of output of one message, either way
const WRITTEN_OFF_MOST = priceOf(0, 2_500); // of one account in one episode: a tranche of output, and what arrives at once
const MEMBERS_MOST = 25_000; // of one object

/** Violations that are visible while an episode runs. */
export function judgeNow({ productions, byRequest, wasSuspended }: Facts): string | null {
  if (wasSuspended) return null; // others give the slots away of a node that stands still
  const running = new Map<string, number>();
  for (const [requestId, list] of productions) {
    if (!list.some(({ isRunning }) => isRunning)) continue;
    const { asked } = byRequest.get(requestId) as ClientMessage;
    if (asked.claim === null) continue;
    const { keys } = cast[asked.by];
    const place = asked.key % keys.length;
    const limit = keys[place]?.terms.concurrency ?? null;
    const name = `${asked.by} ${place}`;
    const count = (running.get(name) ?? 0) + 1;
    running.set(name, count);
    if (limit !== null && count > limit)
      return `concurrency: ${count} messages with idempotency keys run at once for a key of ${asked.by} that may have ${limit}`;
  }
  return null;
}

export function judgeEnd(facts: Facts, world: World): string | null {
  return (
    largestObject() ??
    judgeNow(facts) ??
    leftOver(world) ??
    firstOf(facts.messages, (message) => recordAsSeen(message, world)) ??
    (facts.wasSuspended ? null : routesWell(world)) ??
    firstOf(facts.messages, (message) => honestServed(message, facts)) ??
    (facts.wasSuspended ? null : writtenOffAtAll(facts, world)) ??
    readForNothing(facts, world) ??
    firstOf(facts.messages, (message) => exactlyBilled(message, facts, world)) ??
    firstOf(honestNames, (name) => overpaid(name, facts, world))
  );
}

/** Others may have spent the hold of a suspended node; otherwise the hold covers the usage. */
function writtenOffAtAll(facts: Facts, world: World): string | null {
  return (
    firstOf(facts.messages, (message) => promptsWrittenOff(message, facts, world)) ??
    firstOf(accountNames, (name) => writtenOff(name, facts, world))
  );
}

let membersSeen = 0;

/** Counts the input of the JSON parser from now on. */
export function watchParser(): void {
  const parse = JSON.parse;
  JSON.parse = (text: string, ...rest) => {
    const value = parse(text, ...rest);
    if (text.length > 6 * MEMBERS_MOST) membersSeen = Math.max(membersSeen, mostMembers(value));
    return value;
  };
}

function mostMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce(
    (most: number, each) => Math.max(most, mostMembers(each)),
    Array.isArray(value) ? 0 : inner.length,
  );
}

function largestObject(): string | null {
  const seen = membersSeen;
  membersSeen = 0;
  return seen > MEMBERS_MOST ? `parser: an object of ${seen} members reached JSON.parse` : null;
}

/** Everything that was held is given back, and the ledger's own invariants stand. */
function leftOver({ gateway, bodies, tables }: World): string | null {
  const held = [...tables.accountMeters.values()].reduce((sum, row) => sum + row.held, 0);
  const left = {
    'held money': held,
    holds: tables.holds.size,
    slots: gateway.slots.taken,
    bodies: bodies.open,
    'bytes of bodies': bodies.bytes,
    'bytes of answers': gateway.answers.bytesInMemory,
  };
  for (const [name, amount] of Object.entries(left)) if (amount !== 0) return `left over: ${amount} ${name}`;
  const { faults } = checkLedger(sumMemory(tables));
  return faults.length === 0 ? null : `ledger: ${faults[0]}`;
}

/** The record says what the client saw. */
function recordAsSeen(message: ClientMessage, { tables }: World): string | null {
  const record = recordOf(message, tables);
  if (record === null || message.hasLeft) return null;
  const { status, isWhole, errorCode } = message;
  const { outcome, status: recorded, cost } = record;
  if (status !== null && status !== 200 && (recorded !== status || cost > 0))
    return `record: ${message.asked.by} got ${status} ${errorCode}, and the record says ${outcome}, ${recorded}, cost ${cost}`;
  if (status === 200 && isWhole && outcome !== 'completed')
    return `record: ${message.asked.by} got a whole answer, and the record says ${outcome}`;
  return null;
}

/** Failures in a row close a route to everybody: what clients do is none. */
function routesWell({ gateway }: World): string | null {
  for (const { model, lastFailure } of gateway.health.list())
    if (lastFailure !== null && isWell(model as ModelName))
      return `route: a ${lastFailure.kind} counts against ${model}, whose provider is well`;
  return null;
}

/** Nobody who does nothing odd is refused over routes that are well. */
function honestServed(message: ClientMessage, { wasSuspended }: Facts): string | null {
  const { asked, status, errorCode, hasLeft, isWhole } = message;
  if (!cast[asked.by].isHonest || !isWell(asked.wanted.model) || hasLeft || wasSuspended) return null;
  if (status === 200 && (isWhole || asked.wanted.answer.length === 0)) return null;
  if (asked.wanted.prompt.length === 0) return null; // an odd body
  return `service: ${asked.by}, honest, got ${status} ${errorCode} of ${asked.wanted.model}, whose provider is well`;
}

/** A prompt is never given away: what is written off of a message is of its output at most. */
function promptsWrittenOff(message: ClientMessage, facts: Facts, { tables }: World): string | null {
  const record = recordOf(message, tables);
  if (record === null || !isHonestModel(message.asked.wanted.model)) return null;
  if (record.writtenOff <= priceOf(0, record.outputTokens)) return null;
  return `prompts: ${record.writtenOff} nanodollars written off for ${message.asked.by}, its answer costs ${priceOf(0, record.outputTokens)} (${facts.messages.length} messages)`;
}

function writtenOff(name: AccountName, { messages }: Facts, { tables }: World): string | null {
  let sum = 0;
  for (const message of messages)
    if (message.asked.by === name && isUsual(message)) sum += recordOf(message, tables)?.writtenOff ?? 0;
  return sum > WRITTEN_OFF_MOST ? `written off: ${sum} nanodollars in all for ${name}` : null;
}

/** The largest answer read under each idempotency key, and each message without one, is paid for. */
function readForNothing({ messages, productions, wasSuspended }: Facts, { tables }: World): string | null {
  const paid = paidByRequest(tables);
  const groups = new Map<string, { read: number; paid: number; by: AccountName; count: number }>();
  for (const [at, message] of messages.entries()) {
    const { asked, requestId, receivedBytes } = message;
    if (!isHonestModel(asked.wanted.model)) continue;
    const name = asked.claim === null ? String(at) : `${asked.by} ${asked.key} ${asked.claim}`;
    const group = groups.get(name) ?? { read: 0, paid: 0, by: asked.by, count: 0 };
    groups.set(name, group);
    group.count++;
    group.paid += paid.get(requestId ?? '') ?? 0;
    // The money that a node held may be another message's once the node has stood still: then the bill is written off.
    if (wasSuspended) group.paid += recordOf(message, tables)?.writtenOff ?? 0;
    if (receivedBytes === 0 || message.replayOf !== null) continue;
    const promptTokens = productions.get(requestId ?? '')?.at(-1)?.promptTokens ?? 0;
    const tokens = tokensOfAnswer(asked.wanted, receivedBytes);
    const share = isUsual(message) ? PAID_SHARE_LEAST : PAID_SHARE_LEAST_ODD;
    group.read = Math.max(group.read, share * priceOf(promptTokens, Math.max(0, tokens - TOKENS_FREE)));
  }
  for (const { read, paid: sum, by, count } of groups.values())
    if (read > sum + writtenOffShare(by))
      return `for nothing: ${by} read an answer of which ${Math.round(read)} nanodollars must be paid, and paid ${sum} (${count} requests)`;
  return null;
}

/** Where money ends, what came last may be unpaid. */
function writtenOffShare(by: AccountName): number {
  return cast[by].creditNano < 1e9 ? WRITTEN_OFF_MOST : 0;
}

/** A whole answer of an honest provider costs what the provider counted. */
function exactlyBilled(message: ClientMessage, { productions }: Facts, { tables }: World): string | null {
  const record = recordOf(message, tables);
  if (record?.outcome !== 'completed' || !isHonestModel(message.asked.wanted.model)) return null;
  const production = productions.get(message.requestId ?? '')?.at(-1);
  if (production === undefined) return null;
  const price = priceOf(production.promptTokens, outputTokens(production));
  return record.cost === price ? null : `bill: ${message.asked.by} was billed ${record.cost} for an answer of ${price}`;
}

/** Honest accounts paid for output that was produced for them, within the bounds of estimates. */
function overpaid(name: AccountName, { messages, productions }: Facts, { tables }: World): string | null {
  let sum = 0;
  let produced = 0;
  const paid = paidByRequest(tables);
  for (const { asked, requestId } of messages) {
    if (asked.by !== name || !isWell(asked.wanted.model)) continue;
    sum += paid.get(requestId ?? '') ?? 0;
    for (const production of productions.get(requestId ?? '') ?? [])
      produced += priceOf(production.promptTokens, outputTokens(production) + TOKENS_FREE / 2);
  }
  if (sum <= PAID_EXCESS * produced) return null;
  return `overpaid: ${name}, honest, paid ${sum} nanodollars for ${produced} (${(sum / produced).toFixed(2)} times)`;
}

/** Cost of each message for its account, after all corrections. */
function paidByRequest({ entries }: World['tables']): Map<string, number> {
  const paid = new Map<string, number>();
  for (const { account, debit, amount, reference, credit } of entries) {
    if (reference === null || (debit !== account && credit !== account)) continue;
    paid.set(reference, (paid.get(reference) ?? 0) + (debit === account ? amount : -amount));
  }
  return paid;
}

function recordOf({ requestId }: ClientMessage, tables: World['tables']) {
  return tables.endings.get(requestId ?? '')?.record ?? null;
}

/** The text that estimates are made for: ordinary text, counted as most tokenizers do. */
function isUsual({ asked: { wanted } }: ClientMessage): boolean {
  return (
    isOrdinary(wanted.answer) && isOrdinary(wanted.prompt) && isHonestModel(wanted.model) && wanted.model !== 'bytes'
  );
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

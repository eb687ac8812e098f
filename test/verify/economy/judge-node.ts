// The rules of the economy about what a node keeps, records and closes.

import { checkLedger } from '../../../src/ledger/ledger.ts';
import { sumMemory } from '../../support/memory-store/memory-store.ts';
import { cast, keyOf } from './cast.ts';
import type { ClientMessage } from './client.ts';
import type { Facts } from './episode.ts';
import { type ModelName, wellModels } from './models.ts';
import type { World } from './world.ts';

const MEMBERS_MOST = 25_000; // of one object
const MINUTE_MS = 60_000;

/** More messages of a key run at providers than it may have at once. Visible only while they run. */
export function judgeSlots({ productions, byRequest, wasSuspended }: Facts): string | null {
  if (wasSuspended) return null; // others give the slots away of a node that stands still
  const running = new Map<string, number>();
  for (const [requestId, list] of productions) {
    if (!list.some(({ isRunning }) => isRunning)) continue;
    const { asked } = byRequest.get(requestId) as ClientMessage;
    const { id, terms } = keyOf(asked.by, asked.key);
    const limit = terms.concurrency ?? null;
    const count = (running.get(String(id)) ?? 0) + 1;
    running.set(String(id), count);
    if (limit !== null && count > limit)
      return `concurrency: ${count} messages run at once for a key of ${asked.by} that may have ${limit}`;
  }
  return null;
}

export function judgeNode(facts: Facts, world: World): string | null {
  return (
    largestObject() ??
    judgeSlots(facts) ??
    leftOver(world) ??
    firstOf(facts.messages, (message) => recordAsSeen(message, facts, world)) ??
    (facts.wasSuspended ? null : routesWell(world)) ??
    firstOf(facts.messages, (message) => honestServed(message, facts)) ??
    answeredTooOften(facts)
  );
}

/** Everything that was held is given back, and the ledger's own invariants stand. */
export function leftOver({ gateway, bodies, tables }: Pick<World, 'gateway' | 'bodies' | 'tables'>): string | null {
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

/** The record says what the client saw. */
function recordAsSeen(message: ClientMessage, { wasSuspended }: Facts, { tables }: World): string | null {
  const record = tables.endings.get(message.requestId ?? '')?.record ?? null;
  if (record === null || message.hasLeft) return null;
  const { status, isWhole, errorCode } = message;
  const { outcome, status: recorded, cost } = record;
  const isExpired = wasSuspended && record.stream; // billed up to its checkpoint
  const isEndedEarly = isExpired || errorCode === 'key_disabled' || errorCode === 'draining' || outcome === 'quota_cut';
  const mayCost = isEndedEarly || record.attempts.some(({ result }) => result === 'unusable');
  if (status !== null && status !== 200 && (recorded !== status || (cost > 0 && !mayCost)))
    return `record: ${message.asked.by} got ${status} ${errorCode}, and the record says ${outcome}, ${recorded}, cost ${cost}`;
  if (status === 200 && isWhole && outcome !== 'completed')
    return `record: ${message.asked.by} got a whole answer, and the record says ${outcome}`;
  return null;
}

/** Failures in a row close a route to everybody: what clients do is none. */
function routesWell({ gateway }: World): string | null {
  for (const { model, lastFailure } of gateway.health.list())
    if (lastFailure !== null && wellModels.includes(model as ModelName))
      return `route: a ${lastFailure.kind} counts against ${model}, whose provider is well`;
  return null;
}

/** Nobody who does nothing odd is refused over routes that are well. */
function honestServed(message: ClientMessage, { wasSuspended, drained }: Facts): string | null {
  const { asked, status, errorCode, hasLeft, isWhole } = message;
  if (!cast[asked.by].isHonest || !wellModels.includes(asked.wanted.model) || hasLeft || wasSuspended) return null;
  if (status === 200 && (isWhole || asked.wanted.answer.length === 0)) return null;
  if (asked.wanted.prompt.length === 0) return null; // an odd body
  if (errorCode === 'idempotency_in_progress') return null; // repeated while it runs
  if (drained.has(message)) return null;
  return `service: ${asked.by}, honest, got ${status} ${errorCode} of ${asked.wanted.model}, whose provider is well`;
}

/** Answers to one key, new or stored, are no more than its rate allows. */
function answeredTooOften({ messages }: Facts): string | null {
  const answered = new Map<number, number[]>();
  for (const { asked, status, sentMs } of messages) {
    const { id, terms } = keyOf(asked.by, asked.key);
    const limit = terms.requestsPerMinute ?? null;
    if (limit === null || status !== 200 || asked.wanted.prompt.length === 0) continue;
    const times = [...(answered.get(id) ?? []), sentMs];
    answered.set(id, times);
    for (const [at, fromMs] of times.entries()) {
      const most = limit * (1 + (sentMs - fromMs) / MINUTE_MS) + 1;
      if (times.length - at > most)
        return `rate: ${times.length - at} answers to a key of ${asked.by} that may have ${most}`;
    }
  }
  return null;
}

function firstOf<Item>(items: readonly Item[], judge: (item: Item) => string | null): string | null {
  for (const item of items) {
    const broken = judge(item);
    if (broken !== null) return broken;
  }
  return null;
}

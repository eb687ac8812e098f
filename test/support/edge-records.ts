// Messages at the edges of time ranges: the midnights of three zones and of UTC, changes of their clocks, and ends of months.
// Some failed, some were written off or refunded, all have cached tokens, and most have a tag, a person, a session and an agent.
// Contains no tests.

import type { GroupNames } from '../../console/groupings.ts';
import { rangeText, type TimeRange } from '../../console/range.ts';
import { isoDay, startOfDay } from '../../console/times.ts';
import { TagSets, type Tags, tagsText } from '../../src/accounts/accounts.ts';
import { parseId } from '../../src/base/ids.ts';
import { formatUsd, parseUsd } from '../../src/base/money.ts';
import { type Installation, type Json, makeAccount, makeKey, useKey } from '../contract/admin-api/installation.ts';

export const ZONES = ['America/New_York', 'Asia/Kathmandu', 'Pacific/Auckland'] as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_AGO = [0, 1, 6, 29, 35, 40, 100]; // 35 and 40: the month before has costs that are known
const CLOCK_DAYS = 300;
const BEFORE_MS = 1;
/** In nanodollars. */
export const REFUND = 3;
const STEP_MS = 1_000;
export const TAG = 'team';
const TAGS: readonly Tags[] = [{ [TAG]: 'search' }, { [TAG]: 'sales', env: 'live' }, { env: 'live' }, {}];

/** The figures that every page, report and file has of a range. */
export interface Figures {
  messages: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** In nanodollars. */
  cost: bigint;
}

/** Quantity and cost of each unit, in nanodollars. */
export type UnitFigures = Readonly<Record<string, readonly [quantity: number, cost: bigint]>>;

export interface EdgeRecords {
  accounts: Record<'north' | 'south' | 'poor', string>;
  /** A key of north. */
  key: string;
  /** Requests of which REFUND was refunded. */
  refunded: string[];
  /** The names of accounts, keys and people. */
  names: GroupNames;
  /** Times in milliseconds at which messages lie on both sides. */
  edges: number[];
}

/** The first moments of days, of months and of hours after a change of the clocks, in the zone. */
function edgesOf(zone: string, nowMs: number): number[] {
  const today = Date.parse(isoDay(nowMs, zone));
  const dayMs = (utcMs: number) => startOfDay(new Date(utcMs).toISOString().slice(0, 10), zone);
  const at = new Date(today);
  const months = [0, 1].map((before) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - before, 1));
  const days = [...DAYS_AGO.map((days) => today - days * DAY_MS), ...months].flatMap((ms) => dayMs(ms) ?? []);
  return [...days, ...clockChanges(zone, nowMs)];
}

function clockChanges(zone: string, nowMs: number): number[] {
  const found: number[] = [];
  for (let day = 0; day < CLOCK_DAYS; day++) {
    const iso = isoDay(nowMs - day * DAY_MS, zone);
    const [startMs, nextMs] = [startOfDay(iso, zone), startOfDay(isoDay(Date.parse(iso) + DAY_MS, 'UTC'), zone)];
    if (startMs !== null && nextMs !== null && nextMs - startMs !== DAY_MS) found.push(startMs, nextMs);
  }
  return found;
}

/** The clock of the installation ends at `nowMs`. */
export async function fillEdges(installation: Installation, nowMs: number): Promise<EdgeRecords> {
  const { clock, ask } = installation;
  const edges = [...new Set(['UTC', ...ZONES].flatMap((zone) => edgesOf(zone, nowMs)))]
    .filter((ms) => ms < nowMs - HOUR_MS)
    .toSorted((one, other) => one - other);
  clock.advance((edges[0] as number) - DAY_MS - clock.nowMs());
  const add = (name: string, credit: string) => makeAccount(installation, { name, credit });
  const [north, south, poor] = [
    await add('north', '900.00'),
    await add('south', '900.00'),
    await add('poor', '0.0025'),
  ];
  const keys: Json[] = [];
  const people: Json[] = [];
  for (const [account, name, person] of [
    [north, 'one', null],
    [north, 'two', 'ada'],
    [south, 'three', 'bob'],
  ] as const) {
    if (person !== null) people.push(await addPerson(installation, account['id'], person));
    const owner = person === null ? {} : { person: people.at(-1)?.['id'] };
    keys.push(await makeKey(installation, account['id'], { name, ...owner }));
  }
  const poorKey = await makeKey(installation, poor['id'], { name: 'poor' });
  const tagSets = new TagSets(installation.stores.tagSets);
  const ids: string[] = [];
  const send = async (key: Json, atMs: number, number: number, more: object = {}) => {
    clock.advance(atMs - STEP_MS - clock.nowMs());
    const tags = TAGS[number % TAGS.length] as Tags;
    const account = parseId('acct', String(key['account'])) as number;
    const tagSet = await tagSets.find(account, tagsText(tags), '', atMs);
    ids.push(...(await useKey(installation, key, 1, { ...factsOf(number), tags, tagSet, ...more })));
  };
  for (const [place, edgeMs] of edges.entries())
    for (const [side, atMs] of (place % 2 === 0 ? [-STEP_MS - BEFORE_MS, 0] : [-BEFORE_MS, STEP_MS]).entries())
      await send(keys[(place + side) % keys.length] as Json, edgeMs + atMs, 2 * place + side);
  await send(poorKey, nowMs - 20 * 60_000, ids.length, { cost: 4_000_001 });
  const refunded = [ids[1], ids[6], ids.at(-2)].map(String);
  for (const id of refunded) await ask('POST', `/api/v1/usage/${id}/refunds`, { amount: formatUsd(REFUND) });
  clock.advance(nowMs - clock.nowMs());
  const idOf = (account: Json) => String(account['id']);
  return {
    accounts: { north: idOf(north), south: idOf(south), poor: idOf(poor) },
    key: idOf(keys[0] as Json),
    refunded,
    names: namesOf([north, south, poor, ...keys, poorKey, ...people]),
    edges,
  };
}

async function addPerson({ ask }: Installation, account: unknown, name: string): Promise<Json> {
  const invited = { role: 'member', account, name, email: `${name}@example.com` };
  return (await ask('POST', '/api/v1/people', invited)).body;
}

function namesOf(objects: readonly Json[]): GroupNames {
  const names = new Map(objects.map(({ id, name }) => [id, String(name)]));
  const nameOf = (id: string | null) => names.get(id) ?? String(id);
  return { account: nameOf, key: nameOf, person: nameOf };
}

function factsOf(number: number): object {
  const isFailed = number % 5 === 3;
  const cost = isFailed ? 0 : 1_000_000 + number * 101;
  return {
    model: ['sandbox-echo', 'big', 'small'][number % 3],
    provider: ['sandbox', 'other'][number % 2],
    group: ['default', 'reserve'][Math.floor(number / 2) % 2],
    session: ['a', 'b', 'c', null][number % 4],
    agent: ['main', null][number % 2],
    outcome: isFailed ? 'failed' : 'completed',
    status: isFailed ? 529 : 200,
    inputTokens: 100 + number,
    outputTokens: 10 + (number % 7),
    cacheReadTokens: 3 * number,
    cacheWrite5mTokens: number % 4,
    cacheWrite1hTokens: number % 3,
    cost,
    ...unitsOf(number, cost),
    providerCost: number % 4 === 0 ? null : 500_000,
  };
}

/** Half of the messages have units; some were not counted, as in records of earlier versions. */
function unitsOf(number: number, cost: number): object {
  const [part, isKnown] = [Math.floor(cost / 3), number % 7 > 0];
  if (number % 4 === 1) {
    const units = { counts: { images: 1 + (number % 3) }, image: '1024x1024' };
    return { endpoint: 'images', units, ...(isKnown && { unitCosts: { images: cost } }) };
  }
  if (number % 4 !== 2) return {};
  const units = { counts: { input_audio_tokens: 40 + number, output_audio_tokens: 9 }, image: null };
  return { units, ...(isKnown && { unitCosts: { input_audio_tokens: part, output_audio_tokens: 2 * part } }) };
}

/** Texts of ranges in the address: all names, and custom ones from edge to edge. */
export function customRanges(edges: readonly number[], count: number): string[] {
  const every = Math.max(1, Math.floor(edges.length / count));
  return edges
    .filter((_, place) => place % every === 0)
    .flatMap((sinceMs, place, starts) => {
      const untilMs = starts[place + 1 + (place % 3)];
      return untilMs === undefined ? [rangeText(sinceMs, null)] : [rangeText(sinceMs, untilMs)];
    });
}

export type Scope = Partial<Record<'account' | 'key' | 'model' | 'endpoint', string>>;

/** Whether a record, as the API has it, is one of the range and the scope. */
export function isAsked({ sinceMs, untilMs }: TimeRange, scope: Scope, nowMs: number): (record: Json) => boolean {
  return (record) => {
    const atMs = Date.parse(String(record['at']));
    const isInRange = atMs >= sinceMs && atMs < (untilMs ?? nowMs + 1);
    return isInRange && Object.entries(scope).every(([name, id]) => record[name] === id);
  };
}

const NOTHING: Figures = { messages: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0n };

export function figuresOf(row: Json): Figures {
  return {
    messages: Number(row['messages'] ?? 1),
    input: Number(row['input_tokens']),
    output: Number(row['output_tokens']),
    cacheRead: Number(row['cache_read_input_tokens']),
    cacheWrite: Number(row['cache_creation_input_tokens']),
    cost: BigInt(parseUsd(String(row['cost'])) ?? Number.NaN),
  };
}

/** The units of records, or of rows of reports. */
export function unitsIn(rows: readonly Json[]): UnitFigures {
  const sums: Record<string, [number, bigint]> = {};
  for (const row of rows) {
    const costs = (row['unit_costs'] ?? row['units']) as Record<string, string | { quantity: number; cost: string }>;
    for (const [unit, use] of Object.entries(costs)) {
      const [quantity, cost] =
        typeof use === 'string' ? [(row['units'] as Record<string, number>)[unit], use] : [use.quantity, use.cost];
      const [before, costBefore] = sums[unit] ?? [0, 0n];
      sums[unit] = [before + Number(quantity), costBefore + BigInt(parseUsd(cost) ?? Number.NaN)];
    }
  }
  return sums;
}

/** The group of a record, as reports name it. */
export function groupOf(record: Json, by: string): string | null {
  if (by === 'tag') return (record['tags'] as Tags)[TAG] ?? null;
  return by === 'day' ? String(record['at']).slice(0, 10) : (record[by] as string | null);
}

export interface MarginFigures {
  messages: number;
  /** In nanodollars. */
  revenue: bigint;
  providerCost: bigint;
  unknown: bigint;
}

/** The margin of records: the revenue of those whose provider cost is unknown is separate. */
export function marginOf(records: readonly Json[]): MarginFigures {
  const sum = { messages: 0, revenue: 0n, providerCost: 0n, unknown: 0n };
  for (const record of records) {
    const [cost, writtenOff, providerCost] = ['cost', 'written_off', 'provider_cost'].map((name) =>
      BigInt(parseUsd(String(record[name] ?? '0')) ?? Number.NaN),
    ) as [bigint, bigint, bigint];
    if (record['provider_cost'] === null) sum.unknown += cost - writtenOff;
    else {
      sum.messages++;
      sum.revenue += cost - writtenOff;
      sum.providerCost += providerCost;
    }
  }
  return sum;
}

export function sumOf(rows: readonly Json[]): Figures {
  return rows.map(figuresOf).reduce(
    (sum, one) => ({
      messages: sum.messages + one.messages,
      input: sum.input + one.input,
      output: sum.output + one.output,
      cacheRead: sum.cacheRead + one.cacheRead,
      cacheWrite: sum.cacheWrite + one.cacheWrite,
      cost: sum.cost + one.cost,
    }),
    NOTHING,
  );
}

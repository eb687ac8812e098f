// The rules about batches that providers run: what a provider did is billed once, to the account by its price and to the operator by what
// the provider charges; and no request that a provider has, or answered, is sent again.

import { assert } from '../../../../src/base/assert.ts';
import { parseId } from '../../../../src/base/ids.ts';
import { bounds } from '../../../../src/config/config.ts';
import type { UsageRecord } from '../../../../src/ledger/ledger.ts';
import { priceOf } from '../models.ts';
import { type BulkProviders, type BulkWish, chargeOfBulk, type Done } from './bulk.ts';
import type { Objects } from './objects.ts';
import type { CompanyWorld } from './world.ts';

const CLAIM = /^batch (msgbatch_\w+) (\d+)/;
const BATCH_COST = 0.5; // batches cost half of the usual charge

/** A request of one batch: a file may have several. */
interface Item {
  wish: BulkWish;
  records: UsageRecord[];
  /** By batches of its provider. */
  batched: Done[];
  alone: Done[];
  /** Its batch at the provider may have been taken for another, or its file has several batches: who sent it alone is not known. */
  isUnsure: boolean;
}

/** Notes the messages of these requests, of which their providers know nothing. */
export function noteBulk(objects: Objects, { claims, bulk }: CompanyWorld): void {
  for (const [requestId, claim] of claims) {
    const wish = wishOf(objects, bulk, claim);
    if (wish !== undefined) objects.asked.set(requestId, { wish, claim });
  }
}

/** The id that the request has in a batch of its provider. */
function idOf(claim: string): { batch: string; position: number; id: string } | null {
  const [, batch, position] = CLAIM.exec(claim) ?? [];
  if (batch === undefined) return null;
  return { batch, position: Number(position), id: `turnpike-${parseId('msgbatch', batch)}-${position}` };
}

function wishOf({ batches, wishes }: Objects, bulk: BulkProviders, claim: string) {
  const at = idOf(claim);
  const of = batches.find(({ id }) => id !== null && id.replace(/^batch_/, 'msgbatch_') === at?.batch);
  const wish =
    of === undefined ? wishes[bulk.done.find(({ id }) => id === at?.id)?.place ?? -1] : of.wishes[at?.position ?? -1];
  return wish === undefined || wish.bulk === null ? undefined : wish;
}

export function judgeBulk(objects: Objects, world: CompanyWorld): string | null {
  const ids = world.bulk.batches.flatMap(({ requests }) => requests.map(({ id }) => id));
  const again = ids.find((id, at) => ids.indexOf(id) !== at);
  if (again !== undefined) return `again: ${again} is in two batches of its provider`;
  for (const [name, item] of itemsOf(objects, world)) {
    const broken = judgeItem(item, world);
    if (broken !== null) return broken.replace(':', `: ${name} of ${item.wish.bulk},`);
  }
  return null;
}

function itemsOf(objects: Objects, { tables, bulk, claims }: CompanyWorld): Map<string, Item> {
  const items = new Map<string, Item>();
  const places = new Map(objects.wishes.map((wish, at) => [wish, at]));
  const sizes = Map.groupBy(bulk.batches, ({ dialect, requests }) => `${dialect} ${requests.length}`);
  const unsure = new Set(
    [...sizes.values()].flatMap((same) =>
      same.length > 1 && same[0]?.dialect === 'anthropic'
        ? same.flatMap(({ requests }) => requests.map(({ id }) => id))
        : [],
    ),
  );
  const nameOf = (id: string) => id.replace(/^turnpike-/, '');
  const find = (id: string, wish: BulkWish): Item => {
    const item = items.get(nameOf(id)) ?? { wish, records: [], batched: [], alone: [], isUnsure: unsure.has(id) };
    items.set(nameOf(id), item);
    return item;
  };
  for (const done of bulk.done) {
    const wish = objects.wishes[done.place]?.bulk;
    if (done.id !== null && wish) find(done.id, wish).batched.push(done);
  }
  const made = new Set(objects.batches.map(({ id }) => id?.replace(/^batch_/, 'msgbatch_')));
  // Another batch of a file, whose requests are known by their providers alone.
  const hasReused = [...claims.values()].some((claim) => !made.has(idOf(claim)?.batch ?? [...made][0]));
  const used = new Map<number, Item[]>();
  for (const [requestId, { wish, claim }] of objects.asked) {
    const at = idOf(claim);
    if (wish.bulk === null || at === null) continue;
    const item = find(at.id, wish.bulk);
    const record = tables.endings.get(requestId)?.record;
    if (record?.outcome === 'completed') item.records.push(record);
    const place = places.get(wish);
    assert(place !== undefined, 'a message is of a wish');
    const of = used.get(place) ?? [];
    used.set(place, of.includes(item) ? of : [...of, item]);
  }
  for (const done of bulk.done) {
    const of = done.id === null ? (used.get(done.place) ?? []) : [];
    for (const item of of) {
      item.alone.push(done);
      item.isUnsure ||= of.length > 1 || hasReused;
    }
  }
  return items;
}

function judgeItem({ wish, records, batched, alone, isUnsure }: Item, { multipliers }: CompanyWorld): string | null {
  const [record] = records;
  const ofBatches = batched.filter(({ status }) => status === 200);
  const ofOthers = alone.filter(({ status }) => status === 200);
  if (records.length > 1) return 'twice: was billed twice';
  if (record === undefined && ofBatches.length > 0 && !isUnsure) return 'unbilled: was answered, and not billed';
  if (record !== undefined && ofBatches.length + ofOthers.length === 0) return 'bill: was billed, and not answered';
  const isFinal = batched.some(({ status }) => status === 200 || status === 400);
  if (isFinal && alone.length > 0 && !isUnsure) return 'again: was answered, and is sent alone';
  if (record === undefined) return null;
  const { cost, writtenOff, providerCost } = record;
  if (cost < 0 || writtenOff < 0 || writtenOff > cost) return `bill: cost ${cost}, less ${writtenOff}`;
  const most = priceOf(2 * bounds.usageTokensMax, 2 * bounds.usageTokensMax) * Math.max(...multipliers);
  if (cost > most) return `beyond: cost ${cost}`;
  if (ofBatches.length > 0 && wish.fate === 'odd') return null;
  const charge = chargeOfBulk(wish);
  const due = [...multipliers].map((multiplier) => Math.ceil(charge * multiplier));
  if (!due.includes(cost)) return `bill: cost ${cost}, and should cost one of ${due.join(', ')}`;
  const charged = [
    ...(ofBatches.length > 0 ? [Math.ceil(charge * BATCH_COST)] : []),
    ...(ofOthers.length > 0 ? [charge] : []),
  ];
  return charged.includes(providerCost ?? -1)
    ? null
    : `bill: cost its operator ${providerCost}, and should cost ${charged.join(' or ')}`;
}

// The rules about files, batches and goods: each request is billed once and as its provider charges, everything ends, and nobody reads
// what belongs to others.

import { parseId } from '../../../../src/base/ids.ts';
import type { StoredFile } from '../../../../src/files/files.ts';
import { chargeOf, type Production } from '../answers.ts';
import { isTruthful } from '../models.ts';
import { priceOf } from './goods.ts';
import { judgeBulk, noteBulk } from './judge-bulk.ts';
import type { Answered, Objects, SentBatch } from './objects.ts';
import type { CompanyWorld } from './world.ts';

const MARK = /\b(own|item)-(\d{4})\b/g;

/** After each answer: a key sees batches of its own, and files of its account. */
export function judgeShown(
  objects: Objects,
  { tables }: CompanyWorld,
  { key, path, status, text }: Answered,
): string | null {
  if (status >= 500 && !path.startsWith('/v1/audio') && status !== 502 && status !== 503 && status !== 529)
    return `failure: ${path} got ${status}: ${text.slice(0, 200)}`;
  const accountOf = (id: number) => tables.keys.get(id)?.accountId ?? null;
  const isOfKey = path.includes('batches') || text.includes('"response":');
  for (const [mark, , place] of text.matchAll(MARK)) {
    const owner = objects.keyOfMark(place as string);
    if (owner !== key && (isOfKey || accountOf(owner) !== accountOf(key)))
      return `shown: ${path} showed ${mark}, which is of another ${isOfKey ? 'key' : 'account'}`;
  }
  return null;
}

/** Whenever a file was stored: a company has no more than it may. */
export function judgeRoom({ tables, limits }: CompanyWorld): string | null {
  const sums = new Map<number, number>();
  for (const file of tables.files.values())
    if (file.status === 'stored' && !isResult(file))
      sums.set(file.companyId, (sums.get(file.companyId) ?? 0) + file.bytes);
  const most = Math.max(0, ...sums.values());
  return most <= limits.bytes ? null : `room: a company stores ${most} bytes, and may ${limits.bytes}`;
}

function isResult({ purpose }: StoredFile): boolean {
  return purpose === 'batch_output' || purpose === 'batch_results';
}

export function judgeObjects(
  objects: Objects,
  world: CompanyWorld,
  productions: ReadonlyMap<string, readonly Production[]>,
  lines: ReadonlyMap<SentBatch, string>,
): string | null {
  noteBulk(objects, world);
  return (
    leftOverFiles(world) ??
    (world.leader.openFiles === 0 ? null : `left over: ${world.leader.openFiles} spooled files of the leader`) ??
    first([...world.tables.batches.values()], ({ id, status }) =>
      status === 'ended' ? null : `batch: ${id} is ${status}`,
    ) ??
    billedOnce(objects, world, productions) ??
    judgeBulk(objects, world) ??
    first(objects.goods, ({ wish, requestId, status }) => {
      const cost = world.tables.endings.get(requestId ?? '')?.record.cost ?? 0;
      const due = status === 200 ? priceOf(wish) : 0;
      const isRevoked = status === 401; // its answer is awaited, and billed
      return cost === due || isRevoked
        ? null
        : `goods: ${wish.amount} of ${wish.use} got ${status} and cost ${cost}, and should cost ${due}`;
    }) ??
    first([...lines], ([batch, text]) => toldOnce(objects, world, batch, text))
  );
}

/** Bytes are those of the files that exist, and nothing is left of any request. */
function leftOverFiles({ tables, memory }: CompanyWorld): string | null {
  const rows = [...tables.files.values()];
  const undone = rows.find(({ status }) => status !== 'stored');
  if (undone !== undefined) return `left over: a file that is ${undone.status}`;
  if (memory.kept.size !== rows.length)
    return `left over: bytes of ${memory.kept.size} files, and rows of ${rows.length}`;
  return memory.open.size === 0 ? null : `left over: ${memory.open.size} spooled files`;
}

/** No request of a batch is billed twice, and each as its provider charges. */
function billedOnce(
  { asked }: Objects,
  { tables, multipliers }: CompanyWorld,
  productions: ReadonlyMap<string, readonly Production[]>,
): string | null {
  const billed = new Set<string>();
  for (const [requestId, { wish, claim }] of asked) {
    const record = tables.endings.get(requestId)?.record;
    if (record === undefined || record.outcome !== 'completed') continue;
    if (billed.has(claim)) return `twice: ${claim} was billed twice`;
    billed.add(claim);
    const { wanted } = wish;
    if (wanted === null || !isTruthful(wanted.model)) continue;
    const charge = (productions.get(requestId) ?? []).reduce((sum, production) => sum + chargeOf(production), 0);
    const due = [...multipliers].map((multiplier) => Math.ceil(charge * multiplier));
    if (!due.includes(record.cost))
      return `bill: ${wish.customId} was billed ${record.cost}, and should be one of ${due.join(', ')}`;
  }
  return null;
}

/** Each request has one result, and an answer exactly if it was billed as one. */
function toldOnce({ asked }: Objects, { tables }: CompanyWorld, batch: SentBatch, text: string): string | null {
  const told = new Map<string, string>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const { custom_id: id } = JSON.parse(line) as { custom_id: string };
    if (told.has(id)) return `results: ${id} has two`;
    told.set(id, line);
  }
  const claims = `batch ${batch.id?.replace(/^batch_/, 'msgbatch_')} `;
  const isAnswered = (requestId: string) => tables.endings.get(requestId)?.record.outcome === 'completed';
  const answered = new Set(
    [...asked].flatMap(([requestId, { wish, claim }]) =>
      claim.startsWith(claims) && isAnswered(requestId) ? [wish] : [],
    ),
  );
  for (const wish of batch.wishes) {
    const line = told.get(wish.customId) ?? '';
    const isAnswer = line.includes('"succeeded"') || line.includes('"status_code":200');
    if (wish.goods === null && isAnswer !== answered.has(wish))
      return `results: ${wish.customId} ${isAnswer ? 'has an answer that was not billed' : 'was billed and has no answer'}`;
    if (batch.isBeside && !isAnswer) return `service: ${wish.customId}, of another company, has ${line.slice(0, 200)}`;
  }
  return null;
}

/** The batches that still exist, with their rows. */
export function keptBatches({ batches }: Objects, { tables }: CompanyWorld) {
  return batches.flatMap((batch) => {
    const row = tables.batches.get(parseId('msgbatch', (batch.id ?? '').replace(/^batch_/, 'msgbatch_')) ?? 0);
    return row === undefined ? [] : [{ batch, row }];
  });
}

function first<Item>(items: readonly Item[], judge: (item: Item) => string | null): string | null {
  for (const item of items) {
    const broken = judge(item);
    if (broken !== null) return broken;
  }
  return null;
}

// Compares the observations of clients, the upstream and the ledger for the messages of one round, and returns
// figures and faults.

import { costOf } from '../../money/load.ts';
import type { Seen, Sighting } from './clients.ts';
import { type Call, outputTokensOf } from './counting-upstream.ts';
import { LATE_STREAM_MS } from './points.ts';
import { type Books, nano, type UsageRow } from './read-books.ts';

/** Longest part of a stream that may be lost, by its age at the crash. */
const UNSAVED_MS_MAX = 2_000;
/** Tokens vary between 3 and 5 bytes, so an estimate by one average may be too high by this factor. */
const VARIED_EXCESS = 2;
/** Extra time on a machine that is busy with kills and other tests; `lateCovered` shows how often it is needed. */
const LATENESS_MS = 3_000;

export interface RoundFacts {
  seen: Seen;
  calls: ReadonlyMap<number, readonly Call[]>;
  books: Books;
  /** Request ids of this round's records. */
  fresh: readonly string[];
  killedAtMs: number;
  /**
   * A suspended node returned after others ended its holds: it reports that to its clients, and corrects the bills.
   */
  hasLateNode?: boolean;
  /** The service keeps young holds in memory only: a crash leaves no record of their messages. */
  forgetsYoung?: boolean;
}

/** Sums of one or more rounds. */
export interface Figures {
  requests: number;
  acknowledged: number;
  /** Acknowledged messages with a bill. */
  billed: number;
  /** Billed to the end without an acknowledgement, which was in transit. */
  billedUnseen: number;
  /** Cut by the crash and billed up to their checkpoint; tokens as billed, and as sent by the upstream. */
  checkpointed: number;
  checkpointTokens: number;
  checkpointExactTokens: number;
  /** Cut by the crash without a charge. */
  uncharged: number;
  /** Ended before the crash by an estimate; tokens as billed, and as sent by the upstream. */
  estimated: number;
  estimatedTokens: number;
  estimatedExactTokens: number;
  /** Written-off cost of all messages, in nanodollars. */
  writtenOff: number;
  /**
   * Streams older than LATE_STREAM_MS at the crash, and those billed for all output until UNSAVED_MS_MAX before it.
   */
  lateStreams: number;
  lateCovered: number;
}

export function noFigures(): Figures {
  return {
    requests: 0,
    acknowledged: 0,
    billed: 0,
    billedUnseen: 0,
    checkpointed: 0,
    checkpointTokens: 0,
    checkpointExactTokens: 0,
    uncharged: 0,
    estimated: 0,
    estimatedTokens: 0,
    estimatedExactTokens: 0,
    writtenOff: 0,
    lateStreams: 0,
    lateCovered: 0,
  };
}

export function addFigures(sum: Figures, more: Figures): void {
  for (const name of Object.keys(sum) as (keyof Figures)[]) sum[name] += more[name];
}

export interface Comparison {
  figures: Figures;
  faults: string[];
}

/** Compares the observations of one round with the books. */
export function compareRound(facts: RoundFacts): Comparison {
  const comparison: Comparison = { figures: noFigures(), faults: [] };
  const byMark = new Map(facts.seen.sightings.flatMap((seen) => (seen.mark === null ? [] : [[seen.mark, seen]])));
  for (const sighting of facts.seen.sightings) compareSighting(facts, sighting, comparison);
  const marksBilled = new Map<number, string[]>();
  for (const requestId of facts.fresh) {
    const record = facts.books.records.get(requestId) as UsageRow;
    countRecord(record, comparison.figures);
    if (record.model.startsWith('sandbox') || record.input_tokens === 0) continue;
    marksBilled.set(record.input_tokens, [...(marksBilled.get(record.input_tokens) ?? []), requestId]);
    const calls = facts.calls.get(record.input_tokens);
    if (calls === undefined) comparison.faults.push(`billed without a call: ${requestId}`);
    else compareCall(record, calls, byMark.get(record.input_tokens) as Sighting | undefined, comparison);
  }
  for (const [mark, requestIds] of marksBilled) {
    if (requestIds.length > (facts.calls.get(mark)?.length ?? 0))
      comparison.faults.push(`billed twice: ${requestIds.join(' ')} for one call upstream`);
  }
  compareLate(facts, comparison);
  return comparison;
}

/** Compares what a client saw with the bill. */
function compareSighting(facts: RoundFacts, sighting: Sighting, { figures, faults }: Comparison): void {
  const { books, calls } = facts;
  const { requestId, status, usage, isAcknowledged, mark } = sighting;
  figures.requests++;
  const record = requestId === null ? undefined : books.records.get(requestId);
  const isForgotten = facts.forgetsYoung === true && !isAcknowledged && isYoung(facts, mark);
  if (status === 200 && sighting.events > 0 && record === undefined && !isForgotten)
    faults.push(`lost: ${requestId} began to be answered and has no record`);
  // An ending that waited too long for the store is reported as an error, and billed all the same; so is a late one.
  const lateErrors = facts.hasLateNode === true ? ['store_unavailable', 'internal'] : ['store_unavailable'];
  const isLate = record?.outcome === 'completed' && lateErrors.includes(sighting.error ?? '');
  if (status !== null && status >= 400 && record !== undefined && nano(record.cost) > 0 && !isLate)
    faults.push(`billed though refused: ${requestId} with ${status}, ${record.cost}`);
  if (!isAcknowledged) return;
  figures.acknowledged++;
  if (record?.outcome !== 'completed' || usage === null) {
    faults.push(`unbilled: ${requestId} was acknowledged, its record is ${JSON.stringify(record)}`);
    return;
  }
  const cost = costOf(usage.input, usage.output);
  if (nano(record.cost) !== cost)
    faults.push(`misbilled: ${requestId} showed ${JSON.stringify(usage)}, ${cost}; ${JSON.stringify(record)}`);
  else figures.billed++;
  const call = mark === null ? undefined : calls.get(mark)?.findLast(({ isFinished }) => isFinished);
  if (mark === null) return;
  const isSame = call !== undefined && usage.output === outputTokensOf(call.order) && usage.input === mark;
  if (!isSame || sighting.textBytes !== bytesOf(call)) faults.push(`not what was sent: ${JSON.stringify(sighting)}`);
}

/** Kind of ending in a record. */
function countRecord(record: UsageRow, figures: Figures): void {
  figures.writtenOff += nano(record.written_off);
  if (record.outcome === 'service_cut') {
    if (nano(record.cost) === 0) figures.uncharged++;
    else figures.checkpointed++;
  }
}

/** Compares a bill with the upstream's output, whether or not a client saw the end. */
function compareCall(
  record: UsageRow,
  calls: readonly Call[],
  sighting: Sighting | undefined,
  { figures, faults }: Comparison,
): void {
  const { outcome, output_tokens: billed } = record;
  const exact = Math.max(...calls.map(tokensOf));
  const mostTokens = Math.max(record.model === 'even' ? exact : exact * VARIED_EXCESS, 1);
  const describe = () => `${JSON.stringify(record)}; sent ${exact} tokens`;
  if (billed > mostTokens || nano(record.cost) > costOf(record.input_tokens, mostTokens))
    faults.push(`overbilled: ${describe()}`);
  if (outcome === 'completed') {
    const isWhole = calls.some(({ isFinished, order }) => isFinished && outputTokensOf(order) === billed);
    if (!isWhole || record.usage_source !== 'reported') faults.push(`billed as complete: ${describe()}`);
    if (sighting?.isAcknowledged !== true) figures.billedUnseen++;
  } else if (outcome === 'service_cut') {
    figures.checkpointTokens += billed;
    figures.checkpointExactTokens += exact;
  } else if (record.usage_source === 'estimated') {
    figures.estimated++;
    figures.estimatedTokens += billed;
    figures.estimatedExactTokens += exact;
  }
}

/** Whether the provider began to answer shortly before the kill. Unknown for the sandbox, whose answers are short. */
function isYoung({ calls, killedAtMs }: RoundFacts, mark: number | null): boolean {
  const begunAtMs = (mark === null ? undefined : calls.get(mark)?.[0]?.sent[0]?.atMs) ?? killedAtMs;
  return killedAtMs - begunAtMs < UNSAVED_MS_MAX;
}

/** Checks that long streams are billed for output that came early enough before the crash. */
function compareLate({ seen, calls, books, killedAtMs }: RoundFacts, { figures, faults }: Comparison): void {
  for (const { mark, requestId, model } of seen.sightings) {
    const record = requestId === null ? undefined : books.records.get(requestId);
    const call = mark === null ? undefined : calls.get(mark)?.at(-1);
    const begunAtMs = call?.sent[0]?.atMs ?? killedAtMs;
    if (record?.outcome !== 'service_cut' || call === undefined || model !== 'even') continue;
    if (killedAtMs - begunAtMs < LATE_STREAM_MS) continue;
    const billed = nano(record.cost) > 0 ? record.output_tokens : 0;
    const sentBefore = (ms: number) => tokensOf({ sent: call.sent.filter(({ atMs }) => atMs <= killedAtMs - ms) });
    figures.lateStreams++;
    if (billed >= sentBefore(UNSAVED_MS_MAX)) figures.lateCovered++;
    if (billed < sentBefore(UNSAVED_MS_MAX + LATENESS_MS))
      faults.push(`not saved in time: ${JSON.stringify(record)}; sent ${tokensOf(call)} tokens`);
  }
}

/** Checks all books by themselves. */
export function compareBooks(
  books: Books,
  seen: readonly Seen[],
  report: { ok: boolean; open_holds: number },
): string[] {
  const faults: string[] = [];
  if (!report.ok || report.open_holds !== 0) faults.push(`the check: ${JSON.stringify(report)}`);
  for (const [account, entries] of books.entries) {
    const { balance, held } = books.accounts.get(account) ?? { balance: '', held: '' };
    const sum = [...entries.values()].reduce((total, { change }) => total + nano(change), 0);
    if (nano(balance) !== sum) faults.push(`unbalanced: ${account} has ${balance}, its entries come to ${sum}`);
    if (nano(held) !== 0) faults.push(`leaked: ${account} holds ${held}`);
    if (sum < 0) faults.push(`below its floor: ${account} has ${balance}`);
    const bills = [...entries.values()].flatMap(({ kind, reference }) => (kind === 'usage' ? [reference] : []));
    const twice = bills.filter((reference, at) => bills.indexOf(reference) !== at);
    if (twice.length > 0) faults.push(`billed twice: ${twice.join(' ')} have two entries`);
  }
  const given = [...books.entries.values()].flatMap((entries) => [...entries.values()].filter(isCredit));
  for (const { credits } of seen) {
    for (const [reference, { amount, isAnswered }] of credits) {
      const amounts = given.filter((entry) => entry.reference === reference).map(({ change }) => nano(change));
      const isRight = amounts.length === 1 && amounts[0] === nano(amount);
      if (!isRight && (isAnswered || amounts.length > 0))
        faults.push(
          `credit ${reference} of ${amount}, answered: ${isAnswered}; given: ${amounts.join(' ') || 'never'}`,
        );
    }
  }
  return faults;
}

function isCredit({ kind }: { kind: string }): boolean {
  return kind === 'payment' || kind === 'promotion' || kind === 'adjustment';
}

function tokensOf({ sent }: Pick<Call, 'sent'>): number {
  return sent.reduce((sum, { tokens }) => sum + tokens, 0);
}

function bytesOf({ sent }: Call): number {
  return sent.reduce((sum, { bytes }) => sum + bytes, 0);
}

// Questions and answers as they travel between the main thread and the reports' thread: as text,
// which costs both less than clones of objects do.

import { type ErrorCode, errorTable, TurnpikeError } from '../../errors.ts';
import type { UsageTotal, UsageTotals } from '../../ledger/ledger.ts';
import type { ReportReads } from './report-reads.ts';

export type ReportName = keyof ReportReads;

/** What the main thread sends: what to open, then a question; the next one only when that is answered. */
export type ToReports = { open: { path: string } } | { report: ReportName; page: unknown };
/** What comes back. `refused`: the question itself is at fault. */
export type FromReports =
  | { opened: true }
  | { failed: string }
  | { answer: unknown }
  | { refused: { code: ErrorCode; message: string } };

/** Asks one question of the reads, and gives what is to be sent back. Never throws. */
export async function answerReport(
  reads: ReportReads,
  { report, page }: { report: ReportName; page: unknown },
): Promise<FromReports> {
  try {
    const answer = await reads[report](page as never);
    return { answer: report === 'totalUsage' ? packTotals(answer as UsageTotals) : answer };
  } catch (failure) {
    if (failure instanceof TurnpikeError) return { refused: { code: failure.code, message: failure.message } };
    return { failed: String(failure) };
  }
}

/** The value of an answer. Throws the error that came instead of it. */
export function readAnswer(report: ReportName, message: FromReports): unknown {
  if ('answer' in message)
    return report === 'totalUsage' ? unpackTotals(message.answer as PackedTotals) : message.answer;
  if ('refused' in message && message.refused.code in errorTable)
    throw new TurnpikeError(message.refused.code, message.refused.message);
  throw reportsGone('failed' in message ? message.failed : 'no answer came');
}

export function reportsGone(cause: unknown): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'The store cannot be read at the moment.', { cause });
}

type PackedTotal = { [Member in keyof UsageTotal]: UsageTotal[Member] extends bigint ? string : UsageTotal[Member] };
type PackedTotals = { rows: PackedTotal[]; groups: number; whole: PackedTotal };

/** JSON has no whole numbers beyond 2^53, and sums have. */
function packTotals({ rows, groups, whole }: UsageTotals): PackedTotals {
  const pack = (total: UsageTotal): PackedTotal => ({
    ...total,
    cost: String(total.cost),
    writtenOff: String(total.writtenOff),
    providerCost: String(total.providerCost),
    costedRevenue: String(total.costedRevenue),
  });
  return { rows: rows.map(pack), groups, whole: pack(whole) };
}

function unpackTotals({ rows, groups, whole }: PackedTotals): UsageTotals {
  const unpack = (total: PackedTotal): UsageTotal => ({
    ...total,
    cost: BigInt(total.cost),
    writtenOff: BigInt(total.writtenOff),
    providerCost: BigInt(total.providerCost),
    costedRevenue: BigInt(total.costedRevenue),
  });
  return { rows: rows.map(unpack), groups, whole: unpack(whole) };
}

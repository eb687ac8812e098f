// Questions and answers as they travel between the main thread and the reports' thread: as text. The
// rows of an answer are lines of a few each, so that they can be read with pauses between.

import { nextTurn } from '../../base/next-turn.ts';
import { bounds } from '../../config.ts';
import { type ErrorCode, errorTable, TurnpikeError } from '../../errors.ts';
import type { ReportReads } from './report-reads.ts';

export type ReportName = keyof ReportReads;

/** What the main thread sends: what to open, then a question; the next one only when that is answered. */
export type ToReports = { open: { path: string } } | { report: ReportName; page: unknown };

/** The first line of what comes back; the rows of a list follow it. `refused`: the question itself is at fault. */
type Heading =
  | { opened: true }
  | { failed: string }
  | { refused: { code: ErrorCode; message: string } }
  | { value: unknown }
  /** Of a search: `next` is from where it goes on. */
  | { rows: number; next?: number | null };

/** Asks one question of the reads, and gives the text to send back. Never throws. */
export async function answerReport(
  reads: ReportReads,
  { report, page }: { report: ReportName; page: unknown },
): Promise<string> {
  try {
    const answer = await reads[report](page as never);
    if (Array.isArray(answer)) return writeRows(answer, {});
    return answer !== null && 'next' in answer
      ? writeRows(answer.rows, { next: answer.next })
      : heading({ value: answer });
  } catch (failure) {
    if (!(failure instanceof TurnpikeError)) return heading({ failed: String(failure) });
    return heading({ refused: { code: failure.code, message: failure.message } });
  }
}

/** That the database is open, or why it is not. */
export function heading(heading: Heading): string {
  return JSON.stringify(heading, (_, value) => (typeof value === 'bigint' ? { [BIGINT]: String(value) } : value));
}

/** JSON has no whole numbers beyond 2^53, and sums have. */
const BIGINT = '$bigint';

function readHeading(text: string): Heading {
  return JSON.parse(text, (_, value) => (value?.[BIGINT] === undefined ? value : BigInt(value[BIGINT])));
}

function writeRows(rows: readonly unknown[], more: { next?: number | null }): string {
  const lines = [heading({ rows: rows.length, ...more })];
  for (let at = 0; at < rows.length; at += bounds.rowsAtOnce)
    lines.push(JSON.stringify(rows.slice(at, at + bounds.rowsAtOnce)));
  return lines.join('\n');
}

/** What an answer says. Throws the error that came instead of one. */
export async function readAnswer(text: string): Promise<unknown> {
  const [first = '', ...lines] = text.split('\n');
  const said = readHeading(first);
  if ('value' in said) return said.value;
  if ('refused' in said && said.refused.code in errorTable)
    throw new TurnpikeError(said.refused.code, said.refused.message);
  if (!('rows' in said)) throw reportsGone('failed' in said ? said.failed : 'no answer came');
  const rows: unknown[] = [];
  for (const [at, line] of lines.entries()) {
    if (at > 0) await nextTurn();
    rows.push(...(JSON.parse(line) as unknown[]));
  }
  return said.next === undefined ? rows : { rows, next: said.next };
}

/** Whether the thread says that it has opened its database; else why it has not. */
export function readOpening(text: string): { opened: boolean; cause: string } {
  const said = readHeading(text);
  return { opened: 'opened' in said, cause: 'failed' in said ? said.failed : 'no answer came' };
}

export function reportsGone(cause: unknown): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'The store cannot be read at the moment.', { cause });
}

// The models, keys and accounts with the highest cost between two times, from the records. Reads are bounded in rows
// and time like those of timelines; `countedSinceMs` says where counting starts.

import { integerOf } from '../base/checked-number.ts';
import { retainedSinceNames } from '../ledger/ledger.ts';
import { gatherTop, type TopQuestion, type UsageStore, type UsageTotal } from '../reports/reports.ts';
import { Bindings, LAST, numbers, type Position, type SqlReader } from './sql-reader.ts';
import { RUN_SUMS, TIMELINE_LIMITS, type TimelineLimits } from './timeline-reads.ts';
import { readTotal, type TotalsRow } from './totals-reads.ts';
import { findEnd, nearestEnd, ownersOf, type UsageOwner, usageRange, usageScopes } from './usage-reads.ts';

/** Records of whole milliseconds, the newest first. */
interface Run {
  sinceMs: number;
  start: Position;
}

export function topReads(on: SqlReader, fewer: Partial<TimelineLimits> = {}): Pick<UsageStore, 'topOfRecords'> {
  const { recordsMax, runRows, readMsMax } = { ...TIMELINE_LIMITS, ...fewer };
  const scopeOf = usageScopes(on);
  const retainedSince = on.prepare<{ value: string }>('SELECT value FROM installation WHERE name = $1');
  return {
    async topOfRecords(question) {
      const startedAtMs = performance.now();
      const isLate = () => performance.now() - startedAtMs > readMsMax;
      const owners = ownersOf(await scopeOf(question));
      const [retained] = await retainedSince(retainedSinceNames.usage);
      const newest: Position = [question.untilMs ?? LAST, LAST];
      const untilMs = question.untilMs ?? Date.now(); // where counting starts if no record could be read in time
      let sinceMs = Math.max(question.sinceMs ?? 0, retained === undefined ? 0 : integerOf(retained.value));
      const sources = owners.map((owner) => ({ owner, outcome: null }));
      const end = await nearestEnd(on, sources, { sinceMs, start: newest }, recordsMax);
      if (end !== null) sinceMs = end[0] + 1;
      const runs: UsageTotal[][] = [];
      for (const owner of owners)
        for (let start = newest; start[0] >= sinceMs; ) {
          if (isLate() && owners.length > 1) return { ...(await gatherTop([], question)), countedSinceMs: untilMs };
          if (isLate()) {
            sinceMs = Math.min(start[0], untilMs) + 1;
            break;
          }
          await on.rest();
          const last = await findEnd(on, { owner, outcome: null, sinceMs, start }, runRows);
          const run = { sinceMs: last === null ? sinceMs : Math.min(last[0] + 1, start[0]), start };
          runs.push(await sumRun(on, owner, run, question));
          start = [run.sinceMs - 1, LAST];
        }
      return { ...(await gatherTop(runs, question)), countedSinceMs: sinceMs };
    },
  };
}

async function sumRun(
  on: SqlReader,
  owner: UsageOwner,
  run: Run,
  { model }: Pick<TopQuestion, 'model'>,
): Promise<UsageTotal[]> {
  const bindings = new Bindings();
  const records = usageRange(on, bindings, { ...run, owner, outcome: null });
  const ofModel = model === null ? '' : `WHERE r.model = ${bindings.add(model)}`; // the model has no index
  const rows = await on.read<Omit<TotalsRow, 'count'>>(
    `SELECT ${numbers(on, 'account_id', 'key_id')}, r.model, ${RUN_SUMS} FROM (SELECT r.* ${records}) r ${ofModel}
     GROUP BY r.account_id, r.key_id, r.model`,
    ...bindings.values,
  );
  return rows.map(readTotal);
}

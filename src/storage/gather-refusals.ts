// Adds up refused requests that a store has grouped in runs.

import type { RefusalGrouping, RefusalTotal, RefusalTotals } from '../traffic/traffic.ts';

/** The latest times, or the other groups with most refusals; and the sum of all groups. */
export async function gatherRefusals(
  runs: AsyncIterable<readonly RefusalTotal[]>,
  { groupBy, limit }: { groupBy: RefusalGrouping; limit: number },
): Promise<RefusalTotals> {
  const groups = new Map<string, RefusalTotal>();
  const whole: RefusalTotal = { atMs: null, account: null, key: null, code: null, count: 0, lastAtMs: null };
  for await (const run of runs)
    for (const part of run) {
      const name = `${part.atMs} ${part.account} ${part.key} ${part.code}`;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, { ...part });
      else add(group, part);
      add(whole, part);
    }
  const isByTime = groupBy !== 'code' && groupBy !== 'key' && groupBy !== 'account';
  const rows = [...groups.values()].sort((one, other) =>
    isByTime
      ? (other.atMs ?? 0) - (one.atMs ?? 0)
      : other.count - one.count || (other.lastAtMs ?? 0) - (one.lastAtMs ?? 0),
  );
  return { rows: rows.slice(0, limit), groups: rows.length, whole };
}

function add(sum: RefusalTotal, { count, lastAtMs }: RefusalTotal): void {
  sum.count += count;
  sum.lastAtMs = Math.max(sum.lastAtMs ?? 0, lastAtMs ?? 0);
}

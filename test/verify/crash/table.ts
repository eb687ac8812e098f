// Prints the figures of a run as a table: one row per point, and a total.

import { formatUsd } from '../../../src/base/money.ts';
import { addFigures, type Figures, noFigures } from './compare.ts';

/** Results of all rounds of one point. */
export interface Line {
  kills: number;
  /** Rounds that ended by the time limit before the point was reached. */
  unreached: number;
  failedRounds: number;
  faults: number;
  /** Time from the start of the load to the kill, over all rounds. */
  loadMs: number;
  figures: Figures;
}

export function noLine(): Line {
  return { kills: 0, unreached: 0, failedRounds: 0, faults: 0, loadMs: 0, figures: noFigures() };
}

const columns: readonly [string, (line: Line) => string | number][] = [
  ['kills', ({ kills }) => kills],
  ['missed', ({ unreached }) => unreached],
  ['load s', ({ kills, unreached, loadMs }) => (loadMs / 1000 / Math.max(1, kills + unreached)).toFixed(2)],
  ['requests', ({ figures }) => figures.requests],
  ['acked', ({ figures }) => figures.acknowledged],
  ['billed', ({ figures }) => figures.billed],
  ['unseen', ({ figures }) => figures.billedUnseen],
  ['cut: free', ({ figures }) => figures.uncharged],
  ['billed', ({ figures }) => figures.checkpointed],
  ['tokens/exact', ({ figures }) => `${figures.checkpointTokens}/${figures.checkpointExactTokens}`],
  ['late', ({ figures }) => `${figures.lateCovered}/${figures.lateStreams}`],
  ['estimated', ({ figures }) => figures.estimated],
  ['tokens/exact', ({ figures }) => `${figures.estimatedTokens}/${figures.estimatedExactTokens}`],
  ['written off', ({ figures }) => formatUsd(figures.writtenOff)],
  ['faults', ({ faults }) => faults],
];

const LEGEND = `acked: the client saw the end; billed: at the cost of the usage that it saw; unseen: billed to the end, which
its client did not see; cut: by the kill, charged nothing or billed to a checkpoint, its tokens against the upstream's;
late: of streams that had lasted, those billed for all that came until 2 s before the kill; estimated: ended earlier.`;

/** All rows and their total. */
export function describeLines(lines: ReadonlyMap<string, Line>): string {
  const sum = noLine();
  for (const line of lines.values()) add(sum, line);
  const rows = [...lines, ['all', sum] as const].map(([label, line]) => [
    label,
    ...columns.map(([, of]) => `${of(line)}`),
  ]);
  const all = [['', ...columns.map(([name]) => name)], ...rows];
  const widths = all[0]?.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0))) ?? [];
  const text = all.map((row) => row.map((cell, at) => pad(cell, widths[at] ?? 0, at === 0)).join('  '));
  return `${text.join('\n')}\n\n${LEGEND}`;
}

function add(sum: Line, { figures, ...counts }: Line): void {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) sum[name] += counts[name];
  addFigures(sum.figures, figures);
}

function pad(cell: string, width: number, isName: boolean): string {
  return isName ? cell.padEnd(width) : cell.padStart(width);
}

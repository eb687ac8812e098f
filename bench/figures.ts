// Figures of the benchmarks, each measured in several rounds, and the table that compares some of them with their gates.

export interface Figure {
  what: string;
  unit: 'x' | 'µs' | 'ms' | 'MB';
  /** One per round. */
  values: readonly number[];
  /** The most that it may be, of gates.ts. */
  gate?: number | null;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)] ?? Number.NaN;
}

/** Measures several costs in turns, so that other load affects them alike. The first round warms up. */
export async function inTurns(rounds: number, measures: readonly (() => Promise<number>)[]): Promise<number[][]> {
  const values: number[][] = measures.map(() => []);
  for (let round = -1; round < rounds; round++)
    for (const [at, measure] of measures.entries()) {
      const value = await measure();
      if (round >= 0) values[at]?.push(value);
    }
  return values;
}

/** Divides the figures of the same round, which other load affects alike. */
export function ratios(values: readonly number[], ofOther: readonly number[]): number[] {
  return values.map((value, round) => value / (ofOther[round] ?? Number.NaN));
}

/** Half of the range that the middle half of the rounds covers. */
function noiseOf({ values }: Figure): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

/** The median exceeds the gate by more than the noise. A figure that is missing exceeds its gate, too. */
export function exceedsGate(figure: Figure): boolean {
  const { values, gate = null } = figure;
  return gate !== null && !(median(values) - noiseOf(figure) <= gate);
}

/** A row of a Markdown table with the columns what, figure, noise, gate. */
export function rowOf(figure: Figure): string {
  const { what, unit, values, gate = null } = figure;
  const show = (value: number) => `${value.toPrecision(value < 100 ? 2 : 3)} ${unit}`;
  const verdict = gate === null ? '' : `${show(gate)}${exceedsGate(figure) ? ', exceeded' : ''}`;
  return `| ${what} | ${show(median(values))} | ± ${show(noiseOf(figure))} | ${verdict} |`;
}

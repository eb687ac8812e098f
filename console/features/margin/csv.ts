// The margin of a period by group, as CSV: the figures of both periods, and the quantity and revenue of each unit.

import type { MarginGroupShape, MarginShape } from '../../../src/admin-api/shapes.ts';
import { csvLine } from '../../parts/csv-button.tsx';
import { UNITS } from '../../units.ts';
import type { marginGroupings } from './texts.ts';

const FIGURES = ['messages', 'revenue', 'provider_cost', 'margin', 'margin_percent', 'revenue_without_margin'] as const;

type Figures = MarginShape['total'];

/** The last line is the total of all groups, also of those that are not listed. */
export function marginCsv({ data, total, previous }: MarginShape, grouping: keyof typeof marginGroupings): string {
  const names = [...FIGURES, ...UNITS.flatMap((unit) => [unit, `${unit}_revenue`])];
  const header = [grouping, ...names, ...names.map((name) => `previous_${name}`)];
  const line = (name: string | null, now: Figures, before: Figures) =>
    csvLine([name, ...valuesOf(now), ...valuesOf(before)]);
  const ofRow = (row: MarginGroupShape) => line(row[grouping], row, row.previous);
  return [csvLine(header), ...data.map(ofRow), line('total', total, previous)].join('');
}

function valuesOf(figures: Figures): (string | number | null | undefined)[] {
  const ofUnits = UNITS.flatMap((unit) => [figures.units?.[unit]?.quantity, figures.units?.[unit]?.cost]);
  return [...FIGURES.map((name) => figures[name]), ...ofUnits];
}

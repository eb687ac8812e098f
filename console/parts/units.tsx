// The units of a row of a table.

import { type UnitUses, unitsUsed, unitText } from '../units.ts';

/** A line for each unit. */
export function UnitLines({ units }: { units: UnitUses }) {
  const used = unitsUsed(units);
  if (used.length === 0) return '–';
  return used.map(({ unit, quantity }) => (
    <div key={unit} className="tabular">
      {unitText(unit, quantity)}
    </div>
  ));
}

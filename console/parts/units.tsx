// The units of a row of a table.

import { type UnitUses, unitCostText, unitsUsed, unitText } from '../units.ts';

/** A line for each unit; with its part of the cost, if `hasCosts`. */
export function UnitLines({ units, hasCosts = false }: { units: UnitUses; hasCosts?: boolean }) {
  const used = unitsUsed(units);
  if (used.length === 0) return '–';
  return used.map(({ unit, quantity, cost }) => (
    <div key={unit} className="tabular">
      {hasCosts ? unitCostText(unit, quantity, cost) : unitText(unit, quantity)}
    </div>
  ));
}

// A monthly statement as CSV: one table, in which each line says what it is of. Amounts are exact.

import type { StatementShape } from '../src/admin-api/shapes.ts';
import { csvLine } from './parts/csv-button.tsx';

const COLUMNS = [
  'part',
  'name',
  'at',
  'messages',
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
  'cost',
  'written_off',
  'amount',
  'reference',
  'note',
] as const;

type Line = Partial<Record<(typeof COLUMNS)[number], string | number | null>>;

export function statementCsv(statement: StatementShape, accountName: string): string {
  const sums = ['opening_balance', 'credited', 'used', 'refunded', 'corrected', 'closing_balance'] as const;
  const lines: Line[] = [
    { part: 'account', name: accountName, reference: statement.account, at: statement.month },
    ...sums.map((name) => ({ part: 'summary', name, amount: statement[name] })),
    ...statement.entries.map(({ at, kind, change, reference, note }) => ({
      part: 'entry',
      name: kind,
      at,
      amount: change,
      reference,
      note,
    })),
    ...statement.by_model.map(({ model, ...used }) => ({ part: 'model', name: model, ...used })),
    ...statement.by_key.map(({ key, ...used }) => ({ part: 'key', name: key, ...used })),
    ...statement.by_day.map(({ day, ...used }) => ({ part: 'day', name: day, ...used })),
    { part: 'total', ...statement.usage },
  ];
  return [csvLine(COLUMNS), ...lines.map((line) => csvLine(COLUMNS.map((column) => line[column])))].join('');
}

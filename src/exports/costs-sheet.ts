// The file with costs by one or two dimensions. Its sums add up to those of the statements: `balance_paid` to what messages
// used, `refunded` and `corrected` to what was given back.

import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { UNITS, type Unit, unitEntries } from '../wire/wire.ts';
import { type AnyColumn, columnsFor } from './columns.ts';
import { isByAccount, type Member, memberColumns, memberOf, valuesOf } from './dimensions.ts';
import type { ExportQuestion, Reading } from './export-question.ts';
import { makeNames, type Names } from './names.ts';
import { type Charge, readCharges } from './read-charges.ts';
import type { Sheet } from './sheet.ts';

/** A group and its sums. Counts stay below 2^53; amounts may not. */
interface CostRow {
  values: (number | string | null)[];
  members: Member[];
  messages: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  balancePaid: bigint;
  planPaid: bigint;
  writtenOff: bigint;
  refunded: bigint;
  corrected: bigint;
  providerCost: bigint;
  costedMessages: number;
  units: Partial<Record<Unit, number>>;
}

/** By the texts of their values. */
type Groups = Map<string, CostRow>;

const { sum, whole } = columnsFor<CostRow>();

const sumColumns: readonly AnyColumn[] = [
  whole('messages', (row) => row.messages),
  whole('input_tokens', (row) => row.inputTokens),
  whole('output_tokens', (row) => row.outputTokens),
  whole('cache_read_input_tokens', (row) => row.cacheReadTokens),
  whole('cache_creation_input_tokens', (row) => row.cacheWriteTokens),
  sum('balance_paid', (row) => row.balancePaid),
  sum('plan_paid', (row) => row.planPaid),
  sum('written_off', (row) => row.writtenOff),
  sum('refunded', (row) => row.refunded),
  sum('corrected', (row) => row.corrected),
  ...UNITS.map((unit) => whole(unit, ({ units }) => units[unit] ?? 0)),
];

const providerColumns: readonly AnyColumn[] = [
  sum('provider_cost', (row) => row.providerCost),
  whole('costed_messages', (row) => row.costedMessages),
];

export function costsSheet(reading: Reading, question: ExportQuestion): Sheet {
  const { by, hasProviderCost } = question;
  const names = makeNames(reading.sources, question.reader);
  return {
    columns: [...memberColumns(by), ...sumColumns, ...(hasProviderCost ? providerColumns : [])],
    async *pages(from) {
      const shared: Groups = new Map(); // complete at the end
      let own: Groups = new Map(); // of an account that is alone: complete when it has been read
      let account: number | null = null;
      for await (const { charges, next, isAlone } of readCharges(reading, question, from)) {
        if (account !== next.account && own.size > 0) {
          yield { rows: await finish(own, question, names), next: null };
          own = new Map();
        }
        account = next.account;
        for (const charge of charges) {
          const isOwn = isAlone && isByAccount(by) && charge.account === account;
          addCharge(isOwn ? own : shared, question, charge);
        }
        if (own.size + shared.size > bounds.exportGroupsMax) throw tooManyGroups();
      }
      for (const groups of [own, shared]) yield { rows: await finish(groups, question, names), next: null };
    },
  };
}

/** Only messages, and what was given back of them: credits and payments are no costs. */
function addCharge(groups: Groups, question: ExportQuestion, charge: Charge): void {
  const { kind, record, balancePaid, planPaid, writtenOff } = charge;
  if (kind !== 'message' && kind !== 'refund' && kind !== 'correction') return;
  const values = valuesOf(question, charge);
  const name = JSON.stringify(values);
  const row = groups.get(name) ?? emptyRow(values);
  if (row.messages === 0 && !groups.has(name)) groups.set(name, row);
  row.planPaid += BigInt(planPaid);
  row.writtenOff += BigInt(writtenOff);
  if (kind === 'refund') row.refunded -= BigInt(balancePaid);
  else if (kind === 'correction') row.corrected -= BigInt(balancePaid);
  else {
    row.balancePaid += BigInt(balancePaid);
    row.messages++;
    if (record !== null) addRecord(row, record);
  }
}

function addRecord(row: CostRow, record: NonNullable<Charge['record']>): void {
  row.inputTokens += record.inputTokens;
  row.outputTokens += record.outputTokens;
  row.cacheReadTokens += record.cacheReadTokens;
  row.cacheWriteTokens += record.cacheWrite5mTokens + record.cacheWrite1hTokens;
  if (record.units !== undefined && record.unitCosts !== undefined)
    for (const [unit, count] of unitEntries(record.units)) row.units[unit] = (row.units[unit] ?? 0) + count;
  if (record.providerCost === null) return;
  row.providerCost += BigInt(record.providerCost);
  row.costedMessages++;
}

function emptyRow(values: CostRow['values']): CostRow {
  const counts = { messages: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const amounts = { balancePaid: 0n, planPaid: 0n, writtenOff: 0n, refunded: 0n, corrected: 0n, providerCost: 0n };
  return { values, members: [], ...counts, ...amounts, costedMessages: 0, units: {} };
}

/** In the order of the values, so that the same data gives the same file. */
async function finish(groups: Groups, { by }: ExportQuestion, names: Names): Promise<CostRow[]> {
  const rows = [...groups.values()].sort((one, other) => compareValues(one.values, other.values));
  for (const [number, row] of rows.entries()) {
    if (number % bounds.exportPageRows === 0) await nextTurn();
    for (const [at, dimension] of by.entries())
      row.members.push(await memberOf(dimension, row.values[at] ?? null, names));
  }
  return rows;
}

function compareValues(one: CostRow['values'], other: CostRow['values']): number {
  for (const [at, value] of one.entries()) {
    const [left, right] = [value ?? '', other[at] ?? ''];
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

function tooManyGroups(): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    `by: has more than ${bounds.exportGroupsMax} groups: choose fewer dimensions, a shorter time, or kind records`,
  );
}

// `turnpike usage`: lists usage records, or adds them up with --totals, which is another operation of the admin API.

import { bounds } from '../config/config.ts';
import { openClient, type Row } from './admin-client.ts';
import { flagsOf, limitFlag, rowLimit } from './api-command.ts';
import { type Command, clientFlags, type Invocation, WrongUsage } from './command.ts';
import { type FieldFlag, readFields } from './flags.ts';
import { type Column, columns, onePage, printObject, printRows } from './output.ts';

const filters = flagsOf('usage-list');
const filtersOfTotals = flagsOf('usage-total');
const sort = {
  ...filters['sort'],
  help: 'the column to sort by. By anything but at, only a bounded number of the newest records is compared; then a line on stderr says since when (at, cost, tokens or latency; default: at)',
} as FieldFlag;
const totals = {
  ...filtersOfTotals['group-by'],
  value: 'GROUP',
  help: 'adds up whole days (UTC) by day, model, key or account',
} as FieldFlag;

export const usage: Command = {
  name: 'usage',
  summary: 'List usage records, newest first, or add them up',
  flags: { ...filters, sort, totals, limit: limitFlag, ...clientFlags },
  async run(invocation) {
    const query = readFields(filters, invocation.flags) as Record<string, string>;
    const { group_by: group } = readFields({ totals }, invocation.flags);
    const limit = rowLimit(invocation);
    if (typeof group === 'string') return printTotals(invocation, group, query, limit);
    const pages = (await openClient(invocation)).pages('/usage', query, limit);
    await printRows(invocation, pages, usageColumns, 'No usage records match.');
    return 0;
  },
};

const COUNTS = 'input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens';
const usageColumns: readonly Column[] = columns(`at request_id key model outcome ${COUNTS} usage_source cost margin`);
const totalColumns: readonly Column[] = columns(
  `messages ${COUNTS} cost written_off provider_cost margin revenue_without_margin`,
);

/** Prints the groups and, as the last row, their total; with --json one object. */
async function printTotals(
  invocation: Invocation,
  group: string,
  query: Record<string, string>,
  limit: number,
): Promise<number> {
  const other = Object.keys(filters).find((name) => invocation.flags[name] !== undefined && !(name in filtersOfTotals));
  if (other !== undefined) throw new WrongUsage(`--${other} cannot be combined with --totals`);
  if (limit > bounds.pageItemsMax) throw new WrongUsage(`--limit must be at most ${bounds.pageItemsMax} with --totals`);
  const asked = { ...query, limit: String(limit), group_by: group };
  const totals = await (await openClient(invocation)).get('/usage/totals', asked);
  if (invocation.json) {
    await printObject(invocation, totals, []);
    return 0;
  }
  const rows = totals['data'] as Row[];
  const hidden = (totals['groups'] as number) - rows.length;
  const total = { ...(totals['total'] as Row), [group]: 'all' };
  const shown: Column[] = [[group.toUpperCase(), group], ...totalColumns];
  await printRows(invocation, onePage(rows.length === 0 ? [] : [...rows, total]), shown, 'No usage matches.');
  if (hidden > 0) await invocation.world.writeError(`${hidden} more rows are included in the total but not shown.\n`);
  return 0;
}

// `turnpike usage`: lists usage records, or adds them up with --totals, which is another operation of the admin API.

import { bounds } from '../config/config.ts';
import { totalsGroupings } from '../reports/reports.ts';
import { openClient, type Row } from './admin-client.ts';
import { type FieldFlag, flag, LIST_ROWS_DEFAULT, readFields, rowLimit, sinceFlag, untilFlag } from './api-command.ts';
import { type Command, clientFlags, type Invocation, WrongUsage } from './command.ts';
import { choice, text } from './flags.ts';
import { type Column, columns, onePage, printObject, printRows } from './output.ts';

export const outcomes = [
  'completed',
  'client_gone',
  'upstream_cut',
  'quota_cut',
  'service_cut',
  'failed',
  'not_completed',
] as const;

export const usageFlags: Record<string, FieldFlag> = {
  account: flag('ID', 'account', text, 'only usage of this account'),
  key: flag('ID', 'key', text, 'only usage of this key'),
  model: flag('MODEL', 'model', text, 'only usage of this model'),
  outcome: flag('OUTCOME', 'outcome', choice(outcomes), `only messages with this outcome: ${outcomes.join(', ')}`),
  since: sinceFlag,
  until: untilFlag,
};

export const usage: Command = {
  name: 'usage',
  summary: 'lists usage records, newest first, or adds them up',
  flags: {
    ...usageFlags,
    totals: { value: 'GROUP', help: `adds up whole days (UTC) by ${totalsGroupings.join(', ')}` },
    limit: { value: 'N', help: `the maximum number of rows to print (default: ${LIST_ROWS_DEFAULT})` },
    ...clientFlags,
  },
  async run(invocation) {
    const { totals } = invocation.flags;
    const query = readFields(usageFlags, invocation.flags) as Record<string, string>;
    const grouping = typeof totals === 'string' ? choice(totalsGroupings)(totals, '--totals') : null;
    const limit = rowLimit(invocation, LIST_ROWS_DEFAULT);
    if (grouping === null) {
      const pages = (await openClient(invocation)).pages('/usage', query, limit);
      await printRows(invocation, pages, usageColumns, 'No usage records match.');
      return 0;
    }
    if (query['outcome'] !== undefined) throw new WrongUsage('--outcome cannot be combined with --totals');
    if (limit > bounds.pageItemsMax)
      throw new WrongUsage(`--limit must be at most ${bounds.pageItemsMax} with --totals`);
    return printTotals(invocation, grouping, { ...query, limit: String(limit), group_by: grouping });
  },
};

const COUNTS = 'input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens';
const usageColumns: readonly Column[] = columns(`at request_id key model outcome ${COUNTS} usage_source cost margin`);
const totalColumns: readonly Column[] = columns(
  `messages ${COUNTS} cost written_off provider_cost margin revenue_without_margin`,
);

/** Prints the groups and, as the last row, their total; with --json one object. */
async function printTotals(invocation: Invocation, grouping: string, query: Record<string, string>): Promise<number> {
  const totals = await (await openClient(invocation)).get('/usage/totals', query);
  if (invocation.json) {
    await printObject(invocation, totals, []);
    return 0;
  }
  const rows = totals['data'] as Row[];
  const hidden = (totals['groups'] as number) - rows.length;
  const total = { ...(totals['total'] as Row), [grouping]: 'all' };
  const columns: Column[] = [[grouping.toUpperCase(), grouping], ...totalColumns];
  await printRows(invocation, onePage(rows.length === 0 ? [] : [...rows, total]), columns, 'No usage matches.');
  if (hidden > 0) await invocation.world.writeError(`${hidden} more rows are included in the total but not shown.\n`);
  return 0;
}

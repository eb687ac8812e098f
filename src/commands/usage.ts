// `turnpike usage`: what each message used and cost, or all of them added up.

import { bounds } from '../config.ts';
import { totalsGroupings } from '../ledger/ledger.ts';
import { type AdminClient, openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags, type Invocation, WrongUsage } from './command.ts';
import { choiceFlag, countFlag, textFlag, timeFlag } from './flags.ts';
import { type Column, printRows } from './output.ts';

export const LIST_LIMIT_DEFAULT = 100;

const outcomes = ['completed', 'client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'] as const;

export const usage: Command = {
  name: 'usage',
  summary: 'lists usage records, newest first, or adds them up',
  positionals: [],
  flags: {
    account: { value: 'ID', help: 'only those of this account' },
    key: { value: 'ID', help: 'only those of this key' },
    model: { value: 'MODEL', help: 'only those of this model' },
    outcome: { value: 'OUTCOME', help: `only those that ended so: ${outcomes.join(', ')}` },
    since: { value: 'TIME', help: 'only those from this time on, such as 2026-12-01T00:00:00Z' },
    until: { value: 'TIME', help: 'only those up to this time' },
    totals: { value: 'GROUP', help: `adds up whole days (UTC) by ${totalsGroupings.join(', ')}` },
    limit: { value: 'N', help: `at most so many (default: ${LIST_LIMIT_DEFAULT})` },
    ...clientFlags,
  },
  async run(invocation) {
    const { flags } = invocation;
    const query = {
      account: textFlag(flags, 'account'),
      key: textFlag(flags, 'key'),
      model: textFlag(flags, 'model'),
      since: timeFlag(flags, 'since'),
      until: timeFlag(flags, 'until'),
    };
    const outcome = choiceFlag(flags, 'outcome', outcomes);
    const grouping = choiceFlag(flags, 'totals', totalsGroupings);
    const limit = countFlag(flags, 'limit') ?? LIST_LIMIT_DEFAULT;
    if (grouping === undefined) {
      const client = await openClient(invocation);
      const pages = client.pages('/usage', { ...query, outcome }, limit);
      await printRows(invocation, pages, recordColumns, 'There are no such usage records.');
      return 0;
    }
    if (outcome !== undefined) throw new WrongUsage('--outcome: totals are not kept by how messages ended');
    if (limit > bounds.pageItemsMax)
      throw new WrongUsage(`--limit must be at most ${bounds.pageItemsMax} with --totals`);
    return printTotals(invocation, await openClient(invocation), grouping, { ...query, limit: String(limit) });
  },
};

const recordColumns: readonly Column[] = [
  ['AT', 'at'],
  ['REQUEST', 'request_id'],
  ['KEY', 'key'],
  ['MODEL', 'model'],
  ['OUTCOME', 'outcome'],
  ['INPUT', 'input_tokens'],
  ['OUTPUT', 'output_tokens'],
  ['CACHE READ', 'cache_read_input_tokens'],
  ['CACHE WRITE', 'cache_creation_input_tokens'],
  ['COUNTS', 'usage_source'],
  ['COST', 'cost'],
  ['MARGIN', 'margin'],
];

const totalColumns: readonly Column[] = [
  ['MESSAGES', 'messages'],
  ['INPUT', 'input_tokens'],
  ['OUTPUT', 'output_tokens'],
  ['CACHE READ', 'cache_read_input_tokens'],
  ['CACHE WRITE', 'cache_creation_input_tokens'],
  ['COST', 'cost'],
  ['WRITTEN OFF', 'written_off'],
  ['PROVIDER COST', 'provider_cost'],
  ['MARGIN', 'margin'],
  ['WITHOUT MARGIN', 'revenue_without_margin'],
];

/** One JSON object with groups and their total; for people a table whose last row is the total. */
async function printTotals(
  invocation: Invocation,
  client: AdminClient,
  grouping: string,
  query: Record<string, string | undefined>,
): Promise<number> {
  const { json, world } = invocation;
  const totals = await client.get('/usage/totals', { ...query, group_by: grouping });
  if (json) {
    await world.write(`${JSON.stringify(totals, null, 2)}\n`);
    return 0;
  }
  const rows = totals['data'] as Row[];
  const groups = totals['groups'] as number;
  const total = { ...(totals['total'] as Row), [grouping]: 'all' };
  const columns: Column[] = [[grouping.toUpperCase(), grouping], ...totalColumns];
  await printRows(invocation, onePage(rows.length === 0 ? [] : [...rows, total]), columns, 'There is no such usage.');
  if (groups > rows.length) await world.writeError(`${groups - rows.length} more are in the total and not shown.\n`);
  return 0;
}

async function* onePage(rows: Row[]): AsyncGenerator<Row[]> {
  yield rows;
}

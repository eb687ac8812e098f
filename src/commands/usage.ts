// `turnpike usage`: what each message used and cost.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { countFlag, textFlag, timeFlag } from './flags.ts';
import { printRows } from './output.ts';

export const LIST_LIMIT_DEFAULT = 100;

export const usage: Command = {
  name: 'usage',
  summary: 'lists usage records, newest first',
  positionals: [],
  flags: {
    account: { value: 'ID', help: 'only those of this account' },
    key: { value: 'ID', help: 'only those of this key' },
    since: { value: 'TIME', help: 'only those from this time on, such as 2026-12-01T00:00:00Z' },
    until: { value: 'TIME', help: 'only those before this time' },
    limit: { value: 'N', help: `at most so many (default: ${LIST_LIMIT_DEFAULT})` },
    ...clientFlags,
  },
  async run(invocation) {
    const { flags } = invocation;
    const query = {
      account: textFlag(flags, 'account'),
      key: textFlag(flags, 'key'),
      since: timeFlag(flags, 'since'),
      until: timeFlag(flags, 'until'),
    };
    const limit = countFlag(flags, 'limit') ?? LIST_LIMIT_DEFAULT;
    const client = await openClient(invocation);
    await printRows(
      invocation,
      client.pages('/usage', query, limit),
      [
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
      ],
      'There are no such usage records.',
    );
    return 0;
  },
};

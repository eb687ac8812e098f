// `turnpike ledger`: the journal of an account.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { countFlag, timeFlag } from './flags.ts';
import { printRows } from './output.ts';
import { LIST_LIMIT_DEFAULT } from './usage.ts';

export const ledger: Command = {
  name: 'ledger',
  summary: 'lists the journal entries of an account, newest first',
  positionals: ['ACCOUNT'],
  flags: {
    since: { value: 'TIME', help: 'only those from this time on, such as 2026-12-01T00:00:00Z' },
    until: { value: 'TIME', help: 'only those up to this time' },
    limit: { value: 'N', help: `at most so many (default: ${LIST_LIMIT_DEFAULT})` },
    ...clientFlags,
  },
  async run(invocation) {
    const { flags, positionals } = invocation;
    const query = { since: timeFlag(flags, 'since'), until: timeFlag(flags, 'until') };
    const limit = countFlag(flags, 'limit') ?? LIST_LIMIT_DEFAULT;
    const client = await openClient(invocation);
    await printRows(
      invocation,
      client.pages(`/accounts/${encodeURIComponent(positionals[0] as string)}/entries`, query, limit),
      [
        ['AT', 'at'],
        ['KIND', 'kind'],
        ['CHANGE', 'change'],
        ['DEBIT', 'debit'],
        ['CREDIT', 'credit'],
        ['REFERENCE', 'reference'],
        ['NOTE', 'note'],
      ],
      'There are no such entries.',
    );
    return 0;
  },
};

// `turnpike group list`: which models are sold to whom.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { printRows } from './output.ts';

export const groupCommands: readonly Command[] = [
  {
    name: 'group list',
    summary: 'lists the groups with their models, price factors and limits',
    positionals: [],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printRows(
        invocation,
        client.pages('/groups'),
        [
          ['NAME', 'name'],
          ['MODELS', 'models'],
          ['MULTIPLIER', 'multiplier'],
          ['REQUESTS/MIN', 'rpm'],
          ['INPUT TOKENS/MIN', 'input_tpm'],
          ['OUTPUT TOKENS/MIN', 'output_tpm'],
          ['CONCURRENCY', 'concurrency'],
        ],
        'There are no groups: add some with "turnpike apply".',
      );
      return 0;
    },
  },
];

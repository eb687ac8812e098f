// `turnpike provider list`: from where models come. Credentials are not shown.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { printRows } from './output.ts';

export const providerCommands: readonly Command[] = [
  {
    name: 'provider list',
    summary: 'lists the providers',
    positionals: [],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printRows(
        invocation,
        client.pages('/providers'),
        [
          ['NAME', 'name'],
          ['KIND', 'kind'],
          ['BASE URL', 'base_url'],
          ['CREDENTIAL', (row) => (row['has_credential'] ? 'yes' : 'no')],
        ],
        'There are no providers: add some with "turnpike apply".',
      );
      return 0;
    },
  },
];

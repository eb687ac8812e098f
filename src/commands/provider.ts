// `turnpike provider list`: from where models come. Credentials are not shown.

import type { Command } from './command.ts';
import { listCommand } from './list-command.ts';

export const providerCommands: readonly Command[] = [
  listCommand(
    {
      name: 'provider list',
      summary: 'lists the providers',
      whenEmpty: 'There are no providers: add some with "turnpike apply".',
    },
    '/providers',
    [
      ['NAME', 'name'],
      ['KIND', 'kind'],
      ['BASE URL', 'base_url'],
      ['CREDENTIAL', (row) => (row['has_credential'] ? 'yes' : 'no')],
    ],
  ),
];

// `turnpike group list`: which models are sold to whom.

import type { Command } from './command.ts';
import { listCommand } from './list-command.ts';

export const groupCommands: readonly Command[] = [
  listCommand(
    {
      name: 'group list',
      summary: 'lists the groups with their models, price factors and limits',
      whenEmpty: 'There are no groups: add some with "turnpike apply".',
    },
    '/groups',
    [
      ['NAME', 'name'],
      ['MODELS', 'models'],
      ['MULTIPLIER', 'multiplier'],
      ['REQUESTS/MIN', 'rpm'],
      ['INPUT TOKENS/MIN', 'input_tpm'],
      ['OUTPUT TOKENS/MIN', 'output_tpm'],
      ['CONCURRENCY', 'concurrency'],
    ],
  ),
];

// `turnpike model list`: what is sold.

import type { Row } from './admin-client.ts';
import type { Command } from './command.ts';
import { listCommand } from './list-command.ts';

export const modelCommands: readonly Command[] = [
  listCommand(
    {
      name: 'model list',
      summary: 'lists the models with their prices in USD per million tokens',
      whenEmpty: 'There are no models: add some with "turnpike apply".',
    },
    '/models',
    [
      ['NAME', 'name'],
      ['INPUT', (row) => (row['price'] as Row)['input']],
      ['OUTPUT', (row) => (row['price'] as Row)['output']],
      ['ALIASES', 'aliases'],
      ['ROUTES', (row) => (row['routes'] as Row[]).map((route) => `${route['provider']}/${route['model']}`)],
    ],
  ),
];

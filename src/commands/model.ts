// `turnpike model list`: what is sold.

import { openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { printRows } from './output.ts';

export const modelCommands: readonly Command[] = [
  {
    name: 'model list',
    summary: 'lists the models with their prices in USD per million tokens',
    positionals: [],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printRows(
        invocation,
        client.pages('/models'),
        [
          ['NAME', 'name'],
          ['INPUT', (row) => (row['price'] as Row)['input']],
          ['OUTPUT', (row) => (row['price'] as Row)['output']],
          ['ALIASES', 'aliases'],
          ['ROUTES', (row) => (row['routes'] as Row[]).map((route) => `${route['provider']}/${route['model']}`)],
        ],
        'There are no models: add some with "turnpike apply".',
      );
      return 0;
    },
  },
];

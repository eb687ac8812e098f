// `turnpike model …`: what is sold, what it costs, and where prices differ from the price list.

import { openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags, type Invocation } from './command.ts';
import { listCommand } from './list-command.ts';
import { type Column, printRows } from './output.ts';

const DIFFERENCES: readonly Column[] = [
  ['MODEL', 'model'],
  ['ROUTE', 'route'],
  ['PART', 'part'],
  ['CONFIGURED', 'configured'],
  ['LISTED', 'listed'],
  ['LIST OF', 'as_of'],
  ['TAKEN FROM LIST OF', (row) => (row['price_source'] as Row | null)?.['catalogue']],
];

export const modelCommands: readonly Command[] = [
  listCommand(
    {
      name: 'model list',
      summary: 'lists the models with their prices, costs and margins in USD per million tokens (input/output)',
      whenEmpty: 'There are no models: add some with "turnpike apply".',
    },
    '/models',
    [
      ['NAME', 'name'],
      ['INPUT', (row) => (row['price'] as Row)['input']],
      ['OUTPUT', (row) => (row['price'] as Row)['output']],
      ['ALIASES', 'aliases'],
      ['ROUTES', (row) => (row['routes'] as Row[]).map((route) => `${route['provider']}/${route['model']}`)],
      ['COSTS', (row) => (row['routes'] as Row[]).map((route) => ratesText(route['cost']))],
      ['MARGINS', (row) => (row['routes'] as Row[]).map((route) => ratesText(route['margin']))],
    ],
  ),
  {
    name: 'model compare',
    summary: 'says where configured prices and costs differ from the price list of the service',
    positionals: [],
    flags: clientFlags,
    run: compareModels,
  },
];

/** "3/15" in the place of each route, "-" where it is not known. */
function ratesText(rates: unknown): string {
  const known = rates as Row | null;
  return known === null ? '-' : `${known['input']}/${known['output']}`;
}

/** The differences are what is asked for; what is beside them goes to stderr. */
async function compareModels(invocation: Invocation): Promise<number> {
  const client = await openClient(invocation);
  const answer = await client.get('/models/differences');
  const { writeError } = invocation.world;
  const lists = Map.groupBy(answer['price_lists'] as Row[], ({ as_of, source }) => `${as_of}: ${source}`);
  for (const [list, families] of lists)
    await writeError(`Price list of ${families.map(({ family }) => family).join(', ')}, ${list}\n`);
  for (const { model, route, retires_on } of answer['retiring'] as Row[])
    await writeError(`${model}: its provider ends ${route} on ${retires_on}.\n`);
  const unknown = answer['unknown'] as string[];
  if (unknown.length > 0) await writeError(`Not on the list, so not compared: ${unknown.join(', ')}\n`);
  const differences = answer['differences'] as Row[];
  async function* pages() {
    yield differences;
  }
  await printRows(invocation, pages(), DIFFERENCES, 'No configured price or cost differs from it.');
  return 0;
}

// The commands on models, groups and providers: their table, as in resources.ts, and the parts that they print.

import { openClient, type Row } from './admin-client.ts';
import { type ApiCommand, apiCommand } from './api-command.ts';
import { type Command, CommandFailed, clientFlags, type Invocation } from './command.ts';
import { type Column, columns, onePage, printObject, printRows } from './output.ts';

const modelColumns: readonly Column[] = [
  ...columns('name price.input price.output aliases'),
  ['ROUTES', ({ routes }) => (routes as Row[]).map(({ provider, model }) => `${provider}/${model}`)],
  ['COSTS', ratesOfRoutes('cost')],
  ['MARGINS', ratesOfRoutes('margin')],
];
const groupColumns = columns('name models multiplier rpm input_tpm output_tpm concurrency residency');
const providerColumns: readonly Column[] = [
  ...columns('name kind base_url has_credential'),
  ['MODELS', (row) => (row['models'] as string[]).length],
  ...columns('health.state'),
  ['ROUTES', (row) => stateCounts(row['routes'] as Row[])],
];
export const catalogTable: readonly ApiCommand[] = [
  apiCommand('model list', 'model-list', modelColumns, {
    summary: 'List models with their prices, costs and margins in USD per million tokens (input/output)',
    whenEmpty: noneApplied('models'),
  }),
  apiCommand('model compare', 'model-compare', printDifferences),
  apiCommand('group list', 'group-list', groupColumns, { whenEmpty: noneApplied('groups') }),
  apiCommand('provider list', 'provider-list', providerColumns, { whenEmpty: noneApplied('providers') }),
  apiCommand('provider show NAME', 'provider-show', printProvider),
  apiCommand('provider test NAME', 'provider-test', printTest, {
    summary: 'Test whether a provider answers and accepts its credentials, without cost; exits 1 if not',
  }),
];

/** Finds one model in the list of all, because the admin API has no route for it. */
const showModel: Command = {
  name: 'model show',
  summary: 'Show a model: its price, what it will be and from when, and its routes with their costs',
  positionals: ['NAME'],
  flags: clientFlags,
  async run(invocation) {
    const [name] = invocation.positionals;
    const client = await openClient(invocation);
    for await (const rows of client.pages('/models')) {
      const found = rows.find((row) => row['name'] === name);
      if (found !== undefined) return printModel(invocation, found);
    }
    throw new CommandFailed(`there is no model "${name}"`);
  },
};

export const catalogCommands: readonly Command[] = [...catalogTable, showModel];

function noneApplied(plural: string): string {
  return `There are no ${plural}: add some with "turnpike apply".`;
}

/** The rates of each route of a model, "3/15". */
function ratesOfRoutes(member: 'cost' | 'margin') {
  return ({ routes }: Row) => (routes as Row[]).map((route) => ratesText(route[member]));
}

/** Prints the differences on stdout, and other facts from the price list on stderr. */
async function printDifferences(invocation: Invocation, comparison: Row): Promise<number> {
  const { writeError } = invocation.world;
  const lists = Map.groupBy(comparison['price_lists'] as Row[], ({ as_of, source }) => `${as_of}: ${source}`);
  for (const [list, families] of lists)
    await writeError(`Price list of ${families.map(({ family }) => family).join(', ')}, ${list}\n`);
  for (const { model, route, retires_on } of comparison['retiring'] as Row[])
    await writeError(`${model}: its provider retires ${route} on ${retires_on}.\n`);
  const unknown = comparison['unknown'] as string[];
  if (unknown.length > 0) await writeError(`Not on the list, so not compared: ${unknown.join(', ')}\n`);
  await printRows(
    invocation,
    onePage(comparison['differences'] as Row[]),
    [...columns('model route part configured listed from'), ['LIST OF', 'as_of'], ...columns('price_source.catalogue')],
    'No configured price or cost differs from the price list.',
  );
  return 0;
}

async function printModel(invocation: Invocation, model: Row): Promise<number> {
  const price = model['price'] as Row;
  const parts = Object.entries(partsOfPrice(price));
  await printObject(invocation, model, [
    ...columns('name display_name serves aliases'),
    ...parts.map(([part, rate]): Column => [part.toUpperCase(), () => rate]),
    ...columns('price_from price_source.catalogue groups max_input_tokens max_output_tokens prefer created_at'),
  ]);
  const routes = model['routes'] as Row[];
  const changes = [
    ...priceChanges('price', price, model['price_changes'] as Row[]),
    ...routes.flatMap((route) => {
      const name = `cost of ${route['provider']}/${route['model']}`;
      return priceChanges(name, route['cost'] as Row | null, route['cost_changes'] as Row[]);
    }),
  ];
  await printParts(invocation, routes, [
    ...columns('provider model priority weight'),
    ['COST', ({ cost }) => ratesText(cost)],
    ['MARGIN', ({ margin }) => ratesText(margin)],
  ]);
  await printParts(invocation, changes, columns('from of part before after'));
  return 0;
}

/** The rates by part: "input", "long_context.output". */
function partsOfPrice(price: Row, prefix = ''): Record<string, unknown> {
  const parts = Object.entries(price).filter(([part]) => part !== 'from');
  return Object.assign(
    {},
    ...parts.map(([part, rate]) =>
      typeof rate === 'object' ? partsOfPrice(rate as Row, `${prefix}${part}.`) : { [prefix + part]: rate },
    ),
  );
}

/** A row for each part that changes, in order of time. */
function priceChanges(of: string, price: Row | null, changes: readonly Row[]): Row[] {
  return changes.flatMap((change, at) => {
    const before = partsOfPrice(changes[at - 1] ?? price ?? {});
    const after = partsOfPrice(change);
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((part) => before[part] !== after[part])
      .map((part) => ({ from: change['from'], of, part, before: before[part], after: after[part] }));
  });
}

async function printProvider(invocation: Invocation, provider: Row): Promise<number> {
  await printObject(invocation, provider, [
    ...columns('name kind base_url has_credential residency'),
    ['CREDENTIALS', (row) => (row['credentials'] as Row[]).map(credentialText)],
    ...columns('models health.state health.last_success_at health.last_failure_at'),
  ]);
  await printParts(invocation, provider['routes'] as Row[], [
    ...columns('model credential state until failures_in_a_row in_flight first_token_ms'),
    ['LAST FAILURE', ({ last_failure: last }) => last && `${(last as Row)['fault']} at ${(last as Row)['at']}`],
  ]);
  return 0;
}

async function printTest(invocation: Invocation, result: Row): Promise<number> {
  await printObject(invocation, result, columns('provider ok status ms fault models message'));
  const credentials = result['credentials'] as Row[];
  await printParts(invocation, credentials.length < 2 ? [] : credentials, [
    ['CREDENTIAL', 'name'],
    ...columns('ok status fault message'),
  ]);
  return result['ok'] === true ? 0 : 1;
}

/** Prints the parts of an object as a table below it; with --json the object has them already. */
async function printParts(invocation: Invocation, parts: Row[], columns: readonly Column[]): Promise<void> {
  if (invocation.json || parts.length === 0) return;
  await invocation.world.write('\n');
  await printRows(invocation, onePage(parts), columns, '');
}

/** "3/15" for each route, "-" where it is not known. */
function ratesText(rates: unknown): string {
  const known = rates as Row | null;
  return known === null ? '-' : `${known['input']}/${known['output']}`;
}

/** "acme (acct_…)", "vip (file, group vip)"; the name alone for a given key that everyone uses. */
function credentialText({ name, auth = null, account, group }: Row): string {
  const facts = [auth, account, group === null ? null : `group ${group}`].filter((fact) => fact !== null);
  return facts.length === 0 ? String(name) : `${name} (${facts.join(', ')})`;
}

/** Such as "3 ready, 1 open". */
function stateCounts(routes: readonly Row[]): string {
  const byState = Map.groupBy(routes, ({ state }) => state);
  return [...byState].map(([state, ofState]) => `${ofState.length} ${state}`).join(', ');
}

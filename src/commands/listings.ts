// The table of the commands on the catalog and the audit log, as in resources.ts.

import { openClient, type Row } from './admin-client.ts';
import { type ApiCommand, apiCommand, describe, flag, LIST_ROWS_DEFAULT, sinceFlag, untilFlag } from './api-command.ts';
import { type Command, CommandFailed, clientFlags, type Invocation } from './command.ts';
import { text } from './flags.ts';
import { type Column, columns, onePage, printObject, printRows, yesNo } from './output.ts';

const CHANGE_CHARACTERS_MAX = 160; // fits on two lines of a terminal

const providerColumns: readonly Column[] = [...columns('name kind base_url'), yesNo('CREDENTIAL', 'has_credential')];
const upColumn: Column = ['UP', ({ health }) => health && ((health as Row)['up'] === true ? 'yes' : 'no')];

/** A cell for each route of a model. */
function ofRoutes(cell: (route: Row) => string) {
  return (row: Row) => (row['routes'] as Row[]).map(cell);
}

export const listingTable: readonly ApiCommand[] = [
  describe(
    'model list',
    'lists the models with their prices, costs and margins in USD per million tokens (input/output)',
    'GET /models',
    {
      columns: [
        ...columns('name'),
        ['INPUT', (row) => (row['price'] as Row)['input']],
        ['OUTPUT', (row) => (row['price'] as Row)['output']],
        ...columns('aliases'),
        ['ROUTES', ofRoutes((route) => `${route['provider']}/${route['model']}`)],
        ['COSTS', ofRoutes(({ cost }) => ratesText(cost))],
        ['MARGINS', ofRoutes(({ margin }) => ratesText(margin))],
      ],
      whenEmpty: 'There are no models: add some with "turnpike apply".',
    },
  ),
  describe(
    'model compare',
    "lists configured prices and costs that differ from the service's price list",
    'GET /models/differences',
    { print: printDifferences },
  ),
  describe('group list', 'lists the groups with their models, price factors and limits', 'GET /groups', {
    columns: columns('name models multiplier rpm input_tpm output_tpm concurrency residency'),
    whenEmpty: 'There are no groups: add some with "turnpike apply".',
  }),
  describe('plan list', 'lists the plans with their price per month and their allowances', 'GET /plans', {
    columns: [
      ...columns('name title price'),
      ['WINDOWS', windowsText],
      ['GROUPS', 'groups'],
      yesNo('OFFERED', 'offered'),
      yesNo('FOR SALE', 'for_sale'),
    ],
    whenEmpty: 'There are no plans: add some with "turnpike apply".',
  }),
  describe('provider list', 'lists the providers', 'GET /providers', {
    columns: [
      ...providerColumns,
      ['MODELS', (row) => (row['models'] as string[]).length],
      upColumn,
      ['ROUTES', (row) => stateCounts(row['routes'] as Row[])],
    ],
    whenEmpty: 'There are no providers: add some with "turnpike apply".',
  }),
  describe(
    'provider show NAME',
    'shows a provider, who may use its credentials, and the models that have a route to it',
    'GET /providers/{name}',
    { print: printProvider },
  ),
  describe(
    'provider test NAME',
    'tests whether a provider answers and accepts its credentials, without cost; exits 1 if not',
    'POST /providers/{name}/test',
    { print: printTest },
  ),
  describe('audit', 'lists changes and who made them, newest first', 'GET /audit', {
    flags: {
      account: flag('ID', 'account', text, 'only changes of this account and of its objects'),
      object: flag('OBJECT', 'object', text, 'only changes of this object, such as key_… or "model NAME"'),
      actor: flag('ID', 'actor', text, 'only changes by this token or person ("local": the operator on the machine)'),
      since: sinceFlag,
      until: untilFlag,
    },
    rowsDefault: LIST_ROWS_DEFAULT,
    columns: [...columns('at actor role address action object'), ['CHANGE', changeText]],
    whenEmpty: 'No changes match.',
  }),
];

/** Not in the table: it finds one model in the list of all. */
const showModel: Command = {
  name: 'model show',
  summary: 'shows a model: its price, what it will be and from when, and its routes with their costs',
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

export const listingCommands: readonly Command[] = [...listingTable.map(apiCommand), showModel];

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
    [
      ...columns('model route part configured listed'),
      ['FROM', 'from'],
      ['LIST OF', 'as_of'],
      ['TAKEN FROM LIST OF', (row) => (row['price_source'] as Row | null)?.['catalogue']],
    ],
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
    ['PRICE FROM', 'price_from'],
    ['TAKEN FROM LIST OF', (row) => (row['price_source'] as Row | null)?.['catalogue']],
    ...columns('groups max_input_tokens max_output_tokens prefer created_at'),
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
  const health = provider['health'] as Row | null;
  await printObject(invocation, provider, [
    ...providerColumns,
    ['RESIDENCY', 'residency'],
    ['CREDENTIALS', (row) => (row['credentials'] as Row[]).map(credentialText)],
    ['MODELS', 'models'],
    upColumn,
    ['LAST SUCCESS', () => health?.['last_success_at']],
    ['LAST FAILURE', () => health?.['last_failure_at']],
  ]);
  await printParts(invocation, provider['routes'] as Row[], [
    ...columns('model credential state until failures_in_a_row in_flight first_token_ms'),
    ['LAST FAILURE', ({ last_failure: last }) => last && `${(last as Row)['fault']} at ${(last as Row)['at']}`],
  ]);
  return 0;
}

async function printTest(invocation: Invocation, result: Row): Promise<number> {
  const ok = yesNo('OK', 'ok');
  await printObject(invocation, result, [['PROVIDER', 'provider'], ok, ...columns('status ms fault models message')]);
  const credentials = result['credentials'] as Row[];
  await printParts(invocation, credentials.length < 2 ? [] : credentials, [
    ['CREDENTIAL', 'name'],
    ok,
    ...columns('status fault message'),
  ]);
  return result['ok'] === true ? 0 : 1;
}

/** Prints the parts of an object as a table below it; with --json the object has them already. */
async function printParts(invocation: Invocation, parts: Row[], columns: readonly Column[]): Promise<void> {
  if (invocation.json || parts.length === 0) return;
  await invocation.world.write('\n');
  await printRows(invocation, onePage(parts), columns, '');
}

/** Such as "2.00 per 5h, 20.00 per week". */
function windowsText({ windows }: Row): string {
  const limits = Object.entries(windows as Row).filter(([, limit]) => limit !== null);
  return limits.map(([length, limit]) => `${limit} per ${length}`).join(', ');
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

/** "status: enabled → disabled" for each member that changed; for a new object, its members. JSON has all of it. */
function changeText(row: Row): string {
  const before = (row['before'] ?? {}) as Row;
  const after = (row['after'] ?? {}) as Row;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const parts = names
    .filter((name) => !isEmpty(before[name]) || !isEmpty(after[name]))
    .map(
      (name) => `${name}: ${row['before'] === null ? '' : `${valueText(before[name])} → `}${valueText(after[name])}`,
    );
  const joined = parts.join('; ');
  return joined.length <= CHANGE_CHARACTERS_MAX ? joined : `${joined.slice(0, CHANGE_CHARACTERS_MAX)}…`;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function valueText(value: unknown): string {
  if (isEmpty(value)) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

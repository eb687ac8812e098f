// The first content of each page, drawn from its first answer while the libraries load, and the answers that the page needs
// besides. The page replaces it: it says nothing that the page does not, which test/console/pages.test.ts compares.

import { formatCount } from './figures.ts';
import { outcomeLabels } from './labels.ts';
import { formatMoney, formatRequestMoney } from './money.ts';
import { monthOfRange, rangeOf, rangeQuery, startOf, type TimeRange } from './range.ts';
import { deviceZone, formatMoment, formatUtcDate, formatUtcMonth } from './times.ts';

/** Requests a path of the admin API before the page does, and keeps the answer for it. */
type Ask = (address: string) => Promise<Response>;

type Shown = keyof typeof forms;
/** The label, the member of the row or of the object, and the form of its value. */
type Cell = readonly [label: string, member: string, form?: Shown];

interface FirstPage {
  /** With members of the answer in braces. */
  title: string;
  /** The path below /api/v1 as the page requests it, with the parameters of the page's address and its time range, or the days of it. */
  path?: string;
  /** The columns of a list, or the facts of an object. */
  cells?: readonly Cell[];
  /** What is said of a list without rows. */
  empty?: string;
  /** The row of the list that is the object of the page. */
  rowNamed?: string;
  /** The names of rows that the page folds. */
  leavesOut?: RegExp;
  /** What else the page requests. */
  others?: readonly string[];
}

const moment = (at: string) => formatMoment(at, Date.now(), zone());
const forms = {
  text: String,
  count: (value: string) => formatCount(Number(value)),
  money: formatMoney,
  cost: formatRequestMoney,
  moment,
  precise: (at: string) => formatMoment(at, Date.now(), zone(), true),
  date: formatUtcDate,
  word: (word: string) => word.charAt(0).toUpperCase() + word.slice(1).replaceAll('_', ' '),
  outcome: (value: string) => outcomeLabels[value as keyof typeof outcomeLabels],
} as const satisfies Record<string, (value: string) => string>;

const name = ['Name', 'name'] as const;
const model = ['Model', 'model'] as const;
const status = ['Status', 'status', 'word'] as const;
const created = ['Created', 'created_at', 'moment'] as const;
const time = ['Time', 'at', 'precise'] as const;
const cost = ['Cost', 'cost', 'cost'] as const;
const outcome = ['Status', 'outcome', 'outcome'] as const;
const role = ['Role', 'role', 'word'] as const;

const account = '/accounts/$accountId';

/** By the path of each page. */
const pages: Readonly<Record<string, FirstPage>> = {
  '/': {
    title: 'Overview',
    path: '/usage?limit=8',
    cells: [time, model, cost, outcome],
    others: ['/usage?limit=8&RANGE', '/usage/timeline?RANGE&step=STEP', '/usage/top?limit=5&RANGE', '/attention'],
  },
  '/usage': {
    title: 'Usage',
    path: '/usage?limit=50&RANGE',
    cells: [time, model, cost, outcome],
    others: ['/usage/summary?RANGE'],
  },
  '/usage/$requestId': {
    title: 'Request',
    path: '/usage/$requestId',
    cells: [outcome, cost],
  },
  '/rejected': {
    title: 'Usage',
    empty: 'No rejected requests',
    path: '/refusals?limit=50&RANGE',
    cells: [
      ['Error', 'code'],
      ['Requests', 'count', 'count'],
    ],
  },
  '/events': {
    title: 'Events',
    empty: 'No events in this time range',
    path: '/events?limit=50&RANGE',
    cells: [
      ['Event', 'title'],
      ['Type', 'type'],
      ['Time', 'timestamp', 'moment'],
    ],
  },
  '/deliveries': {
    title: 'Deliveries',
    empty: 'No deliveries in this time range',
    path: '/deliveries?limit=50&RANGE',
    cells: [['Event', 'event.title'], status],
  },
  '/deliveries/$deliveryId': {
    title: '{event.title}',
    path: '/deliveries/$deliveryId',
    cells: [['Event', 'event.description']],
  },
  '/keys': {
    title: 'API keys',
    empty: 'No API keys yet',
    path: '/keys?limit=50&sort=created&order=asc',
    cells: [name, status],
    others: ['/usage/totals?group_by=key&RANGE&limit=1000'],
  },
  '/keys/new': { title: 'Create API key' },
  '/keys/$keyId': { title: '{name}', path: '/keys/$keyId', cells: [['Groups', 'groups']] },
  '/agent-sign-ins': {
    title: 'Coding agents',
    empty: 'No sign-ins yet',
    path: '/agent-sign-ins?limit=50',
    cells: [['Address', 'address'], status],
  },
  '/device': { title: 'Sign in a coding agent' },
  '/playground': { title: 'Playground', others: ['/models?limit=1000'] },
  '/models': {
    title: 'Models',
    path: '/models?limit=1000',
    leavesOut: /^sandbox-/,
    cells: [
      ['Model', 'name'],
      ['Input', 'price.input', 'money'],
      ['Output', 'price.output', 'money'],
    ],
  },
  '/models/$modelName': {
    title: '$modelName',
    path: '/models?limit=1000',
    rowNamed: '$modelName',
    cells: [
      ['Input', 'price.input', 'money'],
      ['Output', 'price.output', 'money'],
    ],
  },
  '/models/new': { title: 'Create model' },
  '/models/$modelName/edit': { title: 'Edit $modelName', others: ['/catalogue', '/models?limit=1000'] },
  '/groups': {
    title: 'Groups',
    path: '/groups?limit=50',
    cells: [
      ['Group', 'name'],
      ['Models', 'models'],
    ],
    others: ['/models?limit=1000'],
  },
  '/plans': { title: 'Plans', empty: 'No plans yet', path: '/plans?limit=1000', cells: [['Plan', 'title']] },
  '/providers': {
    title: 'Providers',
    path: '/providers?limit=200',
    cells: [
      ['Provider', 'name'],
      ['Models', 'models.length'],
    ],
  },
  '/providers/$providerName': {
    title: '$providerName',
    path: '/providers/$providerName',
    cells: [['Type', 'kind', 'word']],
  },
  '/providers/$providerName/models': { title: 'Add models of $providerName' },
  '/providers/new': { title: 'Create provider', others: ['/catalogue', '/provider-presets'] },
  '/provider-bills': {
    title: 'Provider bills',
    empty: 'No bills in this time range',
    path: '/provider-bills?limit=50&DAYS',
    cells: [
      ['Day', 'day', 'date'],
      ['Billed', 'billed', 'money'],
      ['Recorded', 'ours', 'money'],
      ['Difference', 'difference', 'money'],
    ],
  },
  '/provider-bills/$billId': {
    title: 'Bill of {provider}',
    path: '/provider-bills/$billId',
    cells: [
      ['Billed', 'billed', 'money'],
      ['Recorded', 'ours', 'money'],
      ['Difference', 'difference', 'money'],
    ],
  },
  '/accounts': {
    title: 'Accounts',
    path: '/accounts?limit=50&sort=created&order=asc',
    cells: [['Account', 'name'], status],
  },
  '/accounts/new': { title: 'Create account' },
  '/accounts/$accountId': {
    title: '{name}',
    path: account,
    cells: [['Groups', 'groups'], created, ['ID', 'id']],
  },
  '/accounts/$accountId/billing': {
    title: 'Billing',
    path: account,
    cells: [
      ['Available', 'available', 'money'],
      ['Balance', 'balance', 'money'],
    ],
    others: [`${account}/forecast`],
  },
  '/accounts/$accountId/plan': { title: 'Plan', path: account, others: [`${account}/plan`] },
  '/accounts/$accountId/payments': { title: 'Payments', path: account },
  '/accounts/$accountId/transactions': { title: 'Transactions', path: account },
  '/accounts/$accountId/statement': { title: 'MONTH statement', path: account, cells: [['Account', 'name']] },
  '/payments': {
    title: 'Payments',
    empty: 'No payments in this time range',
    path: '/payments?limit=50&RANGE',
    cells: [['Time', 'created_at', 'moment'], status],
  },
  '/codes': {
    title: 'Redemption codes',
    empty: 'No codes yet',
    path: '/code-batches?limit=50',
    cells: [['Batch', 'name']],
  },
  '/people': { title: 'Users', path: '/people?limit=50', cells: [['Name', 'email'], role, created] },
  '/directory-groups': {
    title: 'Directory groups',
    empty: 'No directory groups yet',
    path: '/directory-groups?limit=50',
    cells: [name, role, ['Priority', 'priority']],
  },
  '/settings': { title: 'Settings', path: '/settings' },
  '/integrations': { title: 'Integrations', path: '/integrations' },
  '/destinations': {
    title: 'Notifications',
    empty: 'No destinations yet',
    path: '/destinations?limit=50',
    cells: [['Name', 'address']],
  },
  '/destinations/new': { title: 'Create destination', others: ['/event-types'] },
  '/exports': { title: 'Exports', empty: 'No scheduled exports yet', path: '/exports?limit=50', cells: [name, status] },
  '/exports/new': { title: 'Create export' },
  '/tokens': { title: 'Admin tokens', path: '/tokens?limit=50', cells: [name, role, created] },
  '/audit': {
    title: 'Audit log',
    empty: 'No matching records',
    path: '/audit?limit=50&RANGE',
    cells: [
      ['', 'object'],
      ['', 'at', 'moment'],
    ],
  },
  '/margin': { title: 'Margin' },
  '/reference': { title: 'API reference' },
  '/profile': { title: 'Account security' },
};

const STORED_TIMES = 'turnpike-times';

function zone(): string {
  try {
    if (window.localStorage.getItem(STORED_TIMES) === 'utc') return 'UTC';
  } catch {} // a browser that stores nothing
  return deviceZone();
}

const styles = `
.early-cover {
  position: fixed;
  inset: 0;
  z-index: 300;
  background: light-dark(#fff, #242424);
  overflow: hidden;
}
.early h1 {
  margin: 0 0 20px;
  color: light-dark(#000, #c9c9c9);
  font-size: 26px;
  font-weight: 650;
  line-height: 1.35;
}
.early :is(table, dl) {
  color: light-dark(#000, #c9c9c9);
  font-size: 14px;
}
.early table {
  width: 100%;
  border-collapse: collapse;
}
.early :is(th, td) {
  padding: 8px 16px;
  border-bottom: 1px solid light-dark(#dee2e6, #424242);
  text-align: left;
}
.early dl {
  display: grid;
  grid: auto / max-content 1fr;
  gap: 6px 16px;
}
.early dd {
  margin: 0;
}
`;

/** Draws the first content of a page into the frame. Resolves once it is seen, or has nothing to wait for. */
export async function showFirst(address: string, frame: Element, ask: Ask): Promise<void> {
  const patterns = Object.keys(pages).filter((pattern) => placesOf(address, pattern) !== null);
  const pattern = patterns.includes(address) ? address : patterns[0]; // "/keys/new" is no "/keys/$keyId"
  // With filters, the page requests something else.
  const { range, ...filters } = Object.fromEntries(new URLSearchParams(location.search));
  if (pattern === undefined || Object.keys(filters).length > 0) return;
  const page = pages[pattern] as FirstPage;
  const times = rangeOf(range, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS);
  const places = placesOf(address, pattern) ?? {};
  const fill = (text: string) => text.replace(/\$(\w+)/g, (_, place: string) => places[place] ?? '');
  const request = (path: string) => ask(`/api/v1${fill(fillTimes(path, times))}`);
  const askOthers = () => page.others?.forEach((path) => void request(path).catch(() => {}));
  const title = decodeURIComponent(fill(page.title.replace('MONTH', formatUtcMonth(monthOfRange(times, Date.now())))));
  if (!title.includes('{')) draw(frame, title, []);
  if (page.path === undefined) return askOthers();
  const answer = await request(page.path);
  if (!answer.ok) return;
  const read: unknown = await answer.clone().json();
  if ((memberOf(read, 'data') as unknown[] | undefined)?.length !== 0) askOthers();
  const shown = title.replace(/\{([\w.]+)\}/g, (_, member: string) => String(memberOf(read, member) ?? ''));
  draw(frame, shown, contentOf(read, page, decodeURIComponent(fill(page.rowNamed ?? ''))));
}

function contentOf(read: unknown, { cells = [], empty, rowNamed, leavesOut }: FirstPage, name: string): Element[] {
  const rows = memberOf(read, 'data') as readonly { name: string }[] | undefined;
  if (rows === undefined) return factsOf(read, cells);
  if (rowNamed !== undefined) return factsOf(rows.find((row) => row.name === name) ?? null, cells);
  const shown = leavesOut === undefined ? rows : rows.filter((row) => !leavesOut.test(row.name));
  if (shown.length > 0) return tableOf(shown, cells);
  return empty === undefined ? [] : [element('p', empty)];
}

/** The values of the placeholders of "/keys/$keyId"; null for another page. */
function placesOf(address: string, pattern: string): Record<string, string> | null {
  const [parts, wanted] = [address.split('/'), pattern.split('/')];
  const isIt = parts.length === wanted.length && wanted.every((one, at) => one.startsWith('$') || one === parts[at]);
  return isIt ? Object.fromEntries(wanted.map((one, at) => [one.slice(1), parts[at] ?? ''])) : null;
}

function fillTimes(path: string, times: TimeRange): string {
  const query = (of: TimeRange) => new URLSearchParams(rangeQuery(of)).toString();
  const days = { ...times, sinceMs: startOf(times.sinceMs, 'day') };
  return path.replace('RANGE', query(times)).replace('DAYS', query(days)).replace('STEP', times.step);
}

const MINUTE_MS = 60_000;

function memberOf(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((found, name) => (found as Record<string, unknown> | null)?.[name], value);
}

function textOf(row: unknown, [, member, form = 'text']: Cell): string {
  const value = memberOf(row, member);
  if (value === null || value === undefined) return '';
  return Array.isArray(value) ? value.join(', ') : forms[form](value as string);
}

function addStyles(frame: Element): void {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
  frame.closest('.early')?.prepend(Object.assign(element('style', styles), { nonce }));
}

function draw(frame: Element, title: string, content: readonly Element[]): void {
  if (frame.querySelector('h1') === null) addStyles(frame);
  const heading = element('h1', title);
  const rest = content.length > 0 ? content : [...frame.querySelectorAll('i')].slice(1);
  frame.replaceChildren(heading, ...rest);
}

function tableOf(rows: readonly unknown[], cells: readonly Cell[]): Element[] {
  const line = (tag: string, texts: readonly string[]) => element('tr', ...texts.map((text) => element(tag, text)));
  const head = line(
    'th',
    cells.map(([label]) => label),
  );
  return [
    element(
      'table',
      head,
      ...rows.slice(0, ROWS_MAX).map((row) =>
        line(
          'td',
          cells.map((cell) => textOf(row, cell)),
        ),
      ),
    ),
  ];
}

const ROWS_MAX = 20; // more than a screen shows

function factsOf(read: unknown, cells: readonly Cell[]): Element[] {
  const facts = cells.map((cell) => [cell[0], textOf(read, cell)] as const).filter(([, text]) => text !== '');
  return facts.length === 0
    ? []
    : [element('dl', ...facts.flatMap(([label, text]) => [element('dt', label), element('dd', text)]))];
}

function element(tag: string, ...content: (string | Element)[]): Element {
  const made = document.createElement(tag);
  made.append(...content);
  return made;
}

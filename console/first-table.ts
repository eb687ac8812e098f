// The content that each page shows before its libraries load: its title, the first request of the API, and the members of the answer that it
// shows. It says nothing that the page does not, which test/console/pages.test.ts compares.

export type Form = 'text' | 'count' | 'money' | 'cost' | 'moment' | 'precise' | 'date' | 'word' | 'outcome';
/** The label, the member of the row or of the object, and the form of its value. */
export type Cell = readonly [label: string, member: string, form?: Form];

export interface FirstPage {
  /** With members of the answer in braces: the first that is not empty. */
  title: string;
  /** The path below /api/v1 as the page requests it, with the parameters of the page's address and its time range, or the days of it. */
  path?: string;
  /** The columns of a list, or the facts of an object. */
  cells?: readonly Cell[];
  /** What is said of a list without rows. */
  empty?: string;
  /** The row of the list that is the object of the page. */
  rowNamed?: string;
  /** The answer is an object, although it has rows, too. */
  isObject?: true;
  /** The names of rows that the page folds if there are others. */
  leavesOut?: RegExp;
  /** What first-rows.ts makes of the answer. */
  rows?: keyof typeof import('./first-rows.ts');
  /** What else the page requests. */
  others?: readonly string[];
  /** Filters of the address with which it begins in the same way. */
  takes?: readonly string[];
}

const name = ['Name', 'name'] as const;
const model = ['Model', 'model'] as const;
const status = ['Status', 'status', 'word'] as const;
const created = ['Created', 'created_at', 'moment'] as const;
const time = ['Time', 'at', 'precise'] as const;
const cost = ['Cost', 'cost', 'cost'] as const;
const outcome = ['Status', 'outcome', 'outcome'] as const;
const role = ['Role', 'role', 'word'] as const;

const account = '/accounts/$accountId';

/** The pages of billing by their last part. */
const billing = {
  '': {
    title: 'Billing',
    path: account,
    cells: [
      ['Available', 'available', 'money'],
      ['Balance', 'balance', 'money'],
    ],
    others: [`${account}/forecast`],
  },
  plan: {
    title: 'Plan',
    empty: 'The balance pays for all requests of this account.',
    path: `${account}/plan`,
    cells: [
      ['', 'title'],
      ['Ends', 'ends_at', 'moment'],
    ],
    others: [account],
  },
  payments: {
    title: 'Payments',
    empty: 'No payments in this time range',
    path: '/payments?limit=50&account=$accountId&RANGE',
    cells: [['Created', 'created_at', 'moment'], status],
    others: [account],
  },
  transactions: {
    title: 'Transactions',
    empty: 'No transactions in this month',
    path: `${account}/statement?month=MONTH`,
    rows: 'dayRows',
    cells: [
      ['Type', 'kind'],
      ['Amount', 'change', 'money'],
    ],
    others: [account],
  },
} as const satisfies Record<string, FirstPage>;

/** By the path of each page. Without a path of the API, what it shows first needs no data. */
export const firstPages: Readonly<Record<string, FirstPage>> = {
  '/': {
    title: 'Overview',
    empty: 'Get an API key',
    path: '/usage?limit=8',
    cells: [time, model, cost, outcome],
    others: ['/usage?limit=8&RANGE', '/usage/timeline?RANGE&step=STEP', '/usage/top?limit=5&RANGE', '/attention'],
  },
  '/usage': {
    title: 'Usage',
    empty: 'No requests yet',
    path: '/usage?limit=50&RANGE',
    cells: [time, model, cost, outcome],
    others: ['/usage/summary?RANGE'],
  },
  '/usage/$requestId': {
    title: 'Request',
    path: '/usage/$requestId',
    cells: [outcome, cost],
  },
  '/session': {
    title: 'Session',
    path: '/usage/summary?session=$session&group_by=model&limit=200',
    takes: ['session'],
    isObject: true,
    cells: [
      ['Requests', 'total.messages', 'count'],
      ['Cost', 'total.cost', 'money'],
    ],
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
  '/batches': {
    title: 'Batches',
    empty: 'No batches in this time range',
    path: '/batches?limit=50&RANGE',
    cells: [created, status],
  },
  '/batches/$clientBatchId': {
    title: 'Batch',
    path: '/batches/$clientBatchId',
    cells: [['Endpoint', 'endpoint'], created],
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
  '/billing': billing[''],
  '/billing/plan': billing.plan,
  '/billing/payments': billing.payments,
  '/billing/transactions': billing.transactions,
  '/keys/new': { title: 'Create API key', takes: ['account'] },
  '/keys/$keyId': { title: '{name}', path: '/keys/$keyId', cells: [['Groups', 'groups']] },
  '/agent-sign-ins': {
    title: 'Coding agents',
    empty: 'No sign-ins yet',
    path: '/agent-sign-ins?limit=50',
    cells: [['Address', 'address'], status],
  },
  '/device': { title: 'Sign in a coding agent' },
  '/playground': {
    title: 'Playground',
    others: ['/models?limit=1000&serves=images', '/models?limit=1000&serves=speech'],
    takes: ['model'],
  },
  '/models': {
    title: 'Models',
    empty: 'No models yet',
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
    path: '/models?limit=50&patterns=$modelName',
    rowNamed: '$modelName',
    cells: [
      ['Input', 'price.input', 'money'],
      ['Output', 'price.output', 'money'],
    ],
  },
  '/models/new': { title: 'Create model', takes: ['provider'] },
  '/models/$modelName/edit': {
    title: 'Edit $modelName',
    path: '/models?limit=50&patterns=$modelName',
    rowNamed: '$modelName',
    cells: [name, ['Display name', 'display_name'], ['Input', 'price.input'], ['Output', 'price.output']],
    others: ['/catalogue'],
  },
  '/groups': {
    title: 'Groups',
    empty: 'No groups yet',
    path: '/groups?limit=50',
    cells: [
      ['Group', 'name'],
      ['Models', 'models'],
    ],
  },
  '/plans': { title: 'Plans', empty: 'No plans yet', path: '/plans?limit=1000', cells: [['Plan', 'title']] },
  '/providers': {
    title: 'Providers',
    empty: 'No providers yet',
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
  '/providers/$providerName/models': {
    title: 'Add models of $providerName',
    empty: 'No models found.',
    path: '/providers/$providerName/models',
    cells: [['', 'model']],
  },
  '/providers/new': {
    title: 'Create provider',
    path: '/provider-presets',
    cells: [['Providers', 'title']],
    others: ['/catalogue'],
  },
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
    empty: 'No accounts yet',
    path: '/accounts?limit=50&sort=created&order=asc',
    cells: [['Account', 'name'], status],
  },
  '/accounts/new': { title: 'Create account' },
  '/accounts/$accountId': {
    title: '{name}',
    path: account,
    cells: [['Groups', 'groups'], created, ['ID', 'id']],
  },
  '/accounts/$accountId/billing': billing[''],
  '/accounts/$accountId/plan': billing.plan,
  '/accounts/$accountId/payments': billing.payments,
  '/accounts/$accountId/transactions': billing.transactions,
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
  '/codes/$batchId': {
    title: '{name}',
    path: '/code-batches/$batchId',
    cells: [['Amount of each code', 'amount', 'money']],
  },
  '/people': {
    title: 'Users',
    empty: 'No users yet',
    path: '/people?limit=50',
    cells: [['Name', 'email'], role, created],
  },
  '/directory-groups': {
    title: 'Directory groups',
    empty: 'No directory groups yet',
    path: '/directory-groups?limit=50',
    cells: [name, role, ['Priority', 'priority']],
  },
  '/settings': {
    title: 'Settings',
    path: '/settings',
    rows: 'settingRows',
    cells: [
      ['Setting', 'name'],
      ['', 'value'],
    ],
  },
  '/integrations': {
    title: 'Integrations',
    path: '/integrations',
    rows: 'integrationRows',
    cells: [
      ['', 'title'],
      ['', 'state'],
    ],
  },
  '/destinations': {
    title: 'Notifications',
    empty: 'No destinations yet',
    path: '/destinations?limit=50',
    cells: [['Name', 'address']],
  },
  '/destinations/new': { title: 'Create destination', others: ['/event-types'], takes: ['account'] },
  '/destinations/$destinationId': {
    title: '{name|address}',
    path: '/destinations/$destinationId',
    cells: [
      ['Address', 'address'],
      ['Created', 'created_at', 'moment'],
    ],
  },
  '/exports': { title: 'Exports', empty: 'No scheduled exports yet', path: '/exports?limit=50', cells: [name, status] },
  '/exports/new': { title: 'Create export' },
  '/exports/$exportId': {
    title: '{name|id}',
    path: '/exports/$exportId',
    cells: [
      ['Bucket', 's3_bucket'],
      ['Next run', 'due_at', 'moment'],
      ['Created', 'created_at', 'moment'],
    ],
  },
  '/tokens': {
    title: 'Admin tokens',
    empty: 'No admin tokens yet',
    path: '/tokens?limit=50',
    cells: [name, role, created],
  },
  '/audit': {
    title: 'Audit log',
    empty: 'No matching records',
    path: '/audit?limit=50&RANGE',
    cells: [
      ['', 'object'],
      ['', 'at', 'moment'],
    ],
  },
  '/margin': {
    title: 'Margin',
    path: '/usage/margin?RANGE&BEFORE&group_by=model&limit=200',
    isObject: true,
    cells: [
      ['Revenue', 'total.revenue', 'money'],
      ['Provider cost', 'total.provider_cost', 'money'],
      ['Margin', 'total.margin', 'money'],
    ],
  },
  '/reference': { title: 'API reference' },
  '/profile': { title: 'Account security' },
};

/** The file of a page that console/first-pages.tsx renders. */
export function firstPageName(path: string, hash: string): string {
  return `first${path.replaceAll('/', '-')}-${hash}.json`;
}

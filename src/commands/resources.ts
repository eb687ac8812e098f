// The table of the commands on resources: the operation of the admin API that each calls, and what the OpenAPI document
// cannot say about it, such as its columns. Its flags and their checks are made from the document.

import { integerOf } from '../base/checked-number.ts';
import type { AdminClient, Row } from './admin-client.ts';
import { type ApiCommand, apiCommand, type CommandDetails, type OperationId } from './api-command.ts';
import type { Invocation } from './command.ts';
import { type Column, columns, printObject } from './output.ts';

const CHANGE_CHARACTERS_MAX = 160; // fits on two lines of a terminal

const accountColumns = columns('id name status groups balance held available created_at parent');
const accountDetails: readonly Column[] = [
  ...accountColumns,
  ...columns('credit_line'),
  ['ALLOWANCE', (row) => row['allowance'] && `${row['allowance']} (${row['allowance_period']})`],
  ...columns('allowance_used pays_from'),
];
const keyColumns: readonly Column[] = [
  ...columns('id account name prefix status groups'),
  ['MODELS', (row) => row['models'] ?? 'all'],
  ['QUOTA', (row) => row['quota'] && `${row['quota_used']} of ${row['quota']} (${row['quota_period']})`],
  ...columns('last_used_at'),
  ['PERSON', (row) => row['person'] ?? 'service key'],
];
const keyDetails: readonly Column[] = [
  ...keyColumns,
  ...columns('rpm input_tpm output_tpm concurrency'),
  ['ORIGINS', (row) => row['origins'] ?? 'any'],
  ['ADDRESSES', (row) => row['addresses'] ?? 'any'],
  ...columns('expires_at created_at'),
];
const withKey: CommandDetails = { advice: 'Keep the key now: it is not shown again.\n' };
const tokenColumns = columns('id role account name prefix status expires_at made_by created_at');
const agentColumns = columns('id account person key client status address refreshed_at expires_at');
const personColumns: readonly Column[] = [
  ...columns('id email role account name status link_expires_at'),
  ['INVITED BY', 'made_by'],
  ...columns('created_at'),
];
const personDetails: readonly Column[] = [
  ...personColumns,
  ...columns('managed_by directory_source disabled_by'),
  ...columns('identity.issuer identity.subject claimed_groups'),
];
const groupColumns = columns('id name source role account priority status created_at');
const budgetColumns: readonly Column[] = [
  ['PERSON', 'person'],
  ['BUDGETS', budgetTexts],
];
const codeBatchColumns: readonly Column[] = [
  ...columns('id name kind amount'),
  ['REDEEMED', (row) => `${row['redeemed']} of ${row['count']}`],
  ...columns('status expires_at created_at'),
];
const codeBatchDetails: readonly Column[] = [...codeBatchColumns, ...columns('once_per_account note made_by')];
const batchColumns: readonly Column[] = [
  ...columns('id account key form status'),
  ['DONE', (row) => `${integerOf(row['succeeded']) + integerOf(row['errored'])} of ${row['requests']}`],
  ...columns('cost reserved created_at expires_at'),
];
const batchDetails: readonly Column[] = [
  ...batchColumns,
  ...columns('endpoint models succeeded errored canceled expired cancel_requested_at ended_at person'),
  [
    'PARTS',
    (row) =>
      (row['parts'] as Row[]).map(
        ({ provider, requests, status }) => `${provider ?? 'provider'}: ${requests}, ${status}`,
      ),
  ],
];
const planColumns: readonly Column[] = [
  ...columns('name title price'),
  ['WINDOWS', windowsText],
  ...columns('groups offered for_sale'),
];
const planDetails: readonly Column[] = [
  ...columns('account plan overflow'),
  ['WINDOWS', (row) => (row['windows'] as Row[]).map(({ used, limit, length }) => `${used} of ${limit} per ${length}`)],
  ...columns('groups paid_until ends_at'),
  ['SUBSCRIPTION', subscriptionText],
];
const paymentColumns = columns('id account kind status amount credited refunded disputed created_at');
const paymentDetails: readonly Column[] = [
  ...paymentColumns,
  ...columns('total tax fee checkout_url receipt_url failure.message mismatch updated_at'),
];
const rechargeColumns: readonly Column[] = [
  ...columns('account enabled threshold amount per_day_max'),
  ['METHOD', methodText],
  ...columns('last_failure.message'),
];
const destinationColumns = columns('id account kind name address types status failing_since');
const destinationDetails: readonly Column[] = [
  ...destinationColumns,
  ...columns('disabled_reason last_delivered_at former_secret_expires_at created_at'),
];
const exportColumns = columns('id account name kind by format every target status due_at');
const exportDetails: readonly Column[] = [
  ...exportColumns,
  ...columns('day s3_endpoint s3_region s3_bucket s3_prefix s3_access_key_id mail_to created_at'),
];
const exportRunColumns = columns('period status tries rows bytes next_at done_at error');
const auditColumns: readonly Column[] = [...columns('at actor role address action object'), ['CHANGE', changeText]];
const withSecret: CommandDetails = { advice: 'Keep the secret now: it is not shown again.\n' };
const incidentColumns = columns(
  'id since ended_at severity kind account_name model provider key subject cause requests accounts',
);
const deliveryColumns = columns('id destination event.id event.type status tries created_at next_attempt_at done_at');

/** For a command whose response has a one-time secret: prints it as a link into the console. */
const withLink: CommandDetails = {
  async send(client, path, body) {
    const { base_url: baseUrl } = await client.get('/me'); // first: once made, the link must be printed
    const person = await client.post(path, body);
    const { link_secret: secret } = person; // null: the link is only mailed
    // Behind the #: browsers do not send that part to servers.
    return { ...person, link: secret === null ? null : `${baseUrl ?? client.url}/console/invitation#${secret}` };
  },
  advice: 'Give this link to that person only: it works once and is not shown again.\n',
};
const linkColumns: readonly Column[] = [...columns('link'), ...personColumns];

/** A line for each limit of each account. */
function budgetTexts(row: Row): string[] {
  return (row['budgets'] as Row[]).flatMap(({ account, stops, limits }) =>
    (limits as Row[]).map(
      ({ used, limit, window }) =>
        `${account}: ${used} of ${limit} per ${window}${stops === true ? '' : ', warns only'}`,
    ),
  );
}

/** The limits of a body, from texts such as "day=5". The service checks them. */
function limitsOfFlag(limits: unknown): unknown {
  if (!Array.isArray(limits)) return limits;
  return limits.map((text: string) => {
    const [window = '', limit = ''] = text.split('=');
    return { window: window.trim(), limit: limit.trim() };
  });
}

/** Disables an object, and enables it again. */
function statusCommands(noun: string, operation: OperationId, summary: string, columns: readonly Column[]) {
  const change = (verb: string, summary: string, status: string) =>
    apiCommand(`${noun} ${verb} ID`, operation, columns, { summary, body: { status }, hasNoFlags: true });
  return [change('disable', summary, 'disabled'), change('enable', `Enable a disabled ${noun}`, 'enabled')];
}

const accounts: readonly ApiCommand[] = [
  apiCommand('account create NAME', 'account-create', accountDetails, {
    flags: {
      'allowance-period': { needs: 'allowance' },
      'credit-line': { help: 'how far its balance may go below zero (default: 0)' },
    },
  }),
  apiCommand('account list', 'account-list', accountColumns),
  apiCommand('account show ID', 'account-show', accountDetails),
  apiCommand('account update ID', 'account-change', accountDetails, { summary: 'Update an account' }),
  ...statusCommands('account', 'account-change', 'Disable an account: its keys get a 401', accountDetails),
  apiCommand('credit ACCOUNT AMOUNT', 'credit-create', columns('account amount balance reference note'), {
    repetition: 'This reference was credited before: no credit was added.\n',
    summary: 'Credit an account; a negative amount is a correction, refused below what is available',
  }),
  apiCommand('refund REQUEST_ID [AMOUNT]', 'refund-create', columns('request_id account amount balance note')),
  apiCommand('ledger ACCOUNT', 'entry-list', columns('at kind change debit credit reference note'), {
    isLimited: true,
    whenEmpty: 'No entries match.',
  }),
];

const keys: readonly ApiCommand[] = [
  apiCommand('key create', 'key-create', [...columns('key'), ...keyDetails], {
    ...withKey,
    flags: {
      account: { isRequired: true, help: 'the account that pays (required)' },
      'quota-period': {
        needs: 'quota',
        help: 'when the quota is reset; total: never (total, day, week or month; default: total)',
      },
    },
  }),
  apiCommand('key list', 'key-list', keyColumns),
  apiCommand('key show ID', 'key-show', keyDetails),
  apiCommand('key update ID', 'key-change', keyDetails),
  ...statusCommands('key', 'key-change', 'Disable a key: it gets a 401', keyDetails),
  apiCommand('key revoke ID', 'key-revoke', keyDetails),
  apiCommand('key rotate ID', 'key-rotate', [...columns('key grace_ends_at'), ...keyDetails], withKey),
];

const people: readonly ApiCommand[] = [
  apiCommand('token create', 'token-create', [...columns('token'), ...tokenColumns], {
    summary: 'Create a token for the admin API',
    advice: 'Keep the token now: it is not shown again.\n',
  }),
  apiCommand('token list', 'token-list', tokenColumns),
  apiCommand('token revoke ID', 'token-revoke', tokenColumns),
  apiCommand('agent-sign-in list', 'agent-sign-in-list', agentColumns),
  apiCommand('agent-sign-in revoke ID', 'agent-sign-in-revoke', agentColumns),
  apiCommand('person invite EMAIL', 'person-create', linkColumns, withLink),
  apiCommand('person list', 'person-list', personColumns),
  apiCommand('person update ID', 'person-update', personDetails, {
    flags: {
      'managed-by': {
        value: 'directory|none',
        help: 'directory: the groups of the directory decide from the next sign-in on; none: they no longer do',
      },
      identity: {
        value: 'none',
        help: 'none: the next sign-in with OpenID Connect and the same email binds the person anew',
      },
    },
  }),
  apiCommand('person budget ID', 'person-budget-show', budgetColumns),
  apiCommand('person set-budget ID', 'person-budget-update', budgetColumns, {
    flags: { limits: { value: 'WINDOW=USD,…', help: 'such as day=5,month=50; any: no limit (required)' } },
    send: (client, path, body) => client.patch(path, { ...body, limits: limitsOfFlag(body['limits']) }),
  }),
  apiCommand('person reset-budget ID', 'person-budget-reset', budgetColumns),
  ...statusCommands('person', 'person-update', 'Disable a person; their link and sessions end', personColumns),
  apiCommand('person link ID', 'person-link', linkColumns, {
    ...withLink,
    summary: 'Create a link to set a new password; accepting it ends their sessions and removes their second factor',
  }),
];

const directory: readonly ApiCommand[] = [
  apiCommand('directory-group create NAME', 'directory-group-create', groupColumns, {
    flags: { source: { help: 'the only issuer whose groups count, such as oidc, or scim (default: any)' } },
  }),
  apiCommand('directory-group list', 'directory-group-list', groupColumns, {
    whenEmpty: 'There are no directory groups: people of the directory get no access by their groups.',
  }),
  apiCommand('directory-group show ID', 'directory-group-show', groupColumns),
  apiCommand('directory-group update ID', 'directory-group-change', groupColumns),
  ...statusCommands(
    'directory-group',
    'directory-group-change',
    'Disable a directory group: it gives nobody an account or role',
    groupColumns,
  ),
];

const codes: readonly ApiCommand[] = [
  apiCommand('code-batch create NAME AMOUNT', 'code-batch-create', printCodes, {
    summary: 'Create redemption codes that are worth AMOUNT each, and print them as CSV',
  }),
  apiCommand('code-batch list', 'code-batch-list', codeBatchColumns, { whenEmpty: 'There are no batches of codes.' }),
  apiCommand('code-batch show ID', 'code-batch-show', codeBatchDetails),
  apiCommand('code-batch redemptions ID', 'code-list', columns('id account redeemed_at redeemed_by'), {
    whenEmpty: 'The batch has no codes.',
  }),
  ...statusCommands(
    'code-batch',
    'code-batch-change',
    'Disable a batch: its codes cannot be redeemed',
    codeBatchDetails,
  ),
  apiCommand('code redeem ACCOUNT CODE', 'redemption-create', columns('account code amount balance'), {
    repetition: 'The account redeemed this code before: no credit was added.\n',
  }),
];

const batches: readonly ApiCommand[] = [
  apiCommand('batch list', 'batch-list', batchColumns, { isLimited: true, whenEmpty: 'There are no such batches.' }),
  apiCommand('batch show ID', 'batch-show', batchDetails),
  apiCommand('batch cancel ID', 'batch-cancel', batchDetails),
];

const plans: readonly ApiCommand[] = [
  apiCommand('plan list', 'plan-list', planColumns, {
    whenEmpty: 'There are no plans: add some with "turnpike apply".',
  }),
  apiCommand('plan show ACCOUNT', 'plan-show', planDetails),
  apiCommand('plan give ACCOUNT PLAN', 'plan-change', planDetails, {
    summary: 'Give an account a plan without payment',
    flags: {
      overflow: {
        help: 'whether the wallet pays for what the plan does not (default: yes, or that of the plan before)',
      },
      ends: {
        help: 'when the plan ends, or none (such as 2027-01-31T00:00:00Z; default: none, or that of the plan before)',
      },
    },
  }),
  apiCommand('plan update ACCOUNT', 'plan-change', planDetails, {
    summary: 'Change the plan of an account',
    flags: { plan: { help: 'gives the account another plan without payment; none ends its plan at once' } },
  }),
  apiCommand('plan subscribe ACCOUNT PLAN', 'subscription-create', printSubscribed),
  apiCommand('plan cancel ACCOUNT', 'subscription-cancel', planDetails),
  apiCommand('plan resume ACCOUNT', 'subscription-resume', planDetails),
  apiCommand('plan end ACCOUNT', 'plan-change', planDetails, {
    summary: 'End the plan of an account at once',
    body: { plan: null },
    hasNoFlags: true,
  }),
];

const payments: readonly ApiCommand[] = [
  apiCommand('auto-recharge show ACCOUNT', 'auto-recharge-show', rechargeColumns),
  apiCommand('auto-recharge enable ACCOUNT', 'auto-recharge-change', rechargeColumns, {
    summary: 'Recharge an account automatically, or change how',
    body: { enabled: true },
    flags: { amount: { help: 'the credit to buy: USD in whole cents' } },
  }),
  apiCommand('auto-recharge disable ACCOUNT', 'auto-recharge-change', rechargeColumns, {
    summary: 'Stop recharging an account',
    body: { enabled: false },
    hasNoFlags: true,
  }),
  apiCommand('payments list', 'payment-list', paymentColumns, { isLimited: true }),
  apiCommand('payments show ID', 'payment-show', paymentDetails),
  apiCommand('payments check', 'payment-check', printCheck, {
    summary: "Compare the journal with the payment provider's list; exits 1 when anything differs",
    send: checkAll,
  }),
];

const events: readonly ApiCommand[] = [
  apiCommand('audit', 'audit-list', auditColumns, {
    isLimited: true,
    whenEmpty: 'No changes match.',
  }),
  apiCommand('event list', 'event-list', columns('id timestamp account type description'), { isLimited: true }),
  apiCommand('incident list', 'incident-list', incidentColumns, { whenEmpty: 'There are no such incidents.' }),
  apiCommand('destination create', 'destination-create', [...destinationDetails, ...columns('secret')], withSecret),
  apiCommand('destination list', 'destination-list', destinationColumns, {
    isLimited: true,
    whenEmpty: 'There are no destinations: create one with "turnpike destination create".',
  }),
  apiCommand('destination show DESTINATION', 'destination-show', destinationDetails),
  apiCommand('destination update DESTINATION', 'destination-update', destinationDetails),
  apiCommand(
    'destination rotate DESTINATION',
    'destination-rotate',
    [...destinationDetails, ...columns('secret')],
    withSecret,
  ),
  apiCommand('destination test DESTINATION', 'destination-test', destinationDetails),
  apiCommand('delivery list', 'delivery-list', deliveryColumns, { isLimited: true }),
  apiCommand('delivery show DELIVERY', 'delivery-show', [
    ...deliveryColumns,
    ['ATTEMPTS', (row) => JSON.stringify(row['attempts'])],
  ]),
  apiCommand('delivery redeliver DELIVERY', 'delivery-redeliver', deliveryColumns),
];

const exports: readonly ApiCommand[] = [
  apiCommand('export create', 'export-create', exportDetails),
  apiCommand('export list', 'export-list', exportColumns, {
    isLimited: true,
    whenEmpty: 'There are no exports: create one with "turnpike export create".',
  }),
  apiCommand('export show EXPORT', 'export-show', exportDetails),
  apiCommand('export update EXPORT', 'export-update', exportDetails),
  apiCommand('export runs EXPORT', 'export-runs', exportRunColumns, {
    isLimited: true,
    whenEmpty: 'This export has not run yet.',
  }),
  apiCommand('export run EXPORT', 'export-run', exportRunColumns),
];

export const resourceCommands: readonly ApiCommand[] = [
  ...accounts,
  ...keys,
  ...people,
  ...directory,
  ...codes,
  ...batches,
  ...plans,
  ...payments,
  ...events,
  ...exports,
];

/** The codes on stdout, so that they can be sent to a file, and the batch on stderr. */
async function printCodes(invocation: Invocation, batch: Row): Promise<number> {
  const { json, world } = invocation;
  if (json) await printObject(invocation, batch, []);
  if (json) return 0;
  const rows = (batch['codes'] as string[]).map((code, at) => `${batch['id']}:${at + 1},${code},${batch['amount']}\n`);
  await world.write(`id,code,amount\n${rows.join('')}`);
  await world.writeError(`Created ${batch['id']}. Keep the codes now: they are not shown again.\n`);
  return 0;
}

async function printSubscribed(invocation: Invocation, answer: Row): Promise<number> {
  const { url } = answer;
  if (invocation.json) await printObject(invocation, answer, []);
  else await invocation.world.write(url === null ? 'The subscription was changed.\n' : `To be paid at: ${url}\n`);
  return 0;
}

/** Compares all parts of the range, as one response. */
async function checkAll(client: AdminClient, path: string, body: Row): Promise<Row> {
  const differences: unknown[] = [];
  let compared = 0;
  let asked = body;
  for (;;) {
    const part = await client.post(path, asked);
    differences.push(...(part['differences'] as unknown[]));
    compared += integerOf(part['compared']);
    if (part['is_complete'] === true) return { ...part, ok: differences.length === 0, compared, differences };
    asked = { ...asked, since: part['checked_until'] };
  }
}

async function printCheck(invocation: Invocation, check: Row): Promise<number> {
  const differences = check['differences'] as Row[];
  const line = ({ kind, payment, source, account, message }: Row) =>
    `${kind}: ${[payment, source, account].filter((name) => name !== null).join(' ')}: ${message}\n`;
  if (invocation.json) await printObject(invocation, check, []);
  else {
    const result = differences.length === 0 ? 'no differences' : `differences: ${differences.length}`;
    await invocation.world.write(
      `${differences.map(line).join('')}compared ${check['compared']} payments: ${result}\n`,
    );
  }
  return differences.length === 0 ? 0 : 1;
}

function subscriptionText(plan: Row): string | null {
  const subscription = plan['subscription'] as Row | null;
  if (subscription === null) return null;
  const { cancels_at: cancelsAt, next_plan: nextPlan } = subscription;
  if (cancelsAt !== null) return `canceled, ends ${cancelsAt}`;
  return nextPlan === null ? 'renews' : `becomes ${nextPlan}`;
}

function methodText({ payment_method: method }: Row): string | null {
  const { brand, kind, last4 } = (method ?? {}) as Row;
  return method === null ? null : [brand ?? kind, last4].filter((part) => part !== null).join(' ');
}

/** Such as "2.00 per 5h, 20.00 per week". */
function windowsText({ windows }: Row): string {
  const limits = Object.entries(windows as Row).filter(([, limit]) => limit !== null);
  return limits.map(([length, limit]) => `${limit} per ${length}`).join(', ');
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

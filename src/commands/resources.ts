// The table of the commands on accounts, keys, tokens, people and the journal: which operation of the admin API
// each calls, which flag fills which field, and what it prints. A test holds it equal to the OpenAPI document.

import type { AdminClient, Row } from './admin-client.ts';
import {
  type ApiCommand,
  apiCommand,
  describe,
  type FieldFlag,
  flag,
  LIST_ROWS_DEFAULT,
  sinceFlag,
  untilFlag,
} from './api-command.ts';
import type { Command, Invocation } from './command.ts';
import {
  addresses,
  amountNotNegative,
  amounts,
  choice,
  count,
  duration,
  limit,
  list,
  origins,
  orNull,
  text,
  time,
  yesOrNo,
} from './flags.ts';
import { type Column, columns, printObject, yesNo } from './output.ts';
import { paymentTable } from './payments.ts';

export const periods = ['total', 'day', 'week', 'month'] as const;
export const roles = ['operator', 'viewer', 'owner', 'member'] as const;
export const codeKinds = ['payment', 'promotion'] as const;
export const creditKinds = ['payment', 'promotion', 'adjustment', 'write_off'] as const;

const KEEP_KEY = 'Keep the key now: it is not shown again.\n';
const KEEP_LINK = 'Give this link to that person only: it works once and is not shown again.\n';

const accountColumns: readonly Column[] = columns('id name status groups balance held available created_at');
const accountDetails: readonly Column[] = [
  ...accountColumns,
  ...columns('credit_line'),
  ['ALLOWANCE', (row) => (row['allowance'] === null ? null : `${row['allowance']} (${row['allowance_period']})`)],
  ...columns('allowance_used'),
];
const keyColumns: readonly Column[] = [
  ...columns('id account name prefix status groups'),
  ['MODELS', (row) => row['models'] ?? 'all'],
  ['QUOTA', (row) => row['quota'] && `${row['quota_used']} of ${row['quota']} (${row['quota_period']})`],
  ...columns('last_used_at'),
];
const keyDetails: readonly Column[] = [
  ...keyColumns,
  ...columns('rpm input_tpm output_tpm concurrency'),
  ['ORIGINS', (row) => row['origins'] ?? 'any'],
  ['ADDRESSES', (row) => row['addresses'] ?? 'any'],
  ...columns('expires_at created_at'),
];
const tokenColumns: readonly Column[] = columns('id role account name prefix status expires_at made_by created_at');
const personColumns: readonly Column[] = [
  ...columns('id email role account name status link_expires_at'),
  ['INVITED BY', 'made_by'],
  ...columns('created_at'),
];

const roleFlags: Record<string, FieldFlag> = {
  role: {
    ...flag(
      'ROLE',
      'role',
      choice(roles),
      'operator or viewer of the installation; owner or member of an account (required)',
    ),
    isRequired: true,
  },
  account: flag('ID', 'account', text, 'the account of an owner or a member'),
};

const noteFlag = flag('TEXT', 'note', text, 'a note in the journal');
const expiresFlag = flag('TIME', 'expires_at', time, 'when it expires, such as 2027-01-31T00:00:00Z');

const accountFlags: Record<string, FieldFlag> = {
  name: flag('N', 'name', text, 'its name'),
  group: flag('G[,G2]', 'groups', list, 'the groups that its keys may be in (default: default)'),
  allowance: flag('AMOUNT', 'allowance', amountNotNegative, 'the maximum that it may spend in a period'),
  'allowance-period': {
    ...flag(
      'PERIOD',
      'allowance_period',
      choice(periods),
      'when the allowance is reset: day, week, month or total (never)',
    ),
    needs: 'allowance',
  },
  'low-balances': flag(
    'A,B',
    'low_balances',
    amounts,
    'emits an event when less than one of these amounts is left, or none',
  ),
  'credit-line': flag('AMOUNT', 'credit_line', amountNotNegative, 'how far below zero its balance may go (default: 0)'),
};

const keyFlags: Record<string, FieldFlag> = {
  name: flag('N', 'name', text, 'a name for the key'),
  group: flag(
    'G[,G2]',
    'groups',
    list,
    "its groups in order of preference, from the account's groups (default: all of them)",
  ),
  models: flag(
    'A,B*',
    'models',
    list,
    'the models that it may use; * matches any characters (default: all models of its groups)',
  ),
  quota: flag('AMOUNT', 'quota', amountNotNegative, 'the maximum that it may spend'),
  'quota-period': {
    ...flag(
      'PERIOD',
      'quota_period',
      choice(periods),
      'when the quota is reset: total (never), day, week or month (default: total)',
    ),
    needs: 'quota',
  },
  rpm: flag('N', 'rpm', limit, 'requests per minute'),
  'input-tpm': flag('N', 'input_tpm', limit, 'input tokens per minute'),
  'output-tpm': flag('N', 'output_tpm', limit, 'output tokens per minute'),
  concurrency: flag('N', 'concurrency', limit, 'concurrent messages'),
  expires: expiresFlag,
  origins: flag('A,B', 'origins', origins, 'the browser origins that may use it, such as https://app.example.com'),
  addresses: flag('CIDR,…', 'addresses', addresses, 'the addresses that may use it, such as 203.0.113.0/24'),
};

/** The same flags for an update: without defaults, and with a word that removes each bound that is `removable`. */
function forUpdate(flags: Record<string, FieldFlag>, removable: string): Record<string, FieldFlag> {
  const entries = Object.entries(flags).map(([name, { needs: _, ...spec }]) => {
    const help = spec.help.replace(/ \(default: .*\)$/, '');
    if (!removable.split(' ').includes(name)) return [name, { ...spec, help }];
    const word = [list, origins, addresses].some((read) => read === spec.read) ? 'any' : 'none';
    return [name, { ...spec, read: orNull(word, spec.read), help: `${help}; ${word} removes the limit` }];
  });
  return Object.fromEntries(entries);
}

/** For a command whose response has a one-time secret: prints it as a link into the console. */
const withLink = {
  async send(client: AdminClient, path: string, body: Row): Promise<Row> {
    const { base_url: baseUrl } = await client.get('/me'); // first: once made, the link must be printed
    const person = await client.post(path, body);
    const { link_secret: secret } = person; // null: the link is only mailed
    // Behind the #: browsers do not send that part to servers.
    return { ...person, link: secret === null ? null : `${baseUrl ?? client.url}/console/invitation#${secret}` };
  },
  columns: [['LINK', 'link'], ...personColumns] as readonly Column[],
  advice: KEEP_LINK,
};

/** The list of all objects of a kind, oldest first. */
function listOf(
  noun: string,
  plural: string,
  words: string,
  columns: readonly Column[],
  flags: ApiCommand['flags'] = {},
) {
  const whenEmpty = `There are no ${plural}.`;
  return describe(`${noun} list`, `lists ${words}, oldest first`, `GET /${plural}`, { columns, flags, whenEmpty });
}

/** Disables an object, and enables it again. */
function statusCommands(noun: string, plural: string, disableSummary: string, columns: readonly Column[]) {
  const change = (verb: string, summary: string, status: string) =>
    describe(`${noun} ${verb} ID`, summary, `PATCH /${plural}/{id}`, { body: { status }, columns });
  return [change('disable', disableSummary, 'disabled'), change('enable', `enables a disabled ${noun}`, 'enabled')];
}

const { name: accountName, ...accountTerms } = accountFlags;
const accounts: readonly ApiCommand[] = [
  describe('account create NAME', 'creates an account', 'POST /accounts', {
    flags: {
      ...accountTerms,
      credit: flag('AMOUNT', 'credit', amountNotNegative, 'its initial credit in USD, such as 10.00'),
    },
    columns: accountDetails,
  }),
  listOf('account', 'accounts', 'all accounts', accountColumns),
  describe('account show ID', 'shows an account', 'GET /accounts/{id}', { columns: accountDetails }),
  describe('account update ID', 'changes an account; settings without a flag stay unchanged', 'PATCH /accounts/{id}', {
    flags: forUpdate(accountFlags, 'allowance'),
    needsChange: true,
    columns: accountDetails,
  }),
  ...statusCommands('account', 'accounts', 'disables an account: its keys get a 401', accountDetails),
  describe(
    'credit ACCOUNT AMOUNT',
    'adds credit to an account; a negative amount is a correction, refused below what is available',
    'POST /accounts/{id}/credits',
    {
      flags: {
        kind: flag(
          'KIND',
          'kind',
          choice(creditKinds),
          'payment, promotion, adjustment, or write_off for an unpaid debt (default: payment; adjustment for a negative amount)',
        ),
        note: noteFlag,
        reference: flag('R', 'reference', text, 'adds the credit only once, even if the command is repeated'),
      },
      print: printCredit,
    },
  ),
  describe(
    'refund REQUEST_ID [AMOUNT]',
    'refunds the cost of a message: AMOUNT, or everything not refunded yet',
    'POST /usage/{request_id}/refunds',
    { flags: { note: noteFlag }, columns: columns('request_id account amount balance note') },
  ),
  describe('ledger ACCOUNT', 'lists the journal entries of an account, newest first', 'GET /accounts/{id}/entries', {
    flags: { since: sinceFlag, until: untilFlag },
    rowsDefault: LIST_ROWS_DEFAULT,
    columns: columns('at kind change debit credit reference note'),
    whenEmpty: 'No entries match.',
  }),
];

const keys: readonly ApiCommand[] = [
  describe('key create', 'creates a key; its secret is shown only once', 'POST /keys', {
    flags: {
      account: { ...flag('ID', 'account', text, 'the account that pays (required)'), isRequired: true },
      ...keyFlags,
    },
    columns: [...columns('key'), ...keyDetails],
    advice: KEEP_KEY,
  }),
  listOf('key', 'keys', 'keys', keyColumns, { account: flag('ID', 'account', text, 'only keys of this account') }),
  describe('key show ID', 'shows a key, without its secret', 'GET /keys/{id}', { columns: keyDetails }),
  describe('key update ID', 'changes a key; settings without a flag stay unchanged', 'PATCH /keys/{id}', {
    flags: forUpdate(keyFlags, 'group models quota rpm input-tpm output-tpm concurrency expires origins addresses'),
    needsChange: true,
    columns: keyDetails,
  }),
  ...statusCommands('key', 'keys', 'disables a key: it gets a 401', keyDetails),
  describe('key revoke ID', 'permanently revokes a key; its running messages may finish', 'POST /keys/{id}/revoke', {
    switches: { now: { help: 'also ends its running messages' } },
    columns: keyDetails,
  }),
  describe('key rotate ID', 'gives a key a new secret, which is shown only once', 'POST /keys/{id}/rotate', {
    flags: {
      grace: flag('TIME', 'grace', duration, 'how long the old secret stays valid, such as 1h or 0s (default: 24h)'),
    },
    columns: [...columns('key grace_ends_at'), ...keyDetails],
    advice: KEEP_KEY,
  }),
];

const tokens: readonly ApiCommand[] = [
  describe('token create', 'creates a token for the admin API; its secret is shown only once', 'POST /tokens', {
    flags: { ...roleFlags, name: flag('N', 'name', text, 'a name for the token'), expires: expiresFlag },
    columns: [...columns('token'), ...tokenColumns],
    advice: 'Keep the token now: it is not shown again.\n',
  }),
  listOf('token', 'tokens', 'tokens', tokenColumns),
  describe('token revoke ID', 'permanently revokes a token; keys that it created stay', 'POST /tokens/{id}/revoke', {
    columns: tokenColumns,
  }),
];

const people: readonly ApiCommand[] = [
  describe(
    'person invite EMAIL',
    'invites a person; the link for their first sign-in is shown only once',
    'POST /people',
    { flags: { ...roleFlags, name: flag('N', 'name', text, 'their name, until they change it') }, ...withLink },
  ),
  listOf('person', 'people', 'people', personColumns),
  ...statusCommands('person', 'people', 'disables a person; their link and sessions end', personColumns),
  describe(
    'person link ID',
    'creates a link to set a new password; accepting it ends their sessions and removes their second factor',
    'POST /people/{id}/link',
    withLink,
  ),
];

const batchColumns: readonly Column[] = [
  ...columns('id name kind amount'),
  ['REDEEMED', (row) => `${row['redeemed']} of ${row['count']}`],
  ...columns('status expires_at created_at'),
];
const batchDetails: readonly Column[] = [
  ...batchColumns,
  yesNo('ONCE PER ACCOUNT', 'once_per_account'),
  ...columns('note made_by'),
];
const codes: readonly ApiCommand[] = [
  describe(
    'code-batch create NAME AMOUNT',
    'creates redemption codes that are worth AMOUNT each, and prints them as CSV; they are shown only once',
    'POST /code-batches',
    {
      flags: {
        count: { ...flag('N', 'count', count, 'the number of codes (required)'), isRequired: true },
        kind: flag(
          'KIND',
          'kind',
          choice(codeKinds),
          'the kind of the credits: payment for codes that are sold, or promotion (default: promotion)',
        ),
        expires: flag('TIME', 'expires_at', time, 'when the codes expire, such as 2027-01-31T00:00:00Z'),
        note: flag('TEXT', 'note', text, 'the note of each credit, which the holder sees'),
      },
      switches: {
        'once-per-account': { field: 'once_per_account', help: 'an account can redeem only one of the codes' },
      },
      print: printCodes,
    },
  ),
  describe('code-batch list', 'lists the batches of redemption codes, newest first', 'GET /code-batches', {
    columns: batchColumns,
    whenEmpty: 'There are no batches of codes.',
  }),
  describe('code-batch show ID', 'shows a batch, without its codes', 'GET /code-batches/{id}', {
    columns: batchDetails,
  }),
  describe(
    'code-batch redemptions ID',
    'lists the codes of a batch, each with the account that redeemed it',
    'GET /code-batches/{id}/codes',
    { columns: columns('id account redeemed_at redeemed_by'), whenEmpty: 'The batch has no codes.' },
  ),
  ...statusCommands('code-batch', 'code-batches', 'disables a batch: its codes cannot be redeemed', batchDetails),
  describe('code redeem ACCOUNT CODE', 'redeems a code for an account', 'POST /accounts/{id}/redemptions', {
    print: printRedemption,
  }),
];

const planDetails: readonly Column[] = [
  ...columns('account plan overflow'),
  [
    'WINDOWS',
    (row) => (row['windows'] as Row[]).map((one) => `${one['used']} of ${one['limit']} per ${one['length']}`),
  ],
  ...columns('groups paid_until ends_at'),
  ['SUBSCRIPTION', (row) => subscriptionText(row['subscription'] as Row | null)],
];
function subscriptionText(subscription: Row | null): string | null {
  if (subscription === null) return null;
  const { cancels_at: cancelsAt, next_plan: nextPlan } = subscription;
  if (cancelsAt !== null) return `canceled, ends ${cancelsAt}`;
  return nextPlan === null ? 'renews' : `becomes ${nextPlan}`;
}

async function printSubscribed({ world, json }: Invocation, answer: Row): Promise<number> {
  const { url } = answer;
  if (json) await world.write(`${JSON.stringify(answer, null, 2)}\n`);
  else await world.write(url === null ? 'The subscription was changed.\n' : `To be paid at: ${url}\n`);
  return 0;
}

const planFlags: Record<string, FieldFlag> = {
  overflow: flag('yes|no', 'overflow', yesOrNo, 'whether the wallet pays for what the plan does not (default: yes)'),
  ends: flag('TIME', 'ends_at', time, 'when the plan ends, such as 2027-01-31T00:00:00Z (default: never)'),
};
const plans: readonly ApiCommand[] = [
  describe('plan show ACCOUNT', 'shows the plan of an account and what is left of it', 'GET /accounts/{id}/plan', {
    columns: planDetails,
  }),
  describe('plan give ACCOUNT PLAN', 'gives an account a plan without payment', 'PATCH /accounts/{id}/plan', {
    flags: planFlags,
    columns: planDetails,
  }),
  describe('plan update ACCOUNT', 'changes the plan of an account', 'PATCH /accounts/{id}/plan', {
    flags: forUpdate(planFlags, 'ends'),
    needsChange: true,
    columns: planDetails,
  }),
  describe(
    'plan subscribe ACCOUNT PLAN',
    'begins the subscription of an account, to be paid by its holder, or changes it to another plan',
    'POST /accounts/{id}/subscription',
    { print: printSubscribed },
  ),
  describe(
    'plan cancel ACCOUNT',
    'cancels the subscription of an account with its paid period',
    'POST /accounts/{id}/subscription/cancel',
    { columns: planDetails },
  ),
  describe(
    'plan resume ACCOUNT',
    'undoes the cancellation, or a planned change, of a subscription',
    'POST /accounts/{id}/subscription/resume',
    { columns: planDetails },
  ),
  describe('plan end ACCOUNT', 'ends the plan of an account at once', 'PATCH /accounts/{id}/plan', {
    body: { plan: null },
    columns: planDetails,
  }),
];

/** Every command of this table, as data. */
export const resourceTable: readonly ApiCommand[] = [
  ...paymentTable,
  ...accounts,
  ...codes,
  ...plans,
  ...keys,
  ...tokens,
  ...people,
];

export const resourceCommands: readonly Command[] = resourceTable.map(apiCommand);

/** The codes on stdout, so that they can be sent to a file, and the batch on stderr. */
async function printCodes({ json, world }: Invocation, batch: Row): Promise<number> {
  if (json) await world.write(`${JSON.stringify(batch, null, 2)}\n`);
  if (json) return 0;
  const rows = (batch['codes'] as string[]).map((code, at) => `${batch['id']}:${at + 1},${code},${batch['amount']}\n`);
  await world.write(`id,code,amount\n${rows.join('')}`);
  await world.writeError(`Created ${batch['id']}. Keep the codes now: they are not shown again.\n`);
  return 0;
}

async function printRedemption(invocation: Invocation, redemption: Row): Promise<number> {
  if (redemption['repeated'] === true)
    await invocation.world.writeError('The account redeemed this code before: no credit was added.\n');
  await printObject(invocation, redemption, columns('account code amount balance'));
  return 0;
}

async function printCredit(invocation: Invocation, credited: Row): Promise<number> {
  if (credited['repeated'] === true)
    await invocation.world.writeError('This reference was credited before: no credit was added.\n');
  await printObject(invocation, credited, columns('account amount balance reference note'));
  return 0;
}

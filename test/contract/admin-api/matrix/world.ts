// The installation that the matrix runs against: three accounts, one of them disabled, every kind of principal, and
// objects of each with unique names.

import { makeMailedSecret } from '../../../../src/accounts/accounts.ts';
import { makeDeviceCode, makeGrant } from '../../../../src/agents/grant.ts';
import { DAY_MS } from '../../../../src/base/clock.ts';
import { formatId, newNumber, parseId } from '../../../../src/base/ids.ts';
import { type Batch, NO_COUNTS } from '../../../../src/batches/batches.ts';
import { sealUnsubscribe } from '../../../../src/delivery/send-notice.ts';
import { hashSecret, openVault } from '../../../../src/secrets/secrets.ts';
import { noAuditContext } from '../../../support/no-audit-context.ts';
import {
  type Installation,
  type Json,
  makeInstallation,
  NOW_MS,
  TOKEN,
  useKey,
  VAULT_SECRET,
} from '../installation.ts';
import { changesSince, restore, type Snapshot, takeSnapshot } from './tables.ts';

export type Role = 'operator' | 'viewer' | 'owner' | 'member';
export type AccountName = 'alpha' | 'bravo' | 'delta' | 'echo' | 'foxtrot';

/** The accounts below another: echo pays from alpha, foxtrot has a balance of its own. */
export const parentOf: Partial<Record<AccountName, AccountName>> = { echo: 'alpha', foxtrot: 'alpha' };

/** Whether the principal has rights in the account: in its own, and owners in those below. */
export function isOver({ account, role }: Principal, other: AccountName | null): boolean {
  return other !== null && (account === other || (role === 'owner' && account === parentOf[other]));
}

/** The sender of a request. */
export interface Principal {
  name: string;
  role: Role;
  /** null for the installation. */
  account: AccountName | null;
  /** Whether the token is valid. */
  isKnown: boolean;
  authorization: string | null;
  /** The id of the token. */
  id: string;
  expiresAt: string | null;
}

export type ObjectKind =
  | 'account'
  | 'key'
  | 'batch'
  | 'token'
  | 'person'
  | 'usage'
  | 'provider'
  | 'code-batch'
  | 'directory-group'
  | 'payment'
  | 'integration'
  | 'provider-bill'
  | 'provider-bill-source'
  | 'destination'
  | 'delivery'
  | 'export'
  | 'agent-sign-in'
  | 'device-code'
  | 'view';

export interface WorldObject {
  kind: ObjectKind;
  name: string;
  id: string;
  /** null for the installation. */
  account: AccountName | null;
  /** The name of the principal that created it, or that created the key of a usage record. */
  maker: string;
  /** Its name in the installation; null if it has none. */
  label: string | null;
  /** A revoked key or a disabled person. */
  isRevoked: boolean;
}

export interface World {
  installation: Installation;
  principals: Principal[];
  objects: WorldObject[];
  accountIds: Record<AccountName, string>;
  /** Unique texts that only some principals may read. */
  words: { text: string; mayRead(principal: Principal): boolean }[];
  /** Secrets of one-time links. The first belongs to no account and can be used by any client. */
  linkSecrets: string[];
  /** A redemption code that nobody has redeemed. */
  code: string;
  snapshot: Snapshot;
}

/** The groups of each account. Only `delta` is in `default`, which sells every model. */
export const groupsOf: Record<AccountName, string[]> = {
  alpha: ['sandbox', 'alpha-group'],
  bravo: ['sandbox', 'bravo-group'],
  delta: ['default'],
  echo: ['alpha-group'],
  foxtrot: ['sandbox'],
};
/** The models that each account can use. */
export const modelsOf: Record<AccountName, string[]> = {
  alpha: ['alpha-model', 'sandbox-echo'],
  bravo: ['bravo-model', 'sandbox-echo'],
  delta: ['alpha-model', 'bravo-model', 'sandbox-echo'],
  echo: ['alpha-model'],
  foxtrot: ['sandbox-echo'],
};

const catalog = {
  providers: {
    'house-behind': {
      kind: 'anthropic',
      base_url: 'http://127.0.0.1:1/upstream-address',
      private_network: true,
      api_key: 'sk-upstream-credential',
      credentials: { 'behind-alpha': { api_key: 'sk-upstream-credential-of-alpha', group: 'alpha-group' } },
    },
  },
  models: Object.fromEntries(
    ['alpha', 'bravo'].map((name) => [
      `${name}-model`,
      {
        price: { input: '3', output: '15' },
        routes: [{ provider: 'house-behind', model: `${name}-upstream`, cost: { input: '2.718281828', output: '11' } }],
      },
    ]),
  ),
  groups: { 'alpha-group': { models: ['alpha-*'] }, 'bravo-group': { models: ['bravo-*'] } },
  plans: { 'alpha-plan': { title: 'Alpha', price: '10', windows: { day: '1' }, is_offered: true } },
  settings: { sign_up: 'on' },
};
const BEHIND_THE_PRICE = [
  'house-behind',
  'behind-alpha',
  'upstream-address',
  'sk-upstream-credential',
  '2.718281828',
  '0.281718172',
];

/** A principal without a valid token. */
const stranger = { role: 'operator', account: null, isKnown: false, id: '', expiresAt: null } as const;

export async function makeWorld(): Promise<World> {
  const installation = await makeInstallation({ sendsMail: true });
  const { ask } = installation;
  const stripe_price = installation.payments?.stripe.addPrice(1_000).id;
  const plans = { 'alpha-plan': { ...catalog.plans['alpha-plan'], stripe_price } };
  await ask('POST', '/api/v1/apply', { document: { ...catalog, plans } });
  const alpha = await makeAccount(installation, 'alpha');
  const accountIds = {
    alpha,
    bravo: await makeAccount(installation, 'bravo'),
    delta: await makeAccount(installation, 'delta'),
    echo: await makeAccount(installation, 'echo', { parent: alpha, pays_from: 'parent' }),
    foxtrot: await makeAccount(installation, 'foxtrot', { parent: alpha }),
  };
  const world: World = {
    installation,
    principals: [],
    objects: Object.entries(accountIds).map(([name, id]) =>
      worldObject('account', `account ${name}`, id, name as AccountName),
    ),
    accountIds,
    words: [],
    linkSecrets: [],
    code: '',
    snapshot: new Map(),
  };
  const limits = { displayName: null, maxInputTokens: null, maxOutputTokens: null, rates: null };
  world.installation.offers.set('house-behind', [{ name: 'sandbox-lorem', ...limits }]);
  world.objects.push(worldObject('integration', 'telemetry', 'telemetry', null));
  for (const name of ['house-behind', 'sandbox'])
    world.objects.push(worldObject('provider', `provider ${name}`, name, null));
  await addPrincipals(world);
  await addKeys(world);
  await addPeople(world);
  await addCodes(world);
  await addDirectoryGroup(world);
  await addViews(world);
  await addDestinations(world);
  await addSignIns(world);
  await addExports(world);
  for (const id of Object.values(accountIds)) await ask('PATCH', `/api/v1/accounts/${id}/plan`, { plan: 'alpha-plan' });
  await addMailedLinks(world);
  await addPayments(world);
  await addBills(world);
  await endTokens(world);
  await ask('PATCH', `/api/v1/accounts/${accountIds.delta}`, { status: 'disabled' });
  addWords(world);
  addSecrets(world);
  world.snapshot = takeSnapshot(installation.stores.tables);
  return world;
}

/** Restores the initial state. */
export async function restoreWorld({ installation, snapshot }: World): Promise<void> {
  const { stores, catalog: holder, notifications, counters } = installation;
  counters.clear();
  const isRepriced = changesSince(stores.tables, snapshot).some(({ table }) => table === 'catalog');
  restore(stores.tables, snapshot);
  if (isRepriced) holder.swap(await stores.catalog.loadCatalog());
  notifications.length = 0;
}

export function principalNamed({ principals }: World, name: string): Principal {
  const found = principals.find((principal) => principal.name === name);
  if (found === undefined) throw new Error(`there is no principal "${name}"`);
  return found;
}

/** The secrets of mailed links, which any client can use; the last one belongs to no destination. */
export const mailedTokens = {
  'sign-up': makeMailedSecret('sign-up').reveal(),
  'password-reset': makeMailedSecret('password-reset').reveal(),
  unsubscribe: sealUnsubscribe(openVault(VAULT_SECRET), { id: 7, address: 'ada@example.com' }),
};

/** A link for a new person, and one for a new password of a person of the installation. */
async function addMailedLinks(world: World): Promise<void> {
  const { installation } = world;
  const { stores, ask, clock } = installation;
  const { body } = await ask('POST', '/api/v1/people', { role: 'viewer', email: 'forgetful@example.com' });
  await ask('PATCH', `/api/v1/people/${body['id']}`, { status: 'enabled' });
  world.objects.push(worldObject('person', 'a person who forgot their password', String(body['id']), null));
  for (const [purpose, email] of [
    ['sign-up', 'signing-up@example.com'],
    ['password-reset', 'forgetful@example.com'],
  ] as const)
    await stores.mails.putLink({
      hash: hashSecret(mailedTokens[purpose]),
      purpose,
      email,
      expiresAtMs: clock.nowMs() + 60 * DAY_MS,
      name: 'Ada',
      accountName: 'Ada',
    });
  stores.tables.mails.clear();
  installation.notifications.length = 0;
}

function worldObject(
  kind: ObjectKind,
  name: string,
  id: string,
  account: AccountName | null,
  more: { maker?: string; label?: string } = {},
): WorldObject {
  return { kind, name, id, account, maker: more.maker ?? 'the machine', label: more.label ?? null, isRevoked: false };
}

function labelOf(what: string, name: string): string {
  return `${what}-of-${name.replaceAll(/[ ,]+/g, '-')}`;
}

async function makeAccount({ ask }: Installation, name: AccountName, place: object = {}): Promise<string> {
  const credit = { credit: '7654.321', note: `note-of-${name}`, reference: `reference-of-${name}` };
  const members = { name: `${name}-works`, groups: groupsOf[name], ...place, ...('pays_from' in place ? {} : credit) };
  const { body } = await ask('POST', '/api/v1/accounts', members);
  return String(body['id']);
}

async function addPrincipals(world: World): Promise<void> {
  const { clock } = world.installation;
  const nextWeek = new Date(clock.nowMs() + 7 * DAY_MS).toISOString();
  const soon = new Date(clock.nowMs() + 60_000).toISOString();
  await addPrincipal(world, 'operator', 'operator', null);
  await addPrincipal(world, 'operator until next week', 'operator', null, nextWeek);
  await addPrincipal(world, 'viewer', 'viewer', null);
  await addPrincipal(world, 'owner of alpha', 'owner', 'alpha');
  await addPrincipal(world, 'owner of alpha until next week', 'owner', 'alpha', nextWeek);
  await addPrincipal(world, 'member 1 of alpha', 'member', 'alpha');
  await addPrincipal(world, 'member 2 of alpha', 'member', 'alpha');
  await addPrincipal(world, 'owner of bravo', 'owner', 'bravo');
  await addPrincipal(world, 'owner of echo', 'owner', 'echo');
  await addPrincipal(world, 'member of echo', 'member', 'echo');
  await addPrincipal(world, 'owner of foxtrot', 'owner', 'foxtrot');
  await addPrincipal(world, 'owner of delta, disabled', 'owner', 'delta');
  await addPrincipal(world, 'member of delta, disabled', 'member', 'delta');
  await addPrincipal(world, 'expired operator', 'operator', null, soon);
  await addPrincipal(world, 'expired owner of alpha', 'owner', 'alpha', soon);
  await addPrincipal(world, 'revoked operator', 'operator', null);
  await addPrincipal(world, 'revoked owner of alpha', 'owner', 'alpha');
  world.principals.push({ ...stranger, name: 'nobody', authorization: null });
  world.principals.push({ ...stranger, name: 'garbage', authorization: 'Bearer garbage' });
}

async function addPrincipal(
  world: World,
  name: string,
  role: Role,
  account: AccountName | null,
  expiresAt: string | null = null,
): Promise<void> {
  const label = labelOf('token', name);
  const { body } = await world.installation.ask('POST', '/api/v1/tokens', {
    role,
    name: label,
    ...(account !== null && { account: world.accountIds[account] }),
    ...(expiresAt !== null && { expires_at: expiresAt }),
  });
  const id = String(body['id']);
  const authorization = `Bearer ${body['token']}`;
  world.principals.push({ name, role, account, isKnown: true, authorization, id, expiresAt });
  world.objects.push(worldObject('token', `token of ${name}`, id, account, { label }));
}

/** Creates a key by each principal, two usage records of each key, and one revoked key of each account. */
async function addKeys(world: World): Promise<void> {
  for (const principal of world.principals) {
    if (!principal.isKnown || /viewer|expired|revoked|until/.test(principal.name)) continue;
    await addKey(world, principal, principal.account ?? 'alpha');
  }
  for (const account of ['alpha', 'bravo'] as const) {
    const key = await addKey(world, principalNamed(world, `owner of ${account}`), account, ', revoked');
    await world.installation.ask('POST', `/api/v1/keys/${key.id}/revoke`, {});
    key.isRevoked = true;
  }
  const { body } = await world.installation.ask('POST', '/api/v1/keys', { account: world.accountIds.bravo });
  world.objects.push(worldObject('key', 'key of the machine', String(body['id']), 'bravo'));
  world.principals.push({ ...stranger, name: 'a key of bravo', authorization: `Bearer ${body['key']}` });
}

async function addKey(world: World, maker: Principal, account: AccountName, more = ''): Promise<WorldObject> {
  const { installation, accountIds, objects } = world;
  const name = `${maker.name}${more}`;
  const label = labelOf('key', name);
  const members = { account: accountIds[account], name: label };
  const headers = { authorization: String(maker.authorization) };
  const { body } = await installation.ask('POST', '/api/v1/keys', members, headers);
  const key = worldObject('key', `key of ${name}`, String(body['id']), account, { maker: maker.name, label });
  objects.push(key);
  for (const [at, requestId] of (await useKey(installation, body, 2)).entries())
    objects.push(worldObject('usage', `usage ${at} of ${name}`, requestId, account, { maker: maker.name }));
  await addBatch(world, key, `batch of ${name}`);
  const counted = { atMs: NOW_MS, lastAtMs: NOW_MS, status: 400, count: 1, message: `refused for ${name}` };
  const ids = { account: parseId('acct', accountIds[account]), key: parseId('key', key.id) };
  await installation.stores.traffic.addRefusals([{ ...counted, ...ids, code: 'model_not_found' }]);
  return key;
}

/** A batch that the key has made, and that runs. */
async function addBatch({ installation, objects, accountIds }: World, key: WorldObject, name: string): Promise<void> {
  const accountId = parseId('acct', accountIds[key.account ?? 'alpha']) ?? 0;
  const id = newNumber();
  const batch: Batch = {
    ...{ id, accountId, companyId: accountId, keyId: parseId('key', key.id) ?? 0 },
    ...{ form: 'messages', status: 'running', endpoint: '/v1/messages', groups: [], headers: {}, metadata: null },
    ...{
      createdAtMs: NOW_MS,
      dueAtMs: NOW_MS + DAY_MS,
      expiresAtMs: NOW_MS + DAY_MS,
      cancelAtMs: null,
      endedAtMs: null,
    },
    ...{ inputFileId: 1, outputFileId: null, errorFileId: null, requests: 1, counts: NO_COUNTS },
  };
  await installation.stores.batches.createBatch(batch, []);
  objects.push(worldObject('batch', name, formatId('msgbatch', id), key.account, { maker: key.maker }));
}

/**
 * Creates an owner and a member of each account, a disabled owner, an operator, and a viewer whose link any client
 * may use.
 */
async function addPeople(world: World): Promise<void> {
  await addPerson(world, 'anybody', 'viewer', null);
  await addPerson(world, 'other operator', 'operator', null);
  for (const account of ['alpha', 'bravo', 'delta', 'echo'] as const)
    for (const role of ['owner', 'member'] as const) await addPerson(world, `${role} of ${account}`, role, account);
  const disabled = await addPerson(world, 'disabled owner of alpha', 'owner', 'alpha');
  await world.installation.ask('PATCH', `/api/v1/people/${disabled.id}`, { status: 'disabled' });
  disabled.isRevoked = true;
}

async function addPerson(world: World, name: string, role: Role, account: AccountName | null): Promise<WorldObject> {
  const label = name === 'anybody' ? null : labelOf('person', name);
  const members = {
    role,
    email: `${label ?? name}@example.com`,
    ...(account && { account: world.accountIds[account] }),
  };
  const { body } = await world.installation.ask('POST', '/api/v1/people', members);
  world.linkSecrets.push(String(body['link_secret']));
  const person = worldObject('person', `person ${name}`, String(body['id']), account, label === null ? {} : { label });
  world.objects.push(person);
  return person;
}

/** A sign-in of a coding agent in each account. */
async function addSignIns(world: World): Promise<void> {
  const { stores, clock } = world.installation;
  const nowMs = clock.nowMs();
  const keyOf = (account: AccountName) =>
    parseId('key', world.objects.find((one) => one.kind === 'key' && one.account === account)?.id ?? '') ?? 0;
  for (const [at, account] of (['alpha', 'bravo'] as const).entries()) {
    const { code } = makeDeviceCode('claude-code', '192.0.2.9', nowMs, DAY_MS);
    await stores.agents.createDeviceCode(code, nowMs);
    const holder = {
      accountId: parseId('acct', world.accountIds[account]) ?? 0,
      personId: 7_000_000_000 + at,
      keyId: keyOf(account),
    };
    const grant = makeGrant(code, holder, nowMs, 60 * DAY_MS);
    await stores.agents.createAgentGrant({ code, grant, key: null }, 0, noAuditContext);
    world.objects.push(worldObject('agent-sign-in', `sign-in of ${account}`, formatId('agent', grant.id), account));
  }
}

async function addCodes(world: World): Promise<void> {
  const label = labelOf('codes', 'spring');
  const { body } = await world.installation.ask('POST', '/api/v1/code-batches', { name: label, amount: '1', count: 2 });
  world.objects.push(worldObject('code-batch', 'codes of spring', String(body['id']), null, { label }));
  world.code = String((body['codes'] as string[])[0]);
  world.words.push({ text: world.code, mayRead: () => false });
}

async function addDirectoryGroup(world: World): Promise<void> {
  const label = labelOf('directory', 'group');
  const members = { name: label, role: 'member', account: world.accountIds.bravo };
  const { body } = await world.installation.ask('POST', '/api/v1/directory-groups', members);
  world.objects.push(worldObject('directory-group', 'group of a directory', String(body['id']), null, { label }));
}

async function addViews(world: World): Promise<void> {
  for (const name of ['viewer', 'owner of alpha', 'member 1 of alpha', 'member of echo', 'owner of delta, disabled']) {
    const { account, authorization } = principalNamed(world, name);
    const label = labelOf('view', name);
    const members = { page: '/usage', name: label, search: '' };
    const headers = { authorization: String(authorization) };
    const { body } = await world.installation.ask('POST', '/api/v1/views', members, headers);
    world.objects.push(worldObject('view', `view of ${name}`, String(body['id']), account, { maker: name, label }));
  }
}

/** A source and a bill of a provider. */
async function addBills({ installation, objects }: World): Promise<void> {
  const name = 'house-behind';
  await installation.ask('POST', '/api/v1/provider-bill-sources', { provider: name, kind: 'anthropic' });
  objects.push(worldObject('provider-bill-source', 'source of bills', name, null));
  await installation.api.fetch(
    new Request(`http://localhost/api/v1/provider-bill-sources/${name}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' },
      body: 'usage_date_utc,model,token_type,cost_usd\n2026-01-05,sandbox-echo,output,0.05\n',
    }),
    '127.0.0.1',
  );
  objects.push(worldObject('provider-bill', 'bill of a day', `${name}:2026-01-05`, null));
}

/** A payment of each account that has begun one, and a saved method of every account. */
async function addPayments(world: World): Promise<void> {
  for (const account of ['alpha', 'bravo'] as const) {
    const members = { account: world.accountIds[account], amount: '25.00' };
    const { body } = await world.installation.ask('POST', '/api/v1/payments', members);
    world.objects.push(worldObject('payment', `payment of ${account}`, String(body['id']), account));
  }
  for (const id of Object.values(world.accountIds)) {
    await world.installation.ask('POST', `/api/v1/accounts/${id}/portal`, {});
    const billing = await world.installation.stores.payments.getBilling(parseId('acct', id) ?? 0);
    world.installation.payments?.stripe.saveMethod(billing?.customer ?? '', 'good');
  }
}

/** A destination of each account and one of the operators, with a delivery each. */
async function addDestinations(world: World): Promise<void> {
  const { ask, stores } = world.installation;
  for (const account of ['alpha', 'bravo', 'delta', 'echo', null] as const) {
    const of = account ?? 'operators';
    const label = labelOf('destination', of);
    const { body } = await ask('POST', '/api/v1/destinations', {
      ...{ kind: 'webhook', name: label, address: `https://hooks.example.com/${of}`, types: ['*'] },
      ...(account !== null && { account: world.accountIds[account] }),
    });
    world.objects.push(worldObject('destination', `destination of ${of}`, String(body['id']), account, { label }));
    world.words.push({ text: String(body['secret']), mayRead: () => false });
    const destination = [...stores.tables.destinations.values()].at(-1);
    const ofAccount = (event: { account: number | null }) => event.account === destination?.accountId;
    const event = [...stores.tables.events.values()].find(account === null ? () => true : ofAccount);
    if (destination === undefined || event === undefined) throw new Error(`there is no event of ${of}`);
    const seq = stores.tables.deliveries.size + 1;
    stores.tables.deliveries.set(seq, {
      ...{ seq, eventSeq: event.seq, destinationId: destination.id, accountId: destination.accountId },
      ...{ status: 'failed', tries: 1, createdAtMs: event.atMs, nextAtMs: null, doneAtMs: event.atMs, attempts: [] },
    });
    world.objects.push(worldObject('delivery', `delivery of ${of}`, formatId('dlv', seq), account));
  }
}

/** An export of each account and one of the operators. */
async function addExports(world: World): Promise<void> {
  for (const account of ['alpha', 'bravo', 'delta', 'echo', 'foxtrot', null] as const) {
    const of = account ?? 'operators';
    const label = labelOf('export', of);
    const { body } = await world.installation.ask('POST', '/api/v1/exports', {
      ...anExport(`secret-of-the-bucket-of-${of}`),
      ...{ name: label, ...(account !== null && { account: world.accountIds[account] }) },
    });
    world.objects.push(worldObject('export', `export of ${of}`, String(body['id']), account, { label }));
    world.words.push({ text: `secret-of-the-bucket-of-${of}`, mayRead: () => false });
  }
}

/** The body of a new export. */
export function anExport(secret: string): Json {
  return {
    ...{ kind: 'costs', every: 'month', target: 's3', s3_endpoint: 'https://s3.example.com', s3_bucket: 'finance' },
    ...{ s3_access_key_id: 'AKID', s3_secret_access_key: secret },
  };
}

async function endTokens(world: World): Promise<void> {
  world.installation.clock.advance(120_000);
  for (const principal of world.principals) {
    if (principal.name.startsWith('expired')) principal.isKnown = false;
    if (!principal.name.startsWith('revoked')) continue;
    await world.installation.ask('POST', `/api/v1/tokens/${principal.id}/revoke`, {});
    principal.isKnown = false;
  }
}

function addWords(world: World): void {
  const ofInstallation = (principal: Principal) => principal.account === null;
  const heldBy = (account: AccountName) => (principal: Principal) =>
    ofInstallation(principal) || (isOver(principal, account) && principal.role === 'owner');
  for (const text of BEHIND_THE_PRICE) world.words.push({ text, mayRead: ofInstallation });
  for (const account of ['alpha', 'bravo', 'delta', 'echo', 'foxtrot'] as const) {
    const ofAccount = (principal: Principal) => ofInstallation(principal) || isOver(principal, account);
    const isSold = (principal: Principal) =>
      ofAccount(principal) || ['delta', ...(account === 'alpha' ? ['echo'] : [])].includes(principal.account ?? '');
    world.words.push({ text: `${account}-works`, mayRead: ofAccount });
    world.words.push({ text: world.accountIds[account], mayRead: ofAccount });
    world.words.push({ text: `note-of-${account}`, mayRead: heldBy(account) });
    world.words.push({ text: `reference-of-${account}`, mayRead: heldBy(account) });
    if (account !== 'alpha' && account !== 'bravo') continue;
    const isIn = (principal: Principal) =>
      principal.account !== null && groupsOf[principal.account].includes(`${account}-group`);
    world.words.push({ text: `${account}-group`, mayRead: (one) => ofAccount(one) || isIn(one) });
    world.words.push({ text: `${account}-model`, mayRead: isSold });
    world.words.push({ text: `${account}-upstream`, mayRead: ofInstallation });
  }
  addObjectWords(world);
}

function addSecrets(world: World): void {
  const shown = [TOKEN, ...world.principals.flatMap(({ authorization }) => authorization?.split(' ')[1] ?? [])];
  for (const text of world.linkSecrets) world.words.push({ text, mayRead: () => false });
  for (const text of shown) if (text !== 'garbage') world.words.push({ text, mayRead: () => false });
}

/**
 * The ids and names of keys, tokens, persons and usage records. An operator's token may be visible as the author of a
 * change, but its name may not.
 */
function addObjectWords(world: World): void {
  for (const object of world.objects) {
    if (['account', 'provider', 'integration'].includes(object.kind)) continue; // their ids are words of other texts, too
    const mayRead = (principal: Principal) =>
      principal.account === null ||
      (isOver(principal, object.account) &&
        (principal.role === 'owner' || object.maker === principal.name || object.id === principal.id));
    if (object.kind === 'delivery') continue; // its id is a number that other texts may have
    const isMaker = object.kind === 'token' && object.account === null;
    const isInReferences = object.kind === 'code-batch'; // of credits
    if (!isMaker && !isInReferences) world.words.push({ text: object.id, mayRead });
    if (object.label !== null) world.words.push({ text: object.label, mayRead });
  }
}

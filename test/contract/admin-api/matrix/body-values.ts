// For every field that a body of the admin API can have: values that are accepted, and values that exceed the
// principal's rights. A field without values fails the test.

import { DAY_MS } from '../../../../src/base/clock.ts';
import { type Json, NOW_MS } from '../installation.ts';
import {
  type AccountName,
  anExport,
  groupsOf,
  isOver,
  mailedTokens,
  type Principal,
  parentOf,
  type World,
  type WorldObject,
} from './world.ts';

/** One value of one field, or of several fields that belong together. */
export interface Variant {
  value?: unknown;
  /** Used instead of `value`: merged into the minimal body; undefined removes a field. */
  members?: Json;
  /** Whether this principal may not use the value, for an object of this account or for this object. */
  isBeyond(principal: Principal, account: AccountName | null, object: WorldObject | 'none' | null): boolean;
}

export interface BodyRule {
  /** The minimal accepted body; names an account if the principal has none of its own. */
  least(account: string | null, linkSecret: string, code: string): Json;
  /** By field. */
  values(world: World): Record<string, Variant[]>;
}

export const UNKNOWN_ACCOUNT = 'acct_000000000';
const always = () => true;
const never = () => false;
const inDays = (days: number) => new Date(NOW_MS + days * DAY_MS).toISOString();

const limits = () => values([1, null], [0, '5', [5]]);
const texts = () => values(['changed'], ['', 7, { name: 'x' }, 'a\u0007']);
const passwords = () => values(['another, as long'], ['too short', 'x'.repeat(129), 7, null]);
const periods = () => values(['day'], ['year', null]);
const amounts = (...more: unknown[]) => values(['5.00', ...more], ['-0.01', 5, '1e3', '9007199.254740992']);

/** A group that the account is not in is refused even to operators: it would change the price and the limits. */
function groups(): Variant[] {
  const variants = [
    ['alpha-group'],
    ['sandbox', 'alpha-group'],
    ['bravo-group'],
    ['alpha-group', 'bravo-group'],
    ['default'],
  ];
  return [
    ...variants.map((value) => ({
      value,
      isBeyond: (_: Principal, account: AccountName | null) =>
        !value.every((group) => account !== null && groupsOf[account].includes(group)),
    })),
    ...values([null], [[], 'alpha-group', [['alpha-group']], [null]]),
  ];
}

function keyMembers(): Record<string, Variant[]> {
  return {
    name: texts(),
    groups: groups(),
    models: values([['alpha-*'], ['*'], null], [[], 'alpha-*', ['a[b]'], [null]]),
    quota: amounts(null),
    quota_period: periods(),
    rpm: limits(),
    input_tpm: limits(),
    output_tpm: limits(),
    concurrency: limits(),
    // A key may outlive the token that created it: a key is valid for messages, not for this API.
    expires_at: values([inDays(1), inDays(30), null], [inDays(-1), 'tomorrow', 7]),
    origins: values([['https://app.example.com'], null], [['*'], ['https://*.example.com'], [7]]),
    addresses: values([['203.0.113.0/24'], null], [['example.com'], ['10.0.0.0/33'], [7]]),
    tags: tags().map(notForMembers),
  };
}

/** The same value, which members may not set. */
function notForMembers({ isBeyond, ...variant }: Variant): Variant {
  return { ...variant, isBeyond: (principal, ...more) => principal.role === 'member' || isBeyond(principal, ...more) };
}

const tags = () =>
  values(
    [{ team: 'search' }, {}],
    [{ Team: 'search' }, { team: 'a,b' }, { team: '' }, { team: 7 }, ['team'], 'team=search', null],
  );
const tagNames = () => values([['team'], []], [['Team'], ['a', 'a'], 'team', null]);
/** A person of the key's account, or of the one above if the principal sees them. */
function isNear(principal: Principal, account: AccountName, ofKey: AccountName | null): boolean {
  if (account === ofKey) return true;
  const isAbove = ofKey !== null && parentOf[ofKey] === account;
  return isAbove && (principal.account === null || isOver(principal, account));
}

/** A person of the key's account, who is not disabled. Keys of members are theirs, and those of their tokens are service keys. */
function peopleOfKeys({ objects }: World): Variant[] {
  const people = objects.filter(({ kind }) => kind === 'person');
  return [
    ...people.map(({ id, account, isRevoked }) => ({
      value: id,
      isBeyond: (principal: Principal, ofKey: AccountName | null) =>
        principal.role === 'member' || isRevoked || account === null || !isNear(principal, account, ofKey),
    })),
    ...values([null], ['person_000000000', 'person_', 7]),
  ];
}

/** The account of the person. */
function accountsOfBudgets({ accountIds }: World): Variant[] {
  const isOthers =
    (account: AccountName): Variant['isBeyond'] =>
    (principal, _, object) =>
      object === null || object === 'none' || !isNear(principal, account, object.account);
  return [
    { value: accountIds.alpha, isBeyond: isOthers('alpha') },
    { value: accountIds.bravo, isBeyond: isOthers('bravo') },
    ...values([], [UNKNOWN_ACCOUNT, '', null]),
  ];
}

const aLimit = { window: 'day', limit: '5.00' };
const inLimits = (taken: readonly unknown[], refused: readonly unknown[], member = 'window'): Variant[] =>
  values(taken, refused).map(({ value, isBeyond }) => ({
    members: { limits: [{ ...aLimit, [member]: value }] },
    isBeyond,
  }));

/** Another account is refused as if it did not exist. */
function accounts({ accountIds }: World): Variant[] {
  const isOthers = (account: AccountName) => (principal: Principal) =>
    principal.account !== null && principal.account !== account;
  return [
    { value: accountIds.alpha, isBeyond: isOthers('alpha') },
    { value: accountIds.bravo, isBeyond: isOthers('bravo') },
    ...values([], [UNKNOWN_ACCOUNT, '', null, [accountIds.alpha], { id: accountIds.alpha }]),
  ];
}

/** Values that only operators may give. */
function ofOperators(...given: unknown[]): Variant[] {
  return given.map((value) => ({ value, isBeyond: ({ account }: Principal) => account !== null }));
}

/** A person's account cannot be changed. */
function rolesOfPerson(): Variant[] {
  const isOfAccount = (object: WorldObject | 'none' | null) =>
    object === null || object === 'none' ? null : object.account !== null;
  return [
    ...['operator', 'viewer'].map((value) => ({
      value,
      isBeyond: (...[, , object]: Parameters<Variant['isBeyond']>) => isOfAccount(object) === true,
    })),
    ...['owner', 'member'].map((value) => ({
      value,
      isBeyond: (...[, , object]: Parameters<Variant['isBeyond']>) => isOfAccount(object) === false,
    })),
    ...values([], ['root', ['owner'], null]),
  ];
}

function personMembers(world: World): Record<string, Variant[]> {
  const { name = [], role = [], account = [] } = tokenMembers(world);
  const emails = ['', 'nobody', 'a@b', 'a b@example.com', '.a@example.com', `${'a'.repeat(250)}@example.com`, 7, null];
  return { name, role, account, email: values(['Some.One+else@mail.Example.com'], emails) };
}

/** A token can only create tokens with at most its own rights and expiry. */
function tokenMembers(world: World): Record<string, Variant[]> {
  const combined = (members: Json, isBeyond: Variant['isBeyond']): Variant => ({
    members: { account: undefined, ...members },
    isBeyond,
  });
  const endsBefore = (principal: Principal, at: string | null) =>
    principal.expiresAt !== null && (at === null || at > principal.expiresAt);
  const isOfAccount = (principal: Principal) => principal.account !== null;
  return {
    name: texts(),
    role: values(['owner', 'member'], ['operator', 'viewer', 'root', ['owner'], null]),
    account: [
      ...accounts(world),
      combined({ role: 'operator' }, isOfAccount),
      combined({ role: 'viewer' }, isOfAccount),
      combined({ role: 'operator', account: world.accountIds.alpha }, always),
      combined({ role: 'member' }, (principal) => !isOfAccount(principal)),
      combined({ role: 'owner' }, (principal) => !isOfAccount(principal)),
    ],
    expires_at: [
      ...[inDays(1), inDays(30), null].map((value) => ({
        value,
        isBeyond: (principal: Principal) => endsBefore(principal, value),
      })),
      ...values([], [inDays(-1), 'tomorrow', 7]),
    ],
  };
}

const aWebhook = { kind: 'webhook', address: 'https://hooks.example.com/new', types: ['*'] };
const destinationMembers = () => ({
  name: texts(),
  address: values(
    ['https://example.com:8443/hook?of=alpha'],
    [
      ...['http://example.com/', 'https://127.0.0.1/', 'https://[::1]/', 'https://localhost/', 'https://10.1.2.3/'],
      ...[
        'https://user:word@example.com/',
        'https://example.com/#part',
        'https://example.com:25/',
        'ftp://example.com/',
      ],
      ...['example.com', '', 7, null],
    ],
  ),
  types: values([['key.*'], ['*', 'key.created']], [[], ['key.lost'], 'key.*', ['*', '*'], null]),
});

const budget = { limits: [{ window: 'day', limit: '5.00' }], stops: true };
const ofPeople = () => ({
  person_budget: values(
    [budget, { limits: [{ window: '5h', limit: '0' }] }, null],
    [
      {},
      { limits: [] },
      { limits: [...budget.limits, ...budget.limits] },
      { limits: [{ window: 'year', limit: '1' }] },
      5,
    ],
  ),
  'person_budget.limits': budgets([{ limits: budget.limits }], [{ limits: null }, { limits: {} }]),
  'person_budget.limits.window': budgets([], [{ limits: [{ limit: '1' }] }, { limits: [{ window: 5, limit: '1' }] }]),
  'person_budget.limits.limit': budgets(
    [],
    [{ limits: [{ window: 'day' }] }, { limits: [{ window: 'day', limit: '-1' }] }],
  ),
  'person_budget.stops': budgets([{ ...budget, stops: false }], [{ ...budget, stops: 'no' }]),
  warns_at: values([[50, 100], []], [[100, 50], [0], [101], [5.5], '80', null]),
});
const budgets = (good: Json[], bad: Json[]): Variant[] =>
  values(good, bad).map(({ value, isBeyond }) => ({ members: { person_budget: value }, isBeyond }));
/** The place of an account below alpha, or below echo, which pays from alpha. */
function places({ accountIds }: World): Record<string, Variant[]> {
  const over = (account: AccountName) => (principal: Principal) =>
    principal.account !== null && !isOver(principal, account);
  const parents = [
    { value: accountIds.alpha, isBeyond: over('alpha') },
    { value: accountIds.echo, isBeyond: over('echo') },
    { value: null, isBeyond: (principal: Principal) => principal.account !== null },
    ...values([], [UNKNOWN_ACCOUNT, '', 7]),
  ];
  const own = { value: 'own', isBeyond: (principal: Principal) => principal.account !== null };
  const payers = [own, ...values([], ['both', null])];
  return { parent: parents, pays_from: payers };
}
const exportMembers = () => ({
  name: texts(),
  format: values(['parquet'], ['xls', null]),
  day: values([28], [0, 29, '1', null]),
  s3_endpoint: values(
    ['https://s3.example.com:9000'],
    ['http://s3.example.com', 'https://127.0.0.1', 'https://10.1.2.3', 'https://s3.example.com/path', '', 7, null],
  ),
  s3_region: values(['eu-central-1'], ['', 'EU Central', 7, null]),
  s3_bucket: values(['another.bucket'], ['', 'a/b', '..', 7, null]),
  s3_prefix: values(['turnpike/2026'], ['', '/a', 'a//b', 'a b', 7, null]),
  s3_access_key_id: values(['AKID2'], ['', 'A B', 7, null]),
  s3_secret_access_key: values(['another'], ['', 'A B', 7, null]),
  mail_to: values([], [['ada@example.com'], [], 'ada@example.com', null]), // of another target
});

const anAccount = { name: texts(), groups: values([['bravo-group']], [['no-group'], [], null]) };
const accountTerms = () => ({
  credit_line: amounts(),
  allowance: amounts(null),
  allowance_period: periods(),
  low_balances: values([['5.00', '1'], []], [['0'], ['-1'], [5], '5', null]),
  tags: tags(),
  tags_required: tagNames(),
  tags_pinned: tagNames(),
});
/** The same value, which only operators may set. */
function forOperators({ isBeyond, ...variant }: Variant): Variant {
  return { ...variant, isBeyond: (principal, ...more) => principal.account !== null || isBeyond(principal, ...more) };
}

function allForOperators(members: Record<string, Variant[]>): Record<string, Variant[]> {
  return Object.fromEntries(Object.entries(members).map(([name, all]) => [name, all.map(forOperators)]));
}

/** Members that operators may change of every account, and owners of some below theirs. */
function changesBelow({ accountIds }: World): Record<string, Variant[]> {
  const below =
    (...accounts: AccountName[]) =>
    (all: Variant[]): Variant[] =>
      all.map(({ isBeyond, ...variant }) => ({
        ...variant,
        isBeyond: (principal, account, object) =>
          isBeyond(principal, account, object) ||
          (principal.account !== null &&
            !(account !== null && accounts.includes(account) && principal.account === parentOf[account])),
      }));
  const { allowance, allowance_period } = accountTerms();
  const others: Variant = {
    value: ['bravo-group'],
    isBeyond: ({ account }) => account !== null,
  };
  const cycle: Variant = {
    value: accountIds.echo,
    isBeyond: (_, account) => account === 'alpha' || account === 'echo',
  };
  const elsewhere: Variant = {
    value: accountIds.bravo,
    isBeyond: (one, account) => one.account !== null || account === 'bravo',
  };
  return {
    name: below('echo', 'foxtrot')(texts()),
    allowance: below('echo')(allowance),
    allowance_period: below('echo')(allowance_period),
    groups: below('echo')([others, ...values([['alpha-group']], [['no-group'], [], null])]),
    status: below('echo')(values(['enabled', 'disabled'], ['revoked', null])),
    parent: below('echo', 'foxtrot')([cycle, elsewhere, ...values([], [UNKNOWN_ACCOUNT, '', 7])]),
  };
}

const aRemark = () => values(['a remark'], ['', 7]);

const aModel = { kind: 'model', name: 'alpha-model' };
const inRemove = (refused: readonly Json[]): Variant[] =>
  refused.map((one) => ({ members: { remove: [one] }, isBeyond: always }));

export const bodyRules: Record<string, BodyRule> = {
  'POST /api/v1/accounts': {
    least: () => ({ name: 'new-works' }),
    values(world) {
      const { credit_line, tags, tags_required, tags_pinned, ...terms } = accountTerms();
      return {
        ...anAccount,
        groups: [
          { value: ['bravo-group'], isBeyond: ({ account }) => account !== null && account !== 'bravo' },
          ...values([], [['no-group'], [], null]),
        ],
        ...terms,
        ...ofPeople(),
        ...places(world),
        ...allForOperators({ credit_line, tags, tags_required, tags_pinned, credit: amounts() }),
        credit_kind: values(['promotion'], ['adjustment']),
        note: aRemark(),
        reference: aRemark(),
      };
    },
  },
  'PATCH /api/v1/accounts/{id}': {
    least: () => ({ low_balances: ['7.00'] }),
    values(world) {
      const { low_balances, credit_line, tags, tags_required, tags_pinned } = accountTerms();
      const ofBalance = credit_line.map(({ isBeyond, ...variant }) => ({
        ...variant,
        isBeyond: (...of: Parameters<Variant['isBeyond']>) => of[1] === 'echo' || isBeyond(...of),
      }));
      const pays_from = places(world)['pays_from'] ?? [];
      const members = { credit_line: ofBalance, pays_from, tags, tags_required, tags_pinned };
      return {
        low_balances,
        ...ofPeople(),
        ...changesBelow(world),
        ...allForOperators(members),
      };
    },
  },
  'POST /api/v1/accounts/{id}/credits': {
    least: () => ({ amount: '1.00' }),
    values: () => ({
      amount: [
        ...values(['0.000000001'], ['-99999', '0', 7, null]),
        { value: '-1.00', isBeyond: (_, account) => account === 'echo' }, // it has no balance
      ],
      kind: values(['payment', 'promotion', 'adjustment'], ['gift', 'write_off']), // nothing is owed
      note: values(['a remark', null], ['', 7]),
      reference: values(['another', null], ['', 7]),
    }),
  },
  'PATCH /api/v1/accounts/{id}/plan': {
    least: () => ({ overflow: true }),
    values: () => ({
      plan: values(['alpha-plan', null], ['no-plan', 7]).map(forOperators),
      overflow: values([true, false], ['yes', null]),
      ends_at: values([inDays(1)], [inDays(-1), 7]).map(forOperators),
    }),
  },
  'POST /api/v1/backups': {
    least: () => ({}),
    values: () => ({ taken_at: values([inDays(-1)], [inDays(1), 'yesterday', 7, null]) }),
  },
  'POST /api/v1/backup-failures': {
    least: () => ({ reason: 'the disk is full' }),
    values: () => ({ reason: values(['no space left'], ['', 7, null]) }),
  },
  'POST /api/v1/accounts/{id}/subscription': {
    least: () => ({ plan: 'alpha-plan' }),
    values: () => ({ plan: values([], ['no-plan', 7, null]) }),
  },
  'POST /api/v1/accounts/{id}/subscription/cancel': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/accounts/{id}/subscription/resume': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/views': {
    least: () => ({ page: '/usage', name: 'Errors', search: 'outcome=failed' }),
    values: () => ({
      page: values(['/accounts/a_1/payments'], ['usage', '//evil.example', '/a?b', 7, null]),
      name: texts(),
      search: values(['', 'range=7d&model=a%20b'], ['a b', 'ä', 7, null]),
      is_shared: values([true, false], ['true', 1, null]),
    }),
  },
  'PATCH /api/v1/views/{id}': {
    least: () => ({ name: 'Errors' }),
    values: () => ({
      name: texts(),
      search: values(['range=7d'], ['a b', 7, null]),
      is_shared: values([true, false], ['true', 1, null]),
    }),
  },
  'POST /api/v1/views/{id}/delete': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/directory-groups': {
    least: (account) => ({ name: 'engineers', role: 'member', ...(account !== null && { account }) }),
    values: (world) => ({
      name: texts(),
      source: values(['oidc', 'oidc-9', 'scim', null], ['oidc-1', 'google', '', 7]),
      role: values(['owner', 'member'], ['operator', 'viewer', 'admin', null]),
      account: accounts(world),
      priority: values([1, 1000], [0, 1001, 1.5, '1', null]),
    }),
  },
  'PATCH /api/v1/directory-groups/{id}': {
    least: () => ({ priority: 7 }),
    values: (world) => ({
      name: texts(),
      source: values(['oidc', 'scim', null], ['OIDC', 7]),
      role: values(['owner', 'member'], ['operator', 'admin', null]),
      account: accounts(world),
      priority: values([1, 1000], [0, 1001, '1', null]),
      status: values(['enabled', 'disabled'], ['expired', null]),
    }),
  },
  'POST /api/v1/provider-bill-sources': {
    least: () => ({ provider: 'sandbox', kind: 'anthropic' }),
    values: () => ({
      provider: values(['sandbox'], ['', 7, null]),
      kind: values(['anthropic', 'openai', 'aws'], ['azure', null]),
      credential: values(['sk-ant-admin-1', null], ['', 7]),
      base_url: values([null], ['ftp://example.com', 'http://127.0.0.1:1', 7]),
      private_network: values([true, false], ['yes', null]),
      schedule: values(['daily', 'never'], ['hourly', null]),
      models: values([{}, { 'Claude Haiku 4.5': 'claude-haiku-4-5' }], [[], { a: '' }, null]),
    }),
  },
  'POST /api/v1/provider-bill-sources/{provider}/fetch': {
    least: () => ({}),
    values: () => ({ since: values([], ['yesterday', 7]), until: values([], ['tomorrow', 7]) }),
  },
  'POST /api/v1/code-batches': {
    least: () => ({ name: 'summer', amount: '1.00', count: 1 }),
    values: () => ({
      name: texts(),
      kind: values(['payment', 'promotion'], ['adjustment', null]),
      amount: amounts().filter(({ value }) => value !== '0'),
      count: values([2], [0, 1.5, '2', null]),
      expires_at: values([inDays(1), null], [inDays(-1), 'tomorrow', 7]),
      once_per_account: values([true, false], ['yes', null]),
      note: values(['a remark', null], ['', 7]),
    }),
  },
  'PATCH /api/v1/code-batches/{id}': {
    least: () => ({ status: 'disabled' }),
    values: () => ({ status: values(['enabled', 'disabled'], ['expired', null]) }),
  },
  'POST /api/v1/accounts/{id}/redemptions': {
    least: (_, __, code) => ({ code }),
    values: ({ code }) => ({ code: values([code.toLowerCase(), ` ${code} `], [7, null, [code], '1'.repeat(101)]) }),
  },
  'POST /api/v1/payments': {
    least: (account) => ({ amount: '10.00', ...(account !== null && { account }) }),
    values: (world) => ({
      amount: values(['5', '12.34', '1000'], ['4.99', '1000.01', '10.001', '-10', '0', '1e3', 10, null]),
      account: accounts(world),
    }),
  },
  'POST /api/v1/accounts/{id}/portal': { least: () => ({}), values: () => ({}) },
  'PATCH /api/v1/accounts/{id}/auto-recharge': {
    least: () => ({ enabled: true, threshold: '5.00', amount: '20.00', per_day_max: 2 }),
    values: () => ({
      enabled: values([true, false], ['yes', null]),
      threshold: values(['0.01', '1000'], ['0', '-1', 5, null]),
      amount: values(['5', '1000'], ['4.99', '1000.01', '10.001', 10, null]),
      per_day_max: values([1], [0, 1.5, 100_000, '2', null]),
    }),
  },
  'POST /api/v1/payments/check': {
    least: () => ({}),
    values: () => ({
      since: values([inDays(-3)], ['yesterday', 7, null]),
      until: values([inDays(-1)], [inDays(60), 'tomorrow', null]),
      repair: values([true, false], ['yes', null]),
    }),
  },
  'POST /api/v1/destinations': {
    least: (account) => ({ ...aWebhook, ...(account !== null && { account }) }),
    values: (world) => ({
      ...destinationMembers(),
      kind: values(['slack'], ['mail', 'fax', null]), // mail is not set up
      account: accounts(world),
    }),
  },
  'PATCH /api/v1/destinations/{id}': {
    least: () => ({ name: 'renamed' }),
    values: () => ({ ...destinationMembers(), status: values(['enabled', 'disabled'], ['failing', null]) }),
  },
  'POST /api/v1/exports': {
    least: (account) => ({ ...anExport('of-the-matrix'), ...(account !== null && { account }) }),
    values: (world) => ({
      ...exportMembers(),
      kind: values(['records', 'focus'], ['totals', null]),
      by: values([['key', 'day']], [[], ['key', 'key'], ['key', 'day', 'model'], ['secret'], 'key', null]),
      tag_name: values([], ['team', '', 7, null]), // without the dimension
      below: values([true, false], ['yes', null]),
      every: values(['day'], ['week', null]),
      target: values(['s3'], ['mail', 'ftp', null]), // whose other members are of s3
      account: accounts(world),
    }),
  },
  'PATCH /api/v1/exports/{id}': {
    least: () => ({ name: 'renamed' }),
    values: () => ({
      ...exportMembers(),
      s3_endpoint: values(['https://s3.example.com'], ['https://other.example.com', 'http://s3.example.com']),
      status: values(['enabled', 'disabled'], ['failing', null]),
    }),
  },
  'POST /api/v1/exports/{id}/run': {
    least: () => ({}),
    values: () => ({ period: values(['2026-10'], ['2026-11', '2026-10-01', '2026-13', 'october', 7, null]) }),
  },
  'POST /api/v1/batches/{id}/cancel': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/destinations/{id}/rotate': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/destinations/{id}/test': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/deliveries/{id}/redeliver': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/usage/{request_id}/refunds': {
    least: () => ({}),
    values: () => ({
      amount: values(['0.000000001', '0.001'], ['0.001000001', '-0.001', '0', 7, null]),
      note: values(['a remark', null], ['', 7]),
    }),
  },
  'POST /api/v1/keys': {
    least: (account) => (account === null ? {} : { account }),
    values: (world) => ({ ...keyMembers(), account: accounts(world), person: peopleOfKeys(world) }),
  },
  'PATCH /api/v1/keys/{id}': {
    least: () => ({ name: 'renamed' }),
    values: (world) => ({
      ...keyMembers(),
      ...{ person: peopleOfKeys(world), status: values(['enabled', 'disabled'], ['revoked', null]) },
    }),
  },
  'POST /api/v1/keys/{id}/revoke': {
    least: () => ({}),
    values: () => ({ now: values([true, false], ['yes', null]) }),
  },
  'POST /api/v1/keys/{id}/rotate': {
    least: () => ({}),
    values: () => ({ grace: values(['0s', '24h', '30d'], ['31d', '1', null]) }),
  },
  'POST /api/v1/tokens': {
    least: (account) => ({ role: 'member', ...(account !== null && { account }) }),
    values: tokenMembers,
  },
  'POST /api/v1/agent-sign-ins/{id}/revoke': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/device-codes/{code}/approve': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/device-codes/{code}/deny': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/tokens/{id}/revoke': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/people': {
    least: (account) => ({ email: 'new@example.com', role: 'member', ...(account !== null && { account }) }),
    values: personMembers,
  },
  'POST /api/v1/people/import': {
    least: (account) => ({
      people: [{ email: 'imported@example.com', role: 'member', ...(account !== null && { account }) }],
    }),
    // A row that is refused is a part of the answer: see invite-many.test.ts.
    values: (world) => {
      const inRow = (members: Json) => ({ people: [{ email: 'a@example.com', role: 'member', ...members }] });
      const malformed = (name: string) => ({ members: inRow({ [name]: 7 }), isBeyond: () => true });
      const account = world.accountIds.alpha;
      return {
        people: values([], [[], 'a@example.com', [7], [{ email: 'a@example.com' }], null]),
        'people.email': [malformed('email'), { members: inRow({ email: 'nobody', account }), isBeyond: never }],
        'people.role': [malformed('role'), { members: inRow({ role: 'root', account }), isBeyond: never }],
        'people.account': [malformed('account'), { members: inRow({ account: UNKNOWN_ACCOUNT }), isBeyond: never }],
        'people.name': [malformed('name'), { members: inRow({ name: '', account }), isBeyond: never }],
      };
    },
  },
  'PATCH /api/v1/people/{id}': {
    least: () => ({ name: 'Renamed' }),
    values: () => ({
      name: texts(),
      role: rolesOfPerson(),
      status: values(['enabled', 'disabled'], ['invited', 'revoked', null]),
      managed_by: [...ofOperators('directory', null), ...values([], ['scim', 7])],
      identity: [...ofOperators(null), ...values([], ['subject', { issuer: 'https://id.example.com', subject: 'a' }])],
      tags: tags(),
      now: [...values([false], [true, 'yes', null]), { members: { status: 'disabled', now: true }, isBeyond: never }],
    }),
  },
  'PATCH /api/v1/people/{id}/budget': {
    least: () => ({ limits: [{ window: 'day', limit: '5.00' }] }),
    values: (world) => ({
      account: accountsOfBudgets(world),
      limits: values([[aLimit, { ...aLimit, window: '5h' }], null], [[], [aLimit, aLimit], aLimit, '5.00']),
      'limits.window': inLimits(['week', 'month'], ['hour', null]),
      'limits.limit': inLimits(['0', '0.01'], ['-1', 5, null], 'limit'),
      stops: values([true, false], ['yes', null]),
    }),
  },
  'POST /api/v1/people/{id}/budget/reset': {
    least: () => ({}),
    values: (world) => ({ account: accountsOfBudgets(world) }),
  },
  'POST /api/v1/people/{id}/link': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/invitations/show': {
    least: (_, secret) => ({ secret }),
    values: () => ({ secret: values([], [7, null, ['tk-inv-']]) }),
  },
  'POST /api/v1/invitations/accept': {
    least: (_, secret) => ({ secret, name: 'Ada', password: 'long enough' }),
    values: () => ({
      secret: values([], [7, null, ['tk-inv-']]),
      name: texts(),
      password: passwords(),
      email: values([], ['other@example.com', 'nobody', 7, null]), // the invitation already has an email
      consent: values(['2026-11'], [7, null]), // ignored: there are no terms
    }),
  },
  'POST /api/v1/sign-ups': {
    least: () => ({ email: 'new@example.com', name: 'Ada' }),
    values: () => ({
      email: values(['another@example.com'], ['nobody', 7, null, 'a@b.c\r\nBcc: d@e.fg']),
      name: texts(),
      account_name: texts(),
    }),
  },
  'POST /api/v1/sign-ups/accept': {
    least: () => ({ token: mailedTokens['sign-up'], password: 'long enough' }),
    values: () => ({
      token: values([], [7, null, ['x']]),
      password: passwords(),
      consent: values(['2026-11'], [7, null]), // ignored: there are no terms
    }),
  },
  'POST /api/v1/me/consent': {
    least: () => ({ version: '2026-11' }),
    values: () => ({ version: values([], [7, null]) }),
  },
  'POST /api/v1/password-resets': {
    least: () => ({ email: 'new@example.com' }),
    values: () => ({ email: values(['another@example.com'], ['nobody', 7, null]) }),
  },
  'POST /api/v1/password-resets/accept': {
    least: () => ({ token: mailedTokens['password-reset'], password: 'long enough' }),
    values: () => ({ token: values([], [7, null, ['x']]), password: passwords() }),
  },
  'POST /api/v1/unsubscribe': {
    least: () => ({ token: mailedTokens.unsubscribe }),
    values: () => ({ token: values([], [7, null, ['x']]), undo: values([true, false], ['yes', null]) }),
  },
  'POST /api/v1/providers/{name}/test': { least: () => ({}), values: () => ({}) },
  'POST /api/v1/providers/{name}/models': {
    least: () => ({ models: [anOffer], dry_run: true }),
    values: () => ({
      models: values([[anOffer]], [[], 'x', [anOffer, anOffer], null]),
      'models.model': inOffer('model', [], ['none', 7, null]),
      'models.name': inOffer('name', ['other'], [7, 'a b', null]),
      'models.aliases': inOffer('aliases', [[], ['alias']], ['alias', [7], null]),
      'models.markup_percent': inOffer('markup_percent', ['0', '12.5'], [5, '-1', null]),
      'models.price': inOffer('price', [{ input: '3', output: '4' }], ['free', [], null]),
      markup_percent: values(['0', '12.5'], ['-1', 20, 'x', null]),
      groups: values([[]], [['no-group'], 'x', null]),
      dry_run: values([true], ['yes']),
    }),
  },
  'POST /api/v1/integrations/{id}/test': {
    least: () => ({ to: 'ada@example.com' }),
    values: () => ({ to: values(['bob@example.com'], ['nobody', 7, null]) }),
  },
  'POST /api/v1/price-changes': {
    least: () => ({ model: 'alpha-model', from: '2030-01-01', price: { input: '1', output: '2' }, dry_run: true }),
    values: () => ({
      model: values(['alpha-model'], ['no-model', 7, null]),
      from: values(['2030-01-01', '2031-01-01T12:00:00Z'], ['2020-01-01', 'soon', 7, null]),
      price: values([{ input: '3', output: '4' }], [{ input: '3' }, {}, 'free', null]),
      dry_run: values([true], ['yes']),
    }),
  },
  'POST /api/v1/price-changes/cancel': {
    least: () => ({ model: 'alpha-model', from: '2030-01-01' }),
    values: () => ({ model: values([], [7, null]), from: values([], ['soon', 7, null]) }),
  },
  'POST /api/v1/prices/update': {
    least: () => ({ dry_run: true }),
    values: () => ({
      list: values([], [{}, [], 'x', null]),
      models: values([[], ['no-model']], ['x', [7], null]),
      dry_run: values([true, false], ['yes']),
    }),
  },
  'POST /api/v1/apply': {
    least: () => ({ document: {} }),
    values: () => ({
      document: values([{ groups: { more: { models: ['*'] } } }], [{ groups: { more: 7 } }, [], 'x', null]),
      dry_run: values([true, false], ['yes']),
      remove: values([[], [aModel]], [{}, ['alpha-model']]),
      'remove.kind': inRemove([{ ...aModel, kind: 'settings' }]),
      'remove.name': inRemove([
        { ...aModel, name: 7 },
        { ...aModel, name: 'no-model' },
      ]),
      prune: values([false], [true, 'yes']), // true would remove groups that have accounts
    }),
  },
};

const anOffer = { model: 'sandbox-lorem', price: { input: '1', output: '2' } };
const inOffer = (member: string, taken: readonly unknown[], refused: readonly unknown[]): Variant[] =>
  values(taken, refused).map(({ value, isBeyond }) => ({
    members: { models: [{ ...anOffer, [member]: value }] },
    isBeyond,
  }));

/** Values that every principal may set, and values that none may set. */
function values(taken: readonly unknown[], refused: readonly unknown[]): Variant[] {
  return [
    ...taken.map((value) => ({ value, isBeyond: never })),
    ...refused.map((value) => ({ value, isBeyond: always })),
  ];
}

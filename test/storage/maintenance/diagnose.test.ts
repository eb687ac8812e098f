// The doctor's findings for given facts: none for a sound installation, and one code for each fault.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildCatalog } from '../../../src/catalog/catalog.ts';
import type { Finding } from '../../../src/commands/commands.ts';
import type { DatabaseFacts, Facts, FileFacts } from '../../../src/maintenance/facts.ts';
import { diagnose } from '../../../src/maintenance/maintenance.ts';
import type { SecretState } from '../../../src/maintenance/secret.ts';
import { rootDirectory } from '../../check.ts';
import { apply } from '../../unit/catalog/support.ts';

const NOW_MS = Date.UTC(2026, 10, 20);
const DAY_MS = 24 * 60 * 60 * 1000;
const DATA = '/srv/turnpike/data';
const MIB = 1024 * 1024;

const file = (name: string, changes: Partial<FileFacts> = {}): FileFacts => ({
  path: `${DATA}/${name}`,
  mode: 0o600,
  owner: 1000,
  isWritable: true,
  ...changes,
});

const secretState: SecretState = {
  present: `file:${DATA}/secret`,
  previous: null,
  isUnder: 'present',
  credentialsOnPrevious: 0,
  isStarted: true,
};

const survey = {
  proof: 'proof',
  accounts: 2,
  usableKeys: 3,
  newestAtMs: NOW_MS - 1_000,
  hasFormerHashKeys: true,
  lastPaymentAtMs: null,
  lastPaymentEventAtMs: null,
  lostGroups: [],
  documents: [],
};

const database: DatabaseFacts = {
  subject: `file ${DATA}/turnpike.db`,
  bytes: 200_000,
  version: { is: { stored: 3, known: 3 } },
  fileFaults: [],
  ledger: {
    is: { ok: true, accounts: 2, entries: 9, open_holds: 0, usage_since: null, journal_since: null, faults: [] },
  },
  overdueHolds: [],
  unreadableRows: [],
  survey: { is: survey },
};

const answers: Facts['service'] = {
  url: 'http://127.0.0.1:8080',
  foundBy: 'operator file',
  health: 200,
  ready: 200,
  token: 200,
  providersDown: [],
  certificateEndsAtMs: null,
};

const catalogFile = {
  providers: {
    remote: { kind: 'anthropic', api_key: 'sk-x' },
    local: { kind: 'anthropic', base_url: 'http://127.0.0.1:1', private_network: true },
    sandbox: { kind: 'sandbox' },
  },
  models: { one: { price: { input: '1', output: '2' }, routes: [{ provider: 'remote' }, { provider: 'local' }] } },
  groups: { default: { models: ['*'] } },
};

/** The catalog of a file without some of its documents, as `apply` would leave it. */
function catalogOf(given: object, without: string[] = []): NonNullable<Facts['catalog']> {
  const documents = apply([], given).filter(({ kind, name }) => !without.includes(`${kind} ${name}`));
  const catalog = buildCatalog(documents, () => 'opened');
  return { documents, catalog: { is: catalog }, unopened: [], providerKinds: ['anthropic', 'sandbox'] };
}

/** The catalog with one price of the price list of this day. */
function catalogPricedOn(catalogue: string): NonNullable<Facts['catalog']> {
  const models = { 'claude-opus-5': { catalogue: true, routes: [{ provider: 'remote' }] } };
  const documents = apply([], { ...catalogFile, models }).map((entry) =>
    entry.kind === 'model' ? { ...entry, document: { ...entry.document, price_source: { catalogue } } } : entry,
  );
  return { ...catalogOf(catalogFile), documents, catalog: { is: buildCatalog(documents, () => 'opened') } };
}

/** Facts of a running installation without faults, except for the given ones. */
function factsOf(changes: Partial<Facts> = {}): Facts {
  return {
    nowMs: NOW_MS,
    settingFaults: [],
    dataDirectory: DATA,
    isStoreKnown: true,
    postgres: null,
    directory: { path: DATA, mode: 0o700, owner: 1000, isWritable: true },
    files: ['turnpike.db', 'turnpike.db-wal', 'secret', 'lock', 'operator.json', 'notes.txt'].map((name) => file(name)),
    diskFreeBytes: 50_000 * MIB,
    commitLoss: null,
    signInFaults: [],
    openFilesMax: 1_048_576,
    isLocked: true,
    database,
    secret: { is: secretState },
    catalog: catalogOf(catalogFile),
    operatorFile: { is: { url: 'http://127.0.0.1:8080', listen: '127.0.0.1:8080', pid: 1 } },
    sendsMail: true,
    takesPayments: true,
    listen: { hostname: '127.0.0.1', port: 8080 },
    service: answers,
    ...changes,
  };
}

const said = (changes: Partial<Facts>) =>
  diagnose(factsOf(changes)).findings.map(({ severity, code, subject }) => `${severity} ${code} ${subject}`);
const withSecret = (changes: Partial<SecretState>) => ({ secret: { is: { ...secretState, ...changes } } });
const withSurvey = (changes: Partial<typeof survey>) => ({
  database: { ...database, survey: { is: { ...survey, ...changes } } },
});
const withDatabase = (changes: Partial<DatabaseFacts>) => ({ database: { ...database, ...changes } });
const withService = (changes: Partial<Facts['service']>) => ({ service: { ...answers, ...changes } });
const stopped: Partial<Facts> = {
  isLocked: false,
  operatorFile: null,
  service: { ...answers, url: null, foundBy: null },
};

test('a sound installation has no findings', () => {
  expect(diagnose(factsOf())).toEqual({ findings: [], notes: [], place: DATA });
});

test('a sound, stopped installation has only that finding', () => {
  expect(said(stopped)).toEqual([`warning service_not_running directory ${DATA}`]);
});

test('errors come first', () => {
  const findings = said({ ...stopped, ...withSecret({ present: null }), openFilesMax: 1_024 });
  expect(findings.map((text) => text.split(' ')[0])).toEqual(['error', 'warning', 'warning']);
});

const faults: [string, Partial<Facts>, string[]][] = [
  [
    'a missing directory',
    { ...stopped, directory: null, database: null, secret: null, catalog: null, files: [] },
    [`error directory_missing directory ${DATA}`],
  ],
  [
    'files that are not writable',
    { files: [file('turnpike.db', { isWritable: false })] },
    [`error not_writable directory ${DATA}`],
  ],
  [
    'a secret that others can read',
    { files: [file('secret', { mode: 0o640 })] },
    [`error open_to_others file ${DATA}/secret`],
  ],
  [
    'a database that others can read',
    { files: [file('turnpike.db', { mode: 0o644 })] },
    [`warning open_to_others file ${DATA}/turnpike.db`],
  ],
  [
    "a sign-in database and a first operator's link that others can read",
    { files: [file('sign-in.db', { mode: 0o644 }), file('first-operator.txt', { mode: 0o644 })] },
    [`error open_to_others file ${DATA}/first-operator.txt`, `warning open_to_others file ${DATA}/sign-in.db`],
  ],
  [
    'a damaged sign-in database',
    { signInFaults: ['page 7 is missing'] },
    [`error sign_in_broken file ${DATA}/sign-in.db`],
  ],
  ['a file that is none of ours', { files: [file('notes.txt', { mode: 0o644, owner: 1, isWritable: false })] }, []],
  [
    'a directory that others can open',
    { directory: { path: DATA, mode: 0o755, owner: 1000, isWritable: true } },
    [`warning open_to_others directory ${DATA}`],
  ],
  ['a file of another user', { files: [file('turnpike.db', { owner: 0 })] }, [`warning other_owner directory ${DATA}`]],
  ['a disk that fills up', { diskFreeBytes: 500 * MIB }, [`warning disk_nearly_full directory ${DATA}`]],
  ['a disk that is all but full', { diskFreeBytes: 20 * MIB }, [`error disk_nearly_full directory ${DATA}`]],
  [
    'the key of the first start',
    { files: [file('first-key.txt')] },
    [`warning first_key_file file ${DATA}/first-key.txt`],
  ],
  [
    'no database',
    { ...stopped, database: null, secret: null, catalog: null },
    [`error database_missing directory ${DATA}`],
  ],
  [
    'a database that lacks acknowledged commits',
    { commitLoss: { commits: 3, untilMs: NOW_MS, markPath: `${DATA}/last-commit` } },
    [`error commits_lost directory ${DATA}`],
  ],
  [
    'a missing database that had commits',
    {
      ...stopped,
      database: null,
      secret: null,
      catalog: null,
      commitLoss: { commits: 3, untilMs: NOW_MS, markPath: `${DATA}/last-commit` },
    },
    [`error commits_lost directory ${DATA}`],
  ],
  [
    'a file that is not a database',
    {
      ...withDatabase({ version: { failure: 'file is not a database' }, survey: null, fileFaults: null }),
      secret: null,
      catalog: null,
    },
    [`error database_unreadable file ${DATA}/turnpike.db`],
  ],
  [
    'a later release’s database',
    { ...withDatabase({ version: { is: { stored: 4, known: 3 } }, survey: null }), secret: null, catalog: null },
    [`error database_of_later_version file ${DATA}/turnpike.db`],
  ],
  [
    'an earlier release’s database',
    { ...withDatabase({ version: { is: { stored: 1, known: 3 } }, survey: null }), secret: null, catalog: null },
    [`warning database_of_earlier_version file ${DATA}/turnpike.db`],
  ],
  [
    'a damaged file',
    withDatabase({ fileFaults: ['page 7 is missing'] }),
    [`error database_broken file ${DATA}/turnpike.db`],
  ],
  [
    'a ledger out of balance',
    withDatabase({
      ledger: {
        is: {
          ok: false,
          accounts: 1,
          entries: 1,
          open_holds: 0,
          usage_since: null,
          journal_since: null,
          faults: ['acct_1: …'],
        },
      },
    }),
    [`error ledger_out_of_balance file ${DATA}/turnpike.db`],
  ],
  [
    'a hold that nothing ends',
    withDatabase({ overdueHolds: ['req_1: …'] }),
    [`error holds_overdue file ${DATA}/turnpike.db`],
  ],
  [
    'a row that cannot be read',
    withDatabase({ unreadableRows: ['keys key_1: …'] }),
    [`error rows_unreadable file ${DATA}/turnpike.db`],
  ],
  ['a clock behind the newest record', withSurvey({ newestAtMs: NOW_MS + DAY_MS }), ['error clock_behind clock']],
  [
    'a missing secret',
    { ...stopped, ...withSecret({ present: null, isUnder: 'another' }) },
    [`error secret_missing file ${DATA}/secret`, `warning service_not_running directory ${DATA}`],
  ],
  [
    'a secret that only the service has',
    withSecret({ present: null, isUnder: 'another' }),
    ['warning secret_not_given TURNPIKE_SECRET'],
  ],
  ['another secret', withSecret({ isUnder: 'another' }), [`error secret_wrong file ${DATA}/secret`]],
  [
    'another secret in the environment',
    withSecret({ isUnder: 'another', present: 'TURNPIKE_SECRET' }),
    ['error secret_wrong TURNPIKE_SECRET'],
  ],
  [
    'a secret file beside a secret from the environment',
    withSecret({ present: 'TURNPIKE_SECRET' }),
    [`warning secret_file_unused file ${DATA}/secret`],
  ],
  [
    'a secret file without a secret',
    { secret: { failure: 'the file does not contain a secret' } },
    [`error secret_unreadable file ${DATA}/secret`],
  ],
  [
    'a secret that takes effect at the next start',
    withSecret({ isUnder: 'previous', previous: `file:${DATA}/secret.previous` }),
    [`warning secret_change_pending file ${DATA}/secret.previous`],
  ],
  [
    'a previous secret that the first start of this version still needs',
    withSecret({ previous: `file:${DATA}/secret.previous`, isStarted: false }),
    [`warning previous_secret_needed file ${DATA}/secret.previous`],
  ],
  [
    'an unneeded previous secret',
    withSecret({ previous: 'TURNPIKE_PREVIOUS_SECRET' }),
    ['warning previous_secret_not_needed TURNPIKE_PREVIOUS_SECRET'],
  ],
  [
    'a catalogue that cannot be read',
    { catalog: { ...catalogOf(catalogFile), catalog: { failure: 'no such member' } } },
    ['error catalogue_unreadable catalogue'],
  ],
  [
    'a credential that cannot be decrypted',
    { catalog: { ...catalogOf(catalogFile), unopened: [{ provider: 'remote', credential: 'acme' }] } },
    ['error credential_does_not_open provider remote'],
  ],
  [
    'a provider of an unknown kind',
    { catalog: { ...catalogOf(catalogFile), providerKinds: ['sandbox'] } },
    ['error provider_kind_unknown provider remote', 'error provider_kind_unknown provider local'],
  ],
  [
    'a public provider without a credential',
    {
      catalog: catalogOf({
        ...catalogFile,
        providers: { ...catalogFile.providers, remote: { kind: 'anthropic' } },
      }),
    },
    ['warning credential_missing provider remote'],
  ],
  [
    'a public provider whose credential is a file',
    {
      catalog: catalogOf({
        ...catalogFile,
        providers: {
          ...catalogFile.providers,
          remote: { kind: 'anthropic', auth: { type: 'file', path: '/run/secrets/x' } },
        },
      }),
    },
    [],
  ],
  [
    'one route to a missing provider',
    { catalog: catalogOf(catalogFile, ['provider local']) },
    ['warning route_leads_nowhere model one'],
  ],
  [
    'only routes to missing providers',
    { catalog: catalogOf(catalogFile, ['provider local', 'provider remote']) },
    ['error route_leads_nowhere model one'],
  ],
  [
    'a group without models',
    {
      catalog: catalogOf({
        ...catalogFile,
        groups: { default: { models: ['*'] }, vip: { models: ['nothing-*'] } },
      }),
    },
    ['warning group_offers_nothing group vip'],
  ],
  [
    'groups whose patterns no entry with "*" meets, among those that one meets',
    {
      catalog: catalogOf({
        ...catalogFile,
        models: {
          ...catalogFile.models,
          'local/*-small': { price: { input: '1', output: '1' }, routes: [{ provider: 'remote', model: '*-small' }] },
        },
        groups: {
          default: { models: ['*'] },
          one: { models: ['local/qwen-small'] },
          some: { models: ['local/q*', 'none'] },
          all: { models: ['local/*'] },
          end: { models: ['*-small'] },
          big: { models: ['local/*-big'] },
          vendor: { models: ['vendor/*', 'local/qwen'] },
        },
      }),
    },
    ['warning group_offers_nothing group big', 'warning group_offers_nothing group vendor'],
  ],
  [
    'an entry with "*" whose provider is missing',
    {
      catalog: catalogOf(
        {
          ...catalogFile,
          models: {
            ...catalogFile.models,
            'x/*': { price: { input: '1', output: '1' }, routes: [{ provider: 'spare', model: '*' }] },
          },
          providers: {
            ...catalogFile.providers,
            spare: { kind: 'openai', base_url: 'https://spare.example.com', api_key: 'k' },
          },
        },
        ['provider spare'],
      ),
    },
    ['error route_leads_nowhere model x/*'],
  ],
  [
    'a group that names a model without a route within its residency',
    {
      catalog: catalogOf({
        ...catalogFile,
        groups: {
          default: { models: ['*'] },
          eu: { models: ['one'], residency: ['eu'] },
          none: { models: ['*'], residency: ['eu'] },
        },
      }),
    },
    ['warning residency_without_route group eu', 'warning residency_without_route group none'],
  ],
  [
    'sign-up without a group',
    { catalog: catalogOf({ ...catalogFile, settings: { sign_up: 'on', sign_up_group: 'nobody' } }) },
    ['warning sign_up_closed setting sign_up'],
  ],
  [
    'sign-up without a mail server',
    { catalog: catalogOf({ ...catalogFile, settings: { sign_up: 'on' } }), sendsMail: false },
    ['warning sign_up_closed setting sign_up'],
  ],
  [
    'payments without events',
    { database: { ...database, survey: { is: { ...survey, lastPaymentAtMs: NOW_MS - DAY_MS } } } },
    ['warning payment_events_missing payments'],
  ],
  [
    'an empty catalog',
    { catalog: catalogOf({ ...catalogFile, models: {}, groups: {} }) },
    ['warning nothing_sold catalogue'],
  ],
  [
    'a model that its provider retires',
    {
      catalog: catalogOf({
        ...catalogFile,
        models: {
          ending: { price: { input: '1', output: '2' }, routes: [{ provider: 'remote', model: 'claude-sonnet-4-5' }] },
        },
      }),
    },
    ['warning model_retires model ending'],
  ],
  [
    'prices of a price list that is older than 45 days',
    { catalog: catalogPricedOn('2026-10-05') },
    ['warning price_list_old catalogue'],
  ],
  ['no account', withSurvey({ accounts: 0, usableKeys: 0 }), ['warning no_account accounts']],
  ['no key that works', withSurvey({ usableKeys: 0 }), ['warning no_usable_key keys']],
  [
    'an account in a missing group',
    {
      database: {
        ...database,
        survey: { is: { ...survey, lostGroups: [{ account: 'acct_1', name: 'acme', group: 'gone' }] } },
      },
    },
    ['warning account_group_missing account acct_1'],
  ],
  [
    'wrong settings',
    { settingFaults: ['TURNPIKE_LOGG: unknown setting (known: …)'] },
    ['error setting_wrong TURNPIKE_LOGG'],
  ],
  [
    'a service that others reach without TLS',
    { operatorFile: { is: { url: 'http://127.0.0.1:8080', listen: '0.0.0.0:8080', pid: 1 } } },
    ['warning listens_without_tls address 0.0.0.0'],
  ],
  [
    'a service that others reach over TLS',
    { operatorFile: { is: { url: 'https://127.0.0.1:8080', listen: '[::]:8080', pid: 1 } } },
    [],
  ],
  [
    'settings for listening without TLS',
    { ...stopped, listen: { hostname: '::', port: 8080 } },
    ['warning listens_without_tls address ::', `warning service_not_running directory ${DATA}`],
  ],
  ['a low limit of open files', { openFilesMax: 1_024 }, ['warning open_files_low limit of open files']],
  [
    'a stale file of a killed service',
    {
      ...stopped,
      operatorFile: { is: { url: 'http://127.0.0.1:1', listen: null, pid: 1 } },
      service: { ...answers, health: 'refused' },
    },
    [`warning service_not_running directory ${DATA}`, `warning operator_file_stale file ${DATA}/operator.json`],
  ],
  [
    'a service that commands do not find',
    { operatorFile: null, service: { ...answers, url: null, foundBy: null } },
    [`warning operator_file_missing file ${DATA}/operator.json`],
  ],
  [
    'a service that does not answer',
    withService({ health: 'no answer within 5 seconds', ready: null }),
    ['error service_unreachable service http://127.0.0.1:8080'],
  ],
  [
    'a service that is not ready',
    withService({ ready: 503 }),
    ['error service_not_ready service http://127.0.0.1:8080'],
  ],
  ['a token that is refused', withService({ token: 401 }), ['warning token_refused service http://127.0.0.1:8080']],
  [
    'a provider that is down',
    withService({ providersDown: [{ name: 'remote', last_success_at: null }] }),
    ['warning provider_down provider remote'],
  ],
  [
    'a certificate that expires soon',
    withService({ certificateEndsAtMs: NOW_MS + 3 * DAY_MS }),
    ['warning certificate_ends service http://127.0.0.1:8080'],
  ],
  [
    'an expired certificate',
    withService({ certificateEndsAtMs: NOW_MS - DAY_MS }),
    ['error certificate_ends service http://127.0.0.1:8080'],
  ],
];

describe('is reported:', () => {
  test.each(faults)('%s', (_name, changes, expected) => {
    expect(said(changes)).toEqual(expected);
  });

  test('each in sentences, with a remedy', () => {
    const findings: Finding[] = faults.flatMap(([, changes]) => diagnose(factsOf(changes)).findings);
    expect(new Set(findings.map(({ code }) => code)).size).toBeGreaterThan(35);
    for (const { code, message, remedy } of findings) {
      expect([code, message]).toEqual([code, expect.stringMatching(/^[\s\S]{20,}\.$/)]);
      expect([code, remedy.length > 10, /undefined|null|NaN|\[object/.test(message + remedy)]).toEqual([
        code,
        true,
        false,
      ]);
    }
  });
});

test('a price list of 45 days, and prices that were stated, are no finding', () => {
  expect(said({ catalog: catalogPricedOn('2026-10-06') })).toEqual([]);
  expect(said({ catalog: catalogOf(catalogFile) })).toEqual([]);
});

test('a credential that cannot be decrypted is named with its type of auth', () => {
  const id = '00000000-0000-4000-8000-000000000001';
  const auth = { type: 'azure_client', tenant_id: id, client_id: id };
  const remote = { kind: 'foundry', base_url: 'https://mine.services.ai.azure.com', auth, api_key: 'secret' };
  const given = catalogOf({ ...catalogFile, providers: { ...catalogFile.providers, remote } });
  const catalog = { ...given, unopened: [{ provider: 'remote', credential: 'default' }], providerKinds: ['foundry'] };
  const found = diagnose(factsOf({ catalog })).findings.find(({ code }) => code === 'credential_does_not_open');
  expect(found?.message).toStartWith(
    'Its stored credential "default" (auth of the type azure_client) cannot be decrypted',
  );
});

test('docs/operating.md lists every finding code, and no other', () => {
  const codesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1] as string);
  const folder = join(rootDirectory, 'src/maintenance');
  const checks = readdirSync(folder).filter((name) => name.startsWith('check-'));
  const made = checks.flatMap((name) =>
    codesIn(readFileSync(join(folder, name), 'utf8'), /(?:code: |(?:error|warning)\)?\(\s*)'(\w+)'/g),
  );
  const section = readFileSync(join(rootDirectory, 'docs/operating.md'), 'utf8').split('\n## Doctor\n')[1] ?? '';
  const [table = ''] = section.split('\n## ');
  const [, codes = '', severities = ''] = table.split(/^\| (?:what|severity) \|/m);
  const names = /`([a-z]+(?:_[a-z]+)+)`/g;
  expect(codesIn(codes, names).sort()).toEqual([...new Set(made)].sort());
  const text = checks.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const rowOf = (severity: string) => severities.split('\n').find((row) => row.startsWith(`| ${severity} |`)) ?? '';
  const changing = codesIn(text, /(?:error|warning)\)\(\s*'(\w+)'/g);
  expect(codesIn(rowOf('error, or warning'), names).sort()).toEqual(changing.sort());
  const warnings = codesIn(text, /warning\(\s*'(\w+)'/g).filter((code) => !changing.includes(code));
  expect(codesIn(rowOf('warning'), names).sort()).toEqual([...new Set(warnings)].sort());
});

test('a note names a database that is too large to verify, and how to verify it', () => {
  const facts = factsOf(withDatabase({ bytes: 3 * 1024 ** 3, fileFaults: null, ledger: null }));
  expect(diagnose(facts)).toMatchObject({ findings: [], notes: [expect.stringContaining('turnpike check')] });
});

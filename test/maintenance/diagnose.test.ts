// What the doctor makes of facts: nothing of a sound installation, and of each fault what it is.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildCatalogue } from '../../src/catalog/catalog.ts';
import type { Finding } from '../../src/commands/commands.ts';
import { diagnose } from '../../src/maintenance/diagnose.ts';
import type { DatabaseFacts, Facts, FileFacts } from '../../src/maintenance/facts.ts';
import type { SecretState } from '../../src/maintenance/secret-state.ts';
import { apply } from '../catalog/support.ts';
import { rootDirectory } from '../check.ts';

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
  previousId: null,
  onPrevious: { keys: 0, tokens: 0 },
  credentialsOnPrevious: 0,
  lost: { keys: 0, tokens: 0 },
};

const survey = {
  proof: 'proof',
  accounts: 2,
  usableKeys: 3,
  newestAtMs: NOW_MS - 1_000,
  hashedUnder: [],
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

const catalogueFile = {
  providers: {
    remote: { kind: 'anthropic', api_key: 'sk-x' },
    local: { kind: 'anthropic', base_url: 'http://127.0.0.1:1', private_network: true },
    sandbox: { kind: 'sandbox' },
  },
  models: { one: { price: { input: '1', output: '2' }, routes: [{ provider: 'remote' }, { provider: 'local' }] } },
  groups: { default: { models: ['*'] } },
};

/** The catalogue of a file, with documents taken out that `apply` would have kept. */
function catalogueOf(given: object, without: string[] = []): NonNullable<Facts['catalogue']> {
  const documents = apply([], given).filter(({ kind, name }) => !without.includes(`${kind} ${name}`));
  const catalogue = buildCatalogue(documents, () => 'opened');
  return { documents, catalogue: { is: catalogue }, unopened: [], providerKinds: ['anthropic', 'sandbox'] };
}

/** An installation that runs and has no fault, but for what is given. */
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
    signInFaults: [],
    openFilesMax: 1_048_576,
    isLocked: true,
    database,
    secret: { is: secretState },
    catalogue: catalogueOf(catalogueFile),
    operatorFile: { is: { url: 'http://127.0.0.1:8080', listen: '127.0.0.1:8080', pid: 1 } },
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

test('of a sound installation nothing is said', () => {
  expect(diagnose(factsOf())).toEqual({ findings: [], notes: [], place: DATA });
});

test('of a sound installation that is stopped only that it is', () => {
  expect(said(stopped)).toEqual([`warning service_not_running directory ${DATA}`]);
});

test('errors come first', () => {
  const findings = said({ ...stopped, ...withSecret({ present: null }), openFilesMax: 1_024 });
  expect(findings.map((text) => text.split(' ')[0])).toEqual(['error', 'warning', 'warning']);
});

const faults: [string, Partial<Facts>, string[]][] = [
  [
    'a directory that is not there',
    { ...stopped, directory: null, database: null, secret: null, catalogue: null, files: [] },
    [`error directory_missing directory ${DATA}`],
  ],
  [
    'files that cannot be written',
    { files: [file('turnpike.db', { isWritable: false })] },
    [`error not_writable directory ${DATA}`],
  ],
  [
    'a secret that others may read',
    { files: [file('secret', { mode: 0o640 })] },
    [`error open_to_others file ${DATA}/secret`],
  ],
  [
    'a database that others may read',
    { files: [file('turnpike.db', { mode: 0o644 })] },
    [`warning open_to_others file ${DATA}/turnpike.db`],
  ],
  [
    'passwords that others may read, and the link of the first operator',
    { files: [file('sign-in.db', { mode: 0o644 }), file('first-operator.txt', { mode: 0o644 })] },
    [`error open_to_others file ${DATA}/first-operator.txt`, `warning open_to_others file ${DATA}/sign-in.db`],
  ],
  [
    'a damaged file of who signs in',
    { signInFaults: ['page 7 is missing'] },
    [`error sign_in_broken file ${DATA}/sign-in.db`],
  ],
  ['a file that is none of ours', { files: [file('notes.txt', { mode: 0o644, owner: 1, isWritable: false })] }, []],
  [
    'a directory that others may look into',
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
    { ...stopped, database: null, secret: null, catalogue: null },
    [`error database_missing directory ${DATA}`],
  ],
  [
    'what is no database',
    {
      ...withDatabase({ version: { failure: 'file is not a database' }, survey: null, fileFaults: null }),
      secret: null,
      catalogue: null,
    },
    [`error database_unreadable file ${DATA}/turnpike.db`],
  ],
  [
    'a later release’s database',
    { ...withDatabase({ version: { is: { stored: 4, known: 3 } }, survey: null }), secret: null, catalogue: null },
    [`error database_of_later_version file ${DATA}/turnpike.db`],
  ],
  [
    'an earlier release’s database',
    { ...withDatabase({ version: { is: { stored: 1, known: 3 } }, survey: null }), secret: null, catalogue: null },
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
  ['a clock behind the newest record', withSurvey({ newestAtMs: NOW_MS + DAY_MS }), ['error clock_behind clock']],
  [
    'a secret that is not here',
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
    'a secret’s file beside one from the environment',
    withSecret({ present: 'TURNPIKE_SECRET' }),
    [`warning secret_file_unused file ${DATA}/secret`],
  ],
  [
    'a secret’s file that holds none',
    { secret: { failure: 'the file holds no secret' } },
    [`error secret_unreadable file ${DATA}/secret`],
  ],
  [
    'a secret that is in force at the next start',
    withSecret({ isUnder: 'previous', previous: `file:${DATA}/secret.previous` }),
    [`warning secret_change_pending file ${DATA}/secret.previous`],
  ],
  [
    'a previous secret that is still needed',
    withSecret({ previous: `file:${DATA}/secret.previous`, onPrevious: { keys: 2, tokens: 0 } }),
    [`warning previous_secret_needed file ${DATA}/secret.previous`],
  ],
  [
    'a previous secret that nothing needs',
    withSecret({ previous: 'TURNPIKE_PREVIOUS_SECRET' }),
    ['warning previous_secret_not_needed TURNPIKE_PREVIOUS_SECRET'],
  ],
  [
    'keys under a secret that is gone',
    withSecret({ lost: { keys: 1, tokens: 1 } }),
    ['warning hashed_under_lost_secret keys and tokens'],
  ],
  [
    'a catalogue that cannot be read',
    { catalogue: { ...catalogueOf(catalogueFile), catalogue: { failure: 'no such member' } } },
    ['error catalogue_unreadable catalogue'],
  ],
  [
    'a credential that does not open',
    { catalogue: { ...catalogueOf(catalogueFile), unopened: [{ provider: 'remote', credential: 'acme' }] } },
    ['error credential_does_not_open provider remote'],
  ],
  [
    'a provider of an unknown kind',
    { catalogue: { ...catalogueOf(catalogueFile), providerKinds: ['sandbox'] } },
    ['error provider_kind_unknown provider remote', 'error provider_kind_unknown provider local'],
  ],
  [
    'a provider in public without a credential',
    {
      catalogue: catalogueOf({
        ...catalogueFile,
        providers: { ...catalogueFile.providers, remote: { kind: 'anthropic' } },
      }),
    },
    ['warning credential_missing provider remote'],
  ],
  [
    'one route that leads nowhere',
    { catalogue: catalogueOf(catalogueFile, ['provider local']) },
    ['warning route_leads_nowhere model one'],
  ],
  [
    'no route that leads anywhere',
    { catalogue: catalogueOf(catalogueFile, ['provider local', 'provider remote']) },
    ['error route_leads_nowhere model one'],
  ],
  [
    'a group that offers nothing',
    {
      catalogue: catalogueOf({
        ...catalogueFile,
        groups: { default: { models: ['*'] }, vip: { models: ['nothing-*'] } },
      }),
    },
    ['warning group_offers_nothing group vip'],
  ],
  [
    'nothing to sell',
    { catalogue: catalogueOf({ ...catalogueFile, models: {}, groups: {} }) },
    ['warning nothing_sold catalogue'],
  ],
  [
    'a model whose provider ends it',
    {
      catalogue: catalogueOf({
        ...catalogueFile,
        models: {
          ending: { price: { input: '1', output: '2' }, routes: [{ provider: 'remote', model: 'claude-sonnet-4-5' }] },
        },
      }),
    },
    ['warning model_retires model ending'],
  ],
  ['no account', withSurvey({ accounts: 0, usableKeys: 0 }), ['warning no_account accounts']],
  ['no key that works', withSurvey({ usableKeys: 0 }), ['warning no_usable_key keys']],
  [
    'an account in a group that is gone',
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
    { settingFaults: ['TURNPIKE_LOGG: no such setting (known: …)'] },
    ['error setting_wrong TURNPIKE_LOGG'],
  ],
  [
    'a service that listens to others in the clear',
    { operatorFile: { is: { url: 'http://127.0.0.1:8080', listen: '0.0.0.0:8080', pid: 1 } } },
    ['warning listens_without_tls address 0.0.0.0'],
  ],
  [
    'a service that listens to others over TLS',
    { operatorFile: { is: { url: 'https://127.0.0.1:8080', listen: '[::]:8080', pid: 1 } } },
    [],
  ],
  [
    'settings by which it would listen in the clear',
    { ...stopped, listen: { hostname: '::', port: 8080 } },
    ['warning listens_without_tls address ::', `warning service_not_running directory ${DATA}`],
  ],
  ['a low limit of open files', { openFilesMax: 1_024 }, ['warning open_files_low limit of open files']],
  [
    'a file that a killed service left',
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
    'a certificate near its end',
    withService({ certificateEndsAtMs: NOW_MS + 3 * DAY_MS }),
    ['warning certificate_ends service http://127.0.0.1:8080'],
  ],
  [
    'a certificate that has ended',
    withService({ certificateEndsAtMs: NOW_MS - DAY_MS }),
    ['error certificate_ends service http://127.0.0.1:8080'],
  ],
];

describe('is told:', () => {
  test.each(faults)('%s', (_name, changes, expected) => {
    expect(said(changes)).toEqual(expected);
  });

  test('each in sentences, with what to do', () => {
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

test('every code of a finding stands in docs/operating.md, and no other', () => {
  const codesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1] as string);
  const folder = join(rootDirectory, 'src/maintenance');
  const checks = readdirSync(folder).filter((name) => name.startsWith('check-'));
  const made = checks.flatMap((name) => codesIn(readFileSync(join(folder, name), 'utf8'), /code: '(\w+)'/g));
  const section = readFileSync(join(rootDirectory, 'docs/operating.md'), 'utf8').split('\n## Doctor\n')[1] ?? '';
  const [table = ''] = section.split('\n## ');
  const told = codesIn(table.slice(table.indexOf('| what |')), /`([a-z]+(?:_[a-z]+)+)`/g);
  expect(told.sort()).toEqual([...new Set(made)].sort());
});

test('a database that is too large to be verified in passing is noted, with how to do it', () => {
  const facts = factsOf(withDatabase({ bytes: 3 * 1024 ** 3, fileFaults: null, ledger: null }));
  expect(diagnose(facts)).toMatchObject({ findings: [], notes: [expect.stringContaining('turnpike check')] });
});

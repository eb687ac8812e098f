// Prepares an installation: its first catalog, account and operator, and the file given with --apply.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeKeySecret, NO_KEY_LIMITS, newKey } from '../accounts/accounts.ts';
import { type AdminApi, makeFirstOperator } from '../admin-api/admin-api.ts';
import { type AuditContext, describeChange, theService } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { NANO_PER_USD } from '../base/money.ts';
import {
  type CatalogDocument,
  credentialContext,
  type Fault,
  type FirstFamily,
  firstDocuments,
  firstFamilies,
  firstKinds,
} from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { sandboxModelNames } from '../providers/providers.ts';
import { hashSecret, type InstallationStore, type Secret } from '../secrets/secrets.ts';
import { writeFirstAccount } from '../storage/storage.ts';
import { localUrl } from './listen.ts';
import type { OpenStore } from './open-store.ts';
import type { StartOptions } from './server.ts';

const DEMO_CREDIT = 5 * NANO_PER_USD;

interface ShownSecret {
  /** The text to copy. */
  text: string;
  /** The description above it on a terminal. */
  words: string;
  /** In the data directory. */
  file: string;
  /** The beginning of the sentence that ends with the file. */
  fileWords: string;
}

function showOnce(config: Config, options: StartOptions, { text, words, file, fileWords }: ShownSecret): void {
  if (process.stdout.isTTY) {
    options.print(`${words}\n\n  ${text}\n`);
    return;
  }
  const path = join(config.dataDirectory, file);
  rmSync(path, { force: true });
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
  options.print(`${fileWords} ${path}`);
}

/**
 * Created last, so that a failed start leaves the next one still the first. Shown before they are stored, so that no
 * key exists that nobody has seen.
 */
export async function openFirstAccount(
  config: Config,
  options: StartOptions,
  { stores, ledger }: OpenStore,
  clock: Clock,
  url: string,
): Promise<void> {
  if ((await stores.accounts.listAccounts({ after: null, limit: 1 })).length > 0) return;
  const nowMs = clock.nowMs();
  const { secret, ...demo } = makeDemoAccount(nowMs);
  showOnce(config, options, {
    text: firstCurl(localUrl(url), secret),
    words: 'Created a first key, which is shown only once. Try it:',
    file: 'first-key.txt',
    fileWords: 'Created a first key; it is stored, with a working curl command, in',
  });
  const { account, key } = demo;
  const known = { atMs: nowMs, actor: theService, account: account.id, before: null };
  const audit = [
    { ...known, action: 'account.create', object: formatId('acct', account.id), after: { name: account.name } },
    { ...known, action: 'key.create', object: formatId('key', key.id), after: { name: key.name } },
  ];
  await writeFirstAccount(ledger, demo, { audit, creation: null });
}

/** The account `demo` in the group `sandbox`, with 5.00 of credit and one key. */
function makeDemoAccount(nowMs: number) {
  const { secret, prefix } = makeKeySecret();
  const accountId = newNumber();
  return {
    account: { id: accountId, name: 'demo', groups: ['sandbox'], status: 'enabled', createdAtMs: nowMs },
    accountTerms: { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
    credit: { amount: DEMO_CREDIT, kind: 'promotion', reference: 'first-start', note: 'credit of the first start' },
    key: newKey(accountId, 'demo', prefix, null, nowMs),
    keyTerms: { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS },
    secretHash: hashSecret(secret.reveal()),
    secret,
  } as const;
}

/** A command that sends a message when pasted. */
function firstCurl(url: string, secret: Secret): string {
  const body = '{"model":"sandbox-echo","max_tokens":100,"messages":[{"role":"user","content":"Hello, Turnpike"}]}';
  return `curl ${url}/v1/messages -H "x-api-key: ${secret.reveal()}" -H "content-type: application/json" -d '${body}'`;
}

const FIRST_OPERATOR_FILE = 'first-operator.txt';

/** Must not run while another node starts. `url` is the console's, which is the admin API's. */
export async function inviteFirstOperator(
  config: Config,
  options: StartOptions,
  { stores: { people } }: Pick<OpenStore, 'stores'>,
  clock: Clock,
  url: string,
): Promise<void> {
  // The file is useless once an operator exists.
  if ((await people.countInRole('operator', 'enabled')) > 0)
    rmSync(join(config.dataDirectory, FIRST_OPERATOR_FILE), { force: true });
  if ((await people.listPeople({ accountId: null, after: null, limit: 1 })).length > 0) return;
  const { person, linkHash, secret } = makeFirstOperator(clock.nowMs());
  showOnce(config, options, {
    // The secret is in the fragment, which browsers send to no server and in no referrer.
    text: `${config.publicUrl ?? localUrl(url)}/console/invitation#${secret.reveal()}`,
    words: 'Open this link within seven days to become the operator of the console. It is shown only once:',
    file: FIRST_OPERATOR_FILE,
    fileWords: 'Created a link for the first operator of the console; it is stored in',
  });
  const note = { action: 'person.create', object: formatId('person', person.id), account: null };
  const record = { atMs: clock.nowMs(), actor: theService, ...note, before: null, after: { role: 'operator' } };
  await people.createPerson(person, linkHash, { audit: [record], creation: null });
}

const APPLIED_FILE = 'applied_file';

/**
 * Applies the file like a client of the admin API, unless the last start that applied a file applied the same: a restart keeps what was
 * changed since. Throws with every fault.
 */
export async function applyAtStart(
  admin: AdminApi,
  token: string,
  file: NonNullable<StartOptions['applyFile']>,
  installation: InstallationStore,
): Promise<void> {
  const applied = await installation.readInstallation(APPLIED_FILE);
  const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify(file.document)).digest('hex');
  if (applied === hash) return;
  const response = await admin.fetch(
    new Request('http://localhost/api/v1/apply', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ document: file.document }),
    }),
    '',
  );
  if (response.ok) return installation.writeInstallation(APPLIED_FILE, hash, applied);
  const { error } = (await response.json()) as { error: { message: string; faults?: Fault[] } };
  throw new Error(error.faults?.map((fault) => file.describeFault(fault)).join('\n') ?? error.message);
}

/** Creates the catalog of a new installation, and providers whose keys are in the environment. */
export async function prepareCatalog(config: Config, { vault, stores }: OpenStore, nowMs: number): Promise<void> {
  const present = await stores.catalog.loadCatalog();
  const sealedKeys: Partial<Record<FirstFamily, string>> = {};
  for (const family of firstFamilies) {
    const apiKey = config.providerKeys[family];
    if (apiKey !== null) sealedKeys[family] = vault.seal(apiKey, credentialContext(family));
  }
  const documents = firstDocuments(sandboxModelNames, sealedKeys, nowMs);
  const missing = present.length === 0 ? documents : missingDocuments(documents, present);
  if (missing.length > 0) await stores.catalog.saveCatalog(missing, [], firstAuditContext(missing, nowMs));
}

function firstAuditContext(documents: readonly CatalogDocument[], nowMs: number): AuditContext {
  const audit = documents.map(({ kind, name, document }) => ({
    atMs: nowMs,
    actor: theService,
    action: `${kind}.create`,
    object: `${kind} ${name}`,
    account: null,
    ...describeChange(null, document),
  }));
  return { audit, creation: null };
}

/**
 * Providers added to the environment later, with their models. Skipped if a provider of the same kind, name or
 * address exists.
 */
function missingDocuments(
  documents: readonly CatalogDocument[],
  present: readonly CatalogDocument[],
): CatalogDocument[] {
  const names = new Set(present.map((entry) => `${entry.kind} ${entry.name}`));
  const isThere = (family: FirstFamily) => {
    const made = documents.find(({ kind, name }) => kind === 'provider' && name === family);
    return names.has(`provider ${family}`) || present.some((entry) => isOfKind(entry, family) || isAt(entry, made));
  };
  const families = new Set<unknown>(firstFamilies.filter((family) => !isThere(family)));
  return documents.filter((entry) => families.has(familyOf(entry)) && !names.has(`${entry.kind} ${entry.name}`));
}

function isOfKind({ kind, document }: CatalogDocument, family: FirstFamily): boolean {
  return kind === 'provider' && document['kind'] === firstKinds[family];
}

function isAt({ kind, document }: CatalogDocument, made: CatalogDocument | undefined): boolean {
  const hostOf = (address: unknown) => URL.parse(String(address))?.host;
  const host = hostOf(made?.document['base_url']);
  return kind === 'provider' && host !== undefined && hostOf(document['base_url']) === host;
}

/** The family of a first document: a provider's name, or the provider of a model's only route. */
function familyOf({ kind, name, document }: CatalogDocument): unknown {
  if (kind === 'provider') return name;
  const routes = document['routes'];
  return Array.isArray(routes) ? (routes[0] as { provider?: unknown }).provider : null;
}

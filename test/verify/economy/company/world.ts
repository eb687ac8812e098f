// An installation in memory with a company, put together from the real parts: the admin API and SCIM over the stores that the gateway
// reads. Operators make the company through the API.

import type { AdminDependencies } from '../../../../src/admin-api/admin-api.ts';
import { makeRoutedApi } from '../../../../src/admin-api/answer-requests.ts';
import { parseId } from '../../../../src/base/ids.ts';
import { firstDocuments } from '../../../../src/catalog/catalog.ts';
import { Files } from '../../../../src/files/files.ts';
import { answerCaller, type Gateway } from '../../../../src/gateway/gateway.ts';
import { BodiesInFlight } from '../../../../src/http/http.ts';
import { NodeLedger } from '../../../../src/ledger/ledger.ts';
import type { PublicDependencies } from '../../../../src/public-api/public-api.ts';
import { hashSecret, openVault, type SecretHashes } from '../../../../src/secrets/secrets.ts';
import { type BatchParts, startBatches } from '../../../../src/server/batches.ts';
import { forgettingPeople } from '../../../../src/server/compose.ts';
import { dependenciesOf, type Json, makeParts, TOKEN, VAULT_SECRET } from '../../../contract/admin-api/installation.ts';
import { PATCH_OP, USER } from '../../../contract/scim/directory.ts';
import { type MemoryFiles, memoryFiles } from '../../../support/memory-files.ts';
import { type MemoryTables, memoryStores } from '../../../support/memory-store/memory-store.ts';
import { noAuditContext } from '../../../support/no-audit-context.ts';
import { apply, catalogOf } from '../../../unit/catalog/support.ts';
import { catalogFile, type Hooks, makeGateway, publicOver } from '../make-gateway.ts';
import { makeProvider } from '../provider.ts';
import type { VirtualTime } from '../virtual-time.ts';
import { BulkProviders, type BulkWish, bulkEntries, dialects, KINDS, nameOfBulk } from './bulk.ts';
import {
  type AccountName,
  accountNames,
  type CastPerson,
  company,
  costCentres,
  type Limit,
  markOf,
  type PersonName,
  PINNED,
  people,
  personNames,
} from './company.ts';
import { goods, goodsModels, goodsUses, nameOf } from './goods.ts';
import { Leader, type LeaderParts } from './leader.ts';

export interface Answer {
  status: number;
  text: string;
  body: Json;
}

export interface CompanyKey {
  id: number;
  secret: string;
  person: PersonName | null;
}

export interface CompanyWorld {
  gateway: Gateway;
  dependencies: PublicDependencies;
  bodies: BodiesInFlight;
  tables: MemoryTables;
  accounts: Readonly<Record<AccountName, string>>;
  people: Readonly<Record<PersonName, string>>;
  /** A key of each person, and a service key of each account. */
  keys: readonly CompanyKey[];
  /** A code that is worth CODE_DOLLARS, once. */
  code: string;
  /** Bytes of all files. */
  memory: MemoryFiles;
  files: Files;
  /** Limits of the files of a company. */
  limits: { files: number; bytes: number };
  /** By which requests of batches were sold so far. */
  multipliers: Set<number>;
  sellBatchesBy(terms: BatchTerms): void;
  /** Sends the requests of batches. */
  leader: Leader;
  /** The providers with batches of their own. */
  bulk: BulkProviders;
  /** Names of idempotency keys by their messages. */
  claims: ReadonlyMap<string, string>;
  /** Removes files that are due. */
  sweep(): Promise<void>;
  /** Failures that only the log tells of. */
  failures: string[];
  /** Sends a request with a token, or the id of a person in its place. */
  ask(token: string, method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** The directory deactivates the person. */
  deactivate(person: PersonName): Promise<Answer>;
  close(): void;
}

export const CODE_DOLLARS = 1;
const ADDRESS = '192.0.2.7';
const FOLLOW_MS = 2_000;
const GROUPS = {
  default: [
    'quarters',
    'kinds',
    'late',
    'cuts',
    'faulty',
    'running',
    ...goods.map(nameOf),
    ...dialects.map(nameOfBulk),
  ],
  dear: ['bytes'],
  gold: ['vendor'],
} as const;
const FILE_LIMITS = { files: 40, bytes: 120_000 };

await import('@fastify/busboy'); // forms load it, and virtual time waits for nothing outside

export interface CompanyHooks extends Hooks {
  /** null: no wish of this place is for a provider with batches. */
  bulkAt(place: number): BulkWish | null;
}

/** The routes are made once: they take long. */
let routed: { api: ReturnType<typeof makeRoutedApi>; use(dependencies: AdminDependencies): void } | null = null;

function apiOver(dependencies: AdminDependencies): ReturnType<typeof makeRoutedApi> {
  if (routed === null) {
    let current = dependencies;
    const use = (next: AdminDependencies) => {
      current = next;
    };
    const live = Object.fromEntries(Object.keys(dependencies).map((name) => [name, null]));
    for (const name of Object.keys(live))
      Object.defineProperty(live, name, { enumerable: true, get: () => current[name as keyof AdminDependencies] });
    const api = makeRoutedApi(live as unknown as AdminDependencies);
    routed = { api, use };
  }
  routed.use(dependencies);
  return routed.api;
}

/** Made within installed virtual time. */
export async function makeCompany(time: VirtualTime, hooks: CompanyHooks): Promise<CompanyWorld> {
  const clock = { nowMs: () => time.epochMs, advance: () => {} };
  const stores = memoryStores(clock);
  const file = fileOf('node-1', '1');
  const { seal } = openVault(VAULT_SECRET);
  await stores.catalog.saveCatalog(apply(firstDocuments([], {}), file, { kinds: KINDS, seal }), [], noAuditContext);
  const ledger = new NodeLedger(stores.gate, clock, 'node-1', undefined, true);
  const peer = new NodeLedger(stores.gate, clock, 'node-2', time.outside, true);
  await ledger.open();
  await peer.open();
  const catalog = catalogOf(file, { kinds: KINDS });
  const provider = { ...makeProvider(time, hooks.wantedOf, hooks.onProduction), uses: goodsUses(time) };
  const hashesOf: SecretHashes = (secret) => [hashSecret(secret)];
  const gateway = makeGateway({ stores, ledger, clock, catalog, provider, hashesOf });
  const { keys } = gateway.authenticator;
  const parts = await makeParts(clock, stores);
  parts.signIn.checkPassword = async () => null;
  const failures: string[] = [];
  // The API is answered by another node, which this one follows: until then only the ledger knows.
  const later = (change: () => void) => void time.after(FOLLOW_MS, change);
  const all = () => [keys, objects.leader.gateway.authenticator.keys];
  const api = apiOver({
    ...dependenciesOf(parts),
    people: forgettingPeople(stores.people, {
      forgetPerson: (id) => later(() => all().map((each) => each.forgetPerson(id))),
    }),
    forgetKey: (id) => later(() => all().map((each) => each.forget(id))),
    forgetAccount: (id) => later(() => all().map((each) => each.forgetAccount(id))),
    endKeyMessages: (id) => {
      for (const each of [gateway, objects.leader.gateway]) each.running.cutKey(id);
    },
    report: (_, thrown) => void failures.push(String(thrown)),
  });
  const ask: CompanyWorld['ask'] = async (token, method, path, body, more = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more };
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await api.fetch(new Request(`http://economy${path}`, { method, headers, ...given }), ADDRESS);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, text, body: isJson ? (JSON.parse(text) as Json) : {} };
  };
  const bulk = new BulkProviders(
    time,
    (node) => node === 'node-1' || objects.leader.mayCall(node),
    (place) => hooks.bulkAt(place),
  );
  const bodies = new BodiesInFlight(() => catalog.settings.shedBodyBytes);
  const objects = openObjects({ stores, gateway, clock, failures, provider, hashesOf, hooks }, (spool) =>
    publicOver(gateway, bodies, hooks, spool),
  );
  return {
    gateway,
    bodies,
    ...objects,
    bulk,
    claims: noteClaims(stores.tables),
    tables: stores.tables,
    failures,
    ask,
    ...(await new Operators(ask, () => new Promise((resolve) => void time.after(1, resolve))).makeAll()),
    close() {
      objects.leader.close();
      ledger.close();
      peer.close();
    },
  };
}

/** The names of idempotency keys by their messages, also of those that are dropped or sent again. */
function noteClaims({ claims }: MemoryTables): Map<string, string> {
  const noted = new Map<string, string>();
  const set = claims.set.bind(claims);
  claims.set = (key, row) => {
    noted.set(row.requestId, row.name);
    return set(key, row);
  };
  return noted;
}

interface ObjectParts extends Pick<LeaderParts, 'clock' | 'failures' | 'provider' | 'hashesOf' | 'hooks'> {
  stores: ReturnType<typeof memoryStores>;
  gateway: Gateway;
}

/** How the requests of batches are sold: `price` and `group` multiply as `multiplier` does. */
export interface BatchTerms {
  multiplier: string;
  price: number;
  group: string;
}

/** Files and batches over the public API of the node that clients use, which sends no request of a batch. */
function openObjects(
  { stores, gateway, ...parts }: ObjectParts,
  makePublic: (spool: MemoryFiles['spool']) => PublicDependencies,
) {
  const memory = memoryFiles();
  const vault = openVault(Buffer.alloc(32, 7));
  const ofFiles = { vault, limits: () => FILE_LIMITS, nowMs: parts.clock.nowMs };
  const files = new Files({ ...ofFiles, store: stores.files, bytes: memory.bytes });
  gateway.files = files;
  const dependencies = makePublic(memory.spool);
  dependencies.files = { files, answerCaller: (request, answer) => answerCaller(gateway, request, answer) };
  const stop = startBatches({
    store: { stores } as unknown as BatchParts['store'],
    leadership: { isHeld: async () => false } as unknown as BatchParts['leadership'],
    gateway,
    publicApi: dependencies,
    log: { writeEvent() {} },
    failed: async () => {},
  });
  void stop(); // its endpoints stay
  const catalogFor =
    ({ multiplier, price, group }: BatchTerms) =>
    (node: string) =>
      catalogOf(fileOf(node, multiplier, price, group), { kinds: KINDS });
  const leader = new Leader(
    { ...parts, stores, memory, files: ofFiles },
    catalogFor({ multiplier: '1', price: 1, group: '1' }),
  );
  const multipliers = new Set([1]);
  return {
    dependencies,
    memory,
    files,
    limits: FILE_LIMITS,
    multipliers,
    sellBatchesBy(terms: BatchTerms) {
      multipliers.add(Number(terms.multiplier) * terms.price * Number(terms.group));
      leader.sellBy(catalogFor(terms));
    },
    leader,
    async sweep() {
      await files.sweep(new AbortController().signal);
    },
  };
}

/** As the node uses it. */
function fileOf(node: string, multiplier: string, factor = 1, ofGroup = '1') {
  const { providers, models, groups, settings, ...rest } = catalogFile(GROUPS, factor);
  const bulk = bulkEntries(node, factor);
  return {
    ...rest,
    providers: { ...providers, ...bulk.providers, goods: { kind: 'sandbox' } },
    models: { ...models, ...bulk.models, ...goodsModels('goods') },
    groups: Object.fromEntries(Object.entries(groups).map(([name, of]) => [name, { ...of, multiplier: ofGroup }])),
    settings: { ...settings, batch_multiplier: multiplier },
  };
}

type Made = Pick<CompanyWorld, 'accounts' | 'people' | 'keys' | 'code' | 'deactivate'>;

/** Operators and the directory, who act before anybody else may. */
class Operators {
  readonly #ask: CompanyWorld['ask'];
  readonly #pause: () => Promise<void>;
  readonly #accounts: Partial<Record<AccountName, string>> = {};
  readonly #people: Partial<Record<PersonName, string>> = {};
  readonly #users: Partial<Record<PersonName, string>> = {};
  readonly #keys: CompanyKey[] = [];
  #directory = '';

  /** `pause`: no two objects are made at the same time, so that lists have one order. */
  constructor(ask: CompanyWorld['ask'], pause: () => Promise<void>) {
    this.#ask = ask;
    this.#pause = pause;
  }

  async makeAll(): Promise<Made> {
    this.#directory = String((await this.#made('POST', '/tokens', { role: 'scim' }))['token']);
    for (const name of accountNames) await this.#addAccount(name);
    for (const name of personNames) await this.#addPerson(name, people[name]);
    const batch = { name: 'a gift', amount: String(CODE_DOLLARS), count: 1 };
    const { codes } = (await this.#made('POST', '/code-batches', batch)) as { codes: string[] };
    return {
      accounts: this.#accounts as Made['accounts'],
      people: this.#people as Made['people'],
      keys: this.#keys,
      code: String(codes[0]),
      deactivate: (person) => this.#deactivate(person),
    };
  }

  async #made(method: string, path: string, body?: object, token = TOKEN): Promise<Json> {
    await this.#pause();
    const isScim = path.startsWith('/Users') || path.startsWith('/Groups');
    const answer = await this.#ask(token, method, `${isScim ? '/scim/v2' : '/api/v1'}${path}`, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  async #addAccount(name: AccountName): Promise<void> {
    const { parent, paysFrom, credit, allowance, personBudget, groups } = company[name];
    const made = await this.#made('POST', '/accounts', {
      name: markOf(name),
      groups,
      parent: parent === null ? null : this.#accounts[parent],
      pays_from: paysFrom,
      ...(credit > 0 && { credit: String(credit), note: `note of ${markOf(name)}` }),
      ...(allowance !== null && { allowance: String(allowance.most), allowance_period: allowance.window }),
      ...(personBudget !== null && { person_budget: { limits: [limitOf(personBudget)] } }),
      ...(name in costCentres && { tags: { cost_centre: costCentres[name] }, tags_pinned: ['cost_centre', PINNED] }),
    });
    this.#accounts[name] = String(made['id']);
    await this.#addKey(name, null);
  }

  async #addPerson(name: PersonName, { account, role, budgets, isOfDirectory, given }: CastPerson): Promise<void> {
    const at = this.#accounts[account];
    const email = `${markOf(name)}@example.com`;
    if (isOfDirectory) this.#people[name] = await this.#provision(name, email, { account: at, role });
    else {
      const invited = await this.#made('POST', '/people', { role, email, account: at, name: markOf(name) });
      this.#people[name] = String(invited['id']);
      await this.#made('PATCH', `/people/${invited['id']}`, { status: 'enabled' });
    }
    for (const { at: where, limit } of budgets)
      await this.#made('PATCH', `/people/${this.#people[name]}/budget`, {
        account: this.#accounts[where],
        limits: [limitOf(limit)],
      });
    await this.#addKey(account, name);
    if (given !== null) await this.#addKey(account, name, { ...given, quota: String(given.quota) });
  }

  /** The directory makes the person, by a group that operators mapped. */
  async #provision(name: PersonName, email: string, place: object): Promise<string> {
    const user = {
      schemas: [USER],
      userName: email,
      displayName: markOf(name),
      active: true,
      emails: [{ value: email, primary: true }],
    };
    this.#users[name] = String((await this.#made('POST', '/Users', user, this.#directory))['id']);
    await this.#made('POST', '/directory-groups', { name, source: 'scim', ...place });
    const group = { displayName: name, members: [{ value: this.#users[name] }] };
    await this.#made('POST', '/Groups', group, this.#directory);
    const { data } = (await this.#made('GET', '/people')) as { data: Json[] };
    return String(data.find((person) => person['email'] === email)?.['id']);
  }

  async #addKey(account: AccountName, person: PersonName | null, limits: object = {}): Promise<void> {
    const made = await this.#made('POST', '/keys', {
      account: this.#accounts[account],
      name: `key of ${markOf(person ?? account)}`,
      ...(person !== null && { person: this.#people[person] }),
      ...limits,
    });
    this.#keys.push({ id: parseId('key', String(made['id'])) ?? 0, secret: String(made['key']), person });
  }

  #deactivate(person: PersonName): Promise<Answer> {
    const Operations = [{ op: 'replace', path: 'active', value: false }];
    const path = `/scim/v2/Users/${this.#users[person]}`;
    return this.#ask(this.#directory, 'PATCH', path, { schemas: [PATCH_OP], Operations });
  }
}

function limitOf({ window, most }: Limit) {
  return { window, limit: String(most) };
}

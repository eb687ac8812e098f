// Gathers the facts for the doctor. A failure is a fact too, so that a broken part does not hide the others.

import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isWholeNumber, parseWholeNumber } from '../base/checked-number.ts';
import { buildCatalog, type Catalog, sealedCredentials } from '../catalog/catalog.ts';
import type { ServiceFacts } from '../commands/commands.ts';
import { bounds, type Config, placesOf } from '../config/config.ts';
import { checkLedger } from '../ledger/ledger.ts';
import { providerKinds } from '../providers/providers.ts';
import { findInstallationSecrets, openVault } from '../secrets/secrets.ts';
import type { TablesState } from '../storage/postgres/postgres.ts';
import * as postgres from '../storage/postgres/postgres.ts';
import * as sqlite from '../storage/sqlite/sqlite.ts';
import type { StoreSurvey } from '../storage/storage.ts';
import {
  attempt,
  type CatalogFacts,
  type DatabaseFacts,
  type Facts,
  type Fallible,
  type FileFacts,
  known,
  type OperatorFile,
  orNull,
  type PostgresFacts,
  SERVER_VERSION_LEAST,
} from './facts.ts';
import { findOverdueHolds } from './overdue-holds.ts';
import { readSecretState, type SecretUse } from './secret.ts';

/** All facts of the installation. Never rejects for the state of the installation. */
export async function gatherFacts(
  config: Config,
  settingFaults: readonly string[],
  service: ServiceFacts,
  nowMs: number,
): Promise<Facts> {
  const dataDirectory = resolve(config.dataDirectory);
  const isStoreKnown = !settingFaults.some((fault) => /^(?:--database|TURNPIKE_DATABASE_URL):/.test(fault));
  const store = isStoreKnown ? await gatherStore(config, nowMs) : NOTHING;
  const { database, secretUse } = store;
  const survey = known(database?.survey);
  const operatorText = orNull(() => readFileSync(join(dataDirectory, 'operator.json'), 'utf8'));
  const operatorFile = operatorText === null ? null : attempt(() => parseOperatorFile(operatorText));
  const disk = orNull(() => statfsSync(dataDirectory));
  return {
    nowMs,
    settingFaults,
    dataDirectory,
    directory: fileFacts(dataDirectory),
    files: filesOf(dataDirectory),
    diskFreeBytes: disk && disk.bavail * disk.bsize,
    openFilesMax: openFilesMax(known(operatorFile)?.pid ?? null),
    isLocked: orNull(() => sqlite.isDirectoryLocked(dataDirectory)) ?? false,
    isStoreKnown,
    postgres: store.postgres,
    database,
    commitLoss:
      config.databaseUrl === null ? orNull(() => sqlite.findCommitLoss(sqlite.databasePath(dataDirectory))) : null,
    secret: secretUse && attempt(() => readSecretState({ ...config, dataDirectory }, secretUse)),
    signInFaults: store.postgres === null ? signInFaultsIn(dataDirectory) : [],
    catalog: survey && catalogFacts({ ...config, dataDirectory }, survey),
    operatorFile,
    sendsMail: placesOf(config).mail !== null,
    takesPayments: placesOf(config).payments !== null,
    listen: config.listen,
    service,
  };
}

/** The facts of a store of either kind. */
interface GatheredStore extends Pick<Facts, 'postgres' | 'database'> {
  /** Null when unknown. Tables of another version tell only which secret they belong to. */
  secretUse: SecretUse | null;
}

const NOTHING: GatheredStore = { postgres: null, database: null, secretUse: null };

async function gatherStore({ databaseUrl, dataDirectory }: Config, nowMs: number): Promise<GatheredStore> {
  if (databaseUrl !== null) return await gatherPostgres(databaseUrl, nowMs);
  const path = sqlite.databasePath(resolve(dataDirectory));
  const database = await fileDatabaseFacts(path, nowMs);
  const secretUse = known(database?.survey) ?? orNull(() => ({ proof: sqlite.readProof(path) }));
  return { postgres: null, database, secretUse };
}

async function fileDatabaseFacts(path: string, nowMs: number): Promise<DatabaseFacts | null> {
  const bytes = orNull(() => statSync(path).size);
  if (bytes === null) return null;
  const version = attempt(() => sqlite.readStoredVersion(path));
  const stored = known(version);
  const isPresent = stored !== null && stored.stored === stored.known;
  const isSmall = bytes <= bounds.doctorCheckBytesMax;
  const fileFaults = isSmall && stored !== null ? sqlite.findFileFaults(path) : null;
  const isSound = isPresent && (fileFaults === null || fileFaults.length === 0);
  const isToVerify = isSound && isSmall;
  return {
    subject: `file ${path}`,
    bytes,
    version,
    fileFaults,
    ledger: isToVerify ? attempt(() => checkLedger(sqlite.sumLedger(path))) : null,
    overdueHolds: isPresent ? orNull(() => findOverdueHolds(sqlite.readHoldsOfNodes(path), nowMs)) : null,
    unreadableRows: isToVerify ? await sqlite.findUnreadableRows(path) : null,
    survey: isPresent ? attempt(() => sqlite.surveyStore(path, nowMs)) : null,
  };
}

async function gatherPostgres(url: string, nowMs: number): Promise<GatheredStore> {
  const server = await readServer(url);
  const name = postgres.nameDatabase(url);
  if ('failure' in server) return { ...NOTHING, postgres: { name, server, tables: null } };
  const tables = await attemptAt(url, postgres.examineTables(url));
  const state = known(tables);
  // Null without tables of this service.
  const database = state === null || state.version.stored === 0 ? null : await serverDatabaseFacts(url, state, nowMs);
  const proof = database === null ? null : known(await attemptAt(url, postgres.readProof(url)));
  return {
    postgres: { name, server, tables },
    database,
    secretUse: known(database?.survey) ?? (proof === null ? null : { proof }),
  };
}

async function readServer(url: string): Promise<PostgresFacts['server']> {
  try {
    const server = await postgres.examineServer(url);
    if (server.version >= SERVER_VERSION_LEAST * 10_000) await postgres.refusePooler(url); // an older server refuses the settings, too
    return { is: server };
  } catch (failure) {
    return { failure: postgres.describeDatabaseFailure(failure, url) };
  }
}

/** The ledger is not verified when tables are missing. */
async function serverDatabaseFacts(
  url: string,
  { version, bytes, missing }: TablesState,
  nowMs: number,
): Promise<DatabaseFacts> {
  const isUsable = version.stored >= version.known && version.leastKnown <= version.known && missing.length === 0;
  const survey = isUsable ? await attemptAt(url, postgres.surveyStore(url, nowMs, bounds.doctorAnswerWaitMs)) : null;
  const isToVerify = bytes <= bounds.doctorCheckBytesMax && known(survey) !== null;
  // Null when it takes too long, which is no fault of the ledger.
  const sums = isToVerify ? known(await attemptAt(url, postgres.sumLedger(url, bounds.reportStatementMsMax))) : null;
  const ofNodes = isUsable
    ? known(await attemptAt(url, postgres.readHoldsOfNodes(url, bounds.doctorAnswerWaitMs)))
    : null;
  const unreadable = isToVerify
    ? await attemptAt(url, postgres.findUnreadableRows(url, bounds.reportStatementMsMax))
    : null;
  return {
    subject: `database ${postgres.nameDatabase(url)}`,
    bytes,
    version: { is: version },
    fileFaults: null,
    ledger: sums && attempt(() => checkLedger(sums)),
    overdueHolds: ofNodes && findOverdueHolds(ofNodes, ofNodes.nowMs),
    unreadableRows: known(unreadable),
    survey: unreadable !== null && 'failure' in unreadable ? unreadable : survey,
  };
}

async function attemptAt<Fact>(url: string, fact: Promise<Fact>): Promise<Fallible<Fact>> {
  try {
    return { is: await fact };
  } catch (failure) {
    return { failure: postgres.describeDatabaseFailure(failure, url).words };
  }
}

function catalogFacts(config: Config, { documents }: StoreSurvey): CatalogFacts {
  const closed = () => 'not opened'; // credentials are not needed here
  return {
    documents,
    catalog: attempt((): Catalog => buildCatalog(documents, closed)),
    unopened: orNull(() => unopenedCredentials(config, documents)),
    providerKinds: [...providerKinds.keys()],
  };
}

/** Credentials that the available secrets do not decrypt; null without a secret. */
export function unopenedCredentials(config: Config, documents: StoreSurvey['documents']): CatalogFacts['unopened'] {
  const { present, previous } = findInstallationSecrets(config);
  if (present === null) return null;
  const vault = openVault(present.bytes, previous?.bytes ?? null);
  return documents.flatMap((entry) =>
    sealedCredentials(entry)
      .filter(({ sealed, context }) => orNull(() => vault.open(sealed, context)) === null)
      .map(({ name }) => ({ provider: entry.name, credential: name })),
  );
}

function signInFaultsIn(dataDirectory: string): string[] {
  const path = sqlite.signInPath(dataDirectory);
  if (!existsSync(path)) return [];
  const faults = attempt(() => sqlite.findFileFaults(path));
  return 'is' in faults ? faults.is : [faults.failure];
}

function filesOf(dataDirectory: string): FileFacts[] {
  const names = orNull(() => readdirSync(dataDirectory)) ?? [];
  return names
    .slice(0, bounds.doctorFilesMax)
    .map((name) => fileFacts(join(dataDirectory, name)))
    .filter((file) => file !== null);
}

function fileFacts(path: string): FileFacts | null {
  return orNull(() => {
    const { mode, uid } = statSync(path);
    return {
      path,
      mode: mode & 0o777,
      owner: uid,
      isWritable: 'is' in attempt(() => accessSync(path, constants.R_OK | constants.W_OK)),
    };
  });
}

function parseOperatorFile(text: string): OperatorFile {
  const { url, listen, pid } = JSON.parse(text) as Partial<Record<'url' | 'listen' | 'pid', unknown>>;
  if (typeof url !== 'string') throw new Error('it contains no address');
  return {
    url,
    listen: typeof listen === 'string' ? listen : null,
    pid: isWholeNumber(pid) ? pid : null,
  };
}

/** The limit of the service's process, or of this one when the service's is unknown. */
function openFilesMax(pid: number | null): number | null {
  const limitsOf = (process: number | 'self') => orNull(() => readFileSync(`/proc/${process}/limits`, 'utf8'));
  const limits = (pid === null ? null : limitsOf(pid)) ?? limitsOf('self');
  const match = /^Max open files +(\d+)/m.exec(limits ?? '');
  return parseWholeNumber(match?.[1] ?? '');
}

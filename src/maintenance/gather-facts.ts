// Gathers what the doctor judges by. Whatever cannot be had is a fact too: a broken installation must
// not keep it from looking at the rest.

import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildCatalogue, type Catalogue, sealedCredentials } from '../catalog/catalog.ts';
import type { ServiceFacts } from '../commands/commands.ts';
import { bounds, type Config } from '../config.ts';
import { providerKinds } from '../providers/providers.ts';
import { findInstallationSecrets, openVault } from '../secrets/secrets.ts';
import { databasePath, findFileFaults, isDirectoryLocked, signInPath } from '../storage/sqlite/sqlite.ts';
import type { StoreSurvey } from '../storage/storage.ts';
import type { CatalogueFacts, Facts, FileFacts, OperatorFile, Told } from './facts.ts';
import { type GatheredStore, gatherFile, surveyOf } from './gather-file.ts';
import { gatherPostgres } from './gather-postgres.ts';
import { readSecretState } from './secret-state.ts';
import { orNull, tell } from './tell.ts';

/** All facts of the installation in the configured database or data directory. Never rejects for the state that it is in. */
export async function gatherFacts(
  config: Config,
  settingFaults: readonly string[],
  service: ServiceFacts,
  nowMs: number,
): Promise<Facts> {
  const dataDirectory = resolve(config.dataDirectory);
  const isStoreKnown = !settingFaults.some((fault) => /^(?:--database|TURNPIKE_DATABASE_URL):/.test(fault));
  const { postgres, database, secretUse } = isStoreKnown ? await gatherStore(config, nowMs) : NOTHING;
  const survey = surveyOf(database);
  const operatorFile = readOperatorFile(dataDirectory);
  return {
    nowMs,
    settingFaults,
    dataDirectory,
    directory: fileFacts(dataDirectory),
    files: filesOf(dataDirectory),
    diskFreeBytes: orNull(() => freeBytes(dataDirectory)),
    openFilesMax: orNull(() => openFilesMax(operatorFile)),
    isLocked: orNull(() => isDirectoryLocked(dataDirectory)) ?? false,
    isStoreKnown,
    postgres,
    database,
    secret: secretUse && tell(() => readSecretState({ ...config, dataDirectory }, secretUse)),
    signInFaults: postgres === null ? signInFaultsIn(dataDirectory) : [],
    catalogue: survey && catalogueFacts({ ...config, dataDirectory }, survey),
    operatorFile,
    listen: config.listen,
    service,
  };
}

const NOTHING: GatheredStore = { postgres: null, database: null, secretUse: null };

async function gatherStore({ databaseUrl, dataDirectory }: Config, nowMs: number): Promise<GatheredStore> {
  if (databaseUrl !== null) return await gatherPostgres(databaseUrl, nowMs);
  return gatherFile(databasePath(resolve(dataDirectory)), nowMs);
}

function catalogueFacts(config: Config, { documents }: StoreSurvey): CatalogueFacts {
  const closed = () => 'not opened'; // what a credential is does not matter here
  return {
    documents,
    catalogue: tell((): Catalogue => buildCatalogue(documents, closed)),
    unopened: orNull(() => unopenedCredentials(config, documents)),
    providerKinds: [...providerKinds.keys()],
  };
}

function unopenedCredentials(config: Config, documents: StoreSurvey['documents']): CatalogueFacts['unopened'] {
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
  const path = signInPath(dataDirectory);
  if (!existsSync(path)) return [];
  const faults = tell(() => findFileFaults(path));
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
      isWritable: 'is' in tell(() => accessSync(path, constants.R_OK | constants.W_OK)),
    };
  });
}

function readOperatorFile(dataDirectory: string): Told<OperatorFile> | null {
  const text = orNull(() => readFileSync(join(dataDirectory, 'operator.json'), 'utf8'));
  return text === null ? null : tell(() => parseOperatorFile(text));
}

function parseOperatorFile(text: string): OperatorFile {
  const { url, listen, pid } = JSON.parse(text) as Partial<Record<'url' | 'listen' | 'pid', unknown>>;
  if (typeof url !== 'string') throw new Error('it names no address');
  return {
    url,
    listen: typeof listen === 'string' ? listen : null,
    pid: typeof pid === 'number' && Number.isSafeInteger(pid) ? pid : null,
  };
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/** The limit of the service's process, else of this one, which was started by the same hands. */
function openFilesMax(operatorFile: Told<OperatorFile> | null): number | null {
  const pid = operatorFile !== null && 'is' in operatorFile ? operatorFile.is.pid : null;
  const limits = (pid === null ? null : orNull(() => readLimits(String(pid)))) ?? orNull(() => readLimits('self'));
  const match = /^Max open files +(\d+)/m.exec(limits ?? '');
  return match === null ? null : Number(match[1]);
}

function readLimits(process: string): string {
  return readFileSync(`/proc/${process}/limits`, 'utf8');
}

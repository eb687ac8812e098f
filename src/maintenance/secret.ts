// The installation secret for operators: which secret the installation uses, what the former secret still seals,
// and the commands that replace and forget it.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type CatalogDocument, sealedCredentials } from '../catalog/catalog.ts';
import type { MoveReport, SecretStatus } from '../commands/commands.ts';
import type { Config } from '../config/config.ts';
import {
  findInstallationSecrets,
  openVault,
  previousSecretPath,
  removePreviousSecretFile,
  rotateSecretFiles,
  type SecretSettings,
  secretPath,
  type Vault,
} from '../secrets/secrets.ts';
import * as postgres from '../storage/postgres/postgres.ts';
import { databasePath, readProof, readStoredVersion, surveyStore } from '../storage/sqlite/sqlite.ts';
import type { StoreSurvey } from '../storage/storage.ts';

export interface SecretState {
  /** Source of the secret: "file:…" or "TURNPIKE_SECRET"; null if it is absent. */
  present: string | null;
  /** Source of the former secret; null if it is absent or the same. */
  previous: string | null;
  /** The secret that the installation uses; `none` before its first use. */
  isUnder: 'present' | 'previous' | 'another' | 'none';
  /** Provider credentials sealed with the former secret by a node that was not restarted yet. */
  credentialsOnPrevious: number;
  /** A start of this version stored what it needs of the former secret. */
  isStarted: boolean;
}

/** A store's use of secrets. Tables of another version tell only the proof. */
export type SecretUse = Pick<StoreSurvey, 'proof'> & Partial<Pick<StoreSurvey, 'documents' | 'hasFormerHashKeys'>>;

/** Throws InstallationSecretMissing for a file that does not contain a secret. */
export function readSecretState(
  settings: SecretSettings,
  { proof, documents = [], hasFormerHashKeys = false }: SecretUse,
): SecretState {
  const found = findInstallationSecrets(settings);
  const vault = found.present && openVault(found.present.bytes, found.previous?.bytes ?? null);
  const former = vault === null ? found.previous && openVault(found.previous.bytes) : vault.previous;
  return {
    present: found.present?.source ?? null,
    previous: former === null ? null : (found.previous?.source ?? null),
    isUnder: whichOf(proof, vault?.proof ?? null, former?.proof ?? null),
    credentialsOnPrevious: former === null ? 0 : countSealed(documents, former),
    isStarted: hasFormerHashKeys,
  };
}

/** Whether the previous secret is needed in addition to the current one. */
export function isPreviousNeeded({ isUnder, isStarted, credentialsOnPrevious }: SecretState): boolean {
  return isUnder === 'previous' || !isStarted || credentialsOnPrevious > 0;
}

/** The use of secrets by the SQLite database at `path`, whose tables may have another version. Throws SQLite's errors. */
export function secretUseOf(path: string, nowMs: number): SecretUse {
  const { stored, known } = readStoredVersion(path);
  return stored === known ? surveyStore(path, nowMs) : { proof: readProof(path) };
}

/**
 * The sources of the secrets that nodes need after a move to PostgreSQL. Throws an error for the operator if the
 * secret is absent or wrong.
 */
export function secretsToMove(config: Config, path: string): Pick<MoveReport, 'secret' | 'previous_secret'> {
  // The state of the directory that is moved: with a database URL its files would be ignored.
  const state = readSecretState({ ...config, databaseUrl: null }, secretUseOf(path, Date.now()));
  const { present, previous } = state;
  const file = secretPath(config.dataDirectory);
  if (state.isUnder !== 'none' && present === null)
    throw new Error(
      `the installation's secret is missing: there is no file ${file}, and TURNPIKE_SECRET is not set. Every node needs it: set TURNPIKE_SECRET to the secret that the service used`,
    );
  if (state.isUnder === 'another')
    throw new Error(
      `${present === 'TURNPIKE_SECRET' ? present : `the secret in ${file}`} is not the secret of this installation: no provider credential can be decrypted with it`,
    );
  return { secret: present, previous_secret: isPreviousNeeded(state) ? previous : null };
}

/** Nodes are restarted three times, so that every node always accepts what the others seal. */
const STEPS =
  'with PostgreSQL the secret comes from the environment of the nodes. Replace it in three steps, and restart all nodes one by one after each. First, keep TURNPIKE_SECRET and set TURNPIKE_PREVIOUS_SECRET to a new secret ("openssl rand -base64 32"), so that every node accepts both. Second, swap the two, which puts the new secret in force. Third, when "turnpike secret status" counts no credentials on the previous secret, unset TURNPIKE_PREVIOUS_SECRET';

const STATES = { present: 'in_force', previous: 'at_next_start', another: 'wrong', none: 'not_started' } as const;

export async function secretStatus(config: Config, nowMs: number): Promise<SecretStatus> {
  const state = await readState(config, nowMs);
  return {
    secret: state.present,
    previous_secret: state.previous,
    state: state.present === null ? 'missing' : STATES[state.isUnder],
    credentials_on_previous: state.credentialsOnPrevious,
  };
}

/**
 * Creates a new secret and keeps the present one as the previous, until it is forgotten. Throws an error for the
 * operator if that would lose something.
 */
export async function rotateSecret(
  config: Config,
  nowMs: number,
): Promise<{ secret: string; previous_secret: string }> {
  if (config.databaseUrl !== null) throw new Error(STEPS);
  if (config.secretBase64 !== null || config.previousSecretBase64 !== null)
    throw new Error(
      'the secret comes from the environment, so replace it there: set TURNPIKE_PREVIOUS_SECRET to the current secret and TURNPIKE_SECRET to a new one ("openssl rand -base64 32"), and restart the service',
    );
  const state = await readState(config, nowMs);
  const present = findInstallationSecrets(config).present;
  if (present === null)
    throw new Error(`the file ${secretPath(config.dataDirectory)} is missing: see "turnpike doctor"`);
  if (state.isUnder === 'previous') throw new Error('the last rotation is not in force yet: restart the service first');
  if (state.isUnder !== 'present')
    throw new Error(
      `the secret in ${secretPath(config.dataDirectory)} is not the secret of this installation: see "turnpike doctor"`,
    );
  refuseIfNeeded(state);
  rotateSecretFiles(config.dataDirectory, present.bytes);
  return {
    secret: `file:${resolve(secretPath(config.dataDirectory))}`,
    previous_secret: `file:${resolve(previousSecretPath(config.dataDirectory))}`,
  };
}

/** Removes the previous secret. Throws an error for the operator while something depends on it. */
export async function forgetPreviousSecret(config: Config, nowMs: number): Promise<{ forgotten: boolean }> {
  if (config.previousSecretBase64 !== null)
    throw new Error(
      'the previous secret comes from the environment: unset TURNPIKE_PREVIOUS_SECRET before the next start',
    );
  if (config.databaseUrl !== null) return { forgotten: false }; // no file has it
  if (!existsSync(previousSecretPath(config.dataDirectory))) return { forgotten: false };
  const state = await readState(config, nowMs);
  if (state.isUnder === 'previous')
    throw new Error('the installation still uses the previous secret: restart the service first');
  if (state.isUnder === 'another')
    throw new Error('the current secret is not the secret of this installation: see "turnpike doctor"');
  refuseIfNeeded(state);
  removePreviousSecretFile(config.dataDirectory);
  return { forgotten: true };
}

function refuseIfNeeded(state: SecretState): void {
  if (state.previous !== null && isPreviousNeeded(state))
    throw new Error(
      'the previous secret is still needed: restart the service, which re-encrypts everything with the new one',
    );
}

async function readState(config: Config, nowMs: number): Promise<SecretState> {
  const { databaseUrl, dataDirectory } = config;
  if (databaseUrl !== null) return readSecretState(config, await surveyPostgres(databaseUrl, nowMs));
  const path = databasePath(dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return readSecretState(config, surveyStore(path, nowMs));
}

/** Throws an error whose message has no password. */
async function surveyPostgres(url: string, nowMs: number): Promise<StoreSurvey> {
  try {
    return await postgres.surveyStore(url, nowMs);
  } catch (cause) {
    const { words } = postgres.describeDatabaseFailure(cause, url);
    throw new Error(
      `the database ${postgres.nameDatabase(url)} (TURNPIKE_DATABASE_URL or --database) cannot be read: ${words}`,
      { cause },
    );
  }
}

function countSealed(documents: readonly CatalogDocument[], { open }: Pick<Vault, 'open'>): number {
  return documents.flatMap(sealedCredentials).filter(({ sealed, context }) => {
    try {
      open(sealed, context);
      return true;
    } catch {
      return false;
    }
  }).length;
}

function whichOf(proof: string | null, present: string | null, previous: string | null): SecretState['isUnder'] {
  if (proof === null) return 'none';
  if (proof === present) return 'present';
  return proof === previous ? 'previous' : 'another';
}

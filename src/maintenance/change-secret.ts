// Replaces the installation's secret where it is kept in a file: a new one is put in its place, and the
// one before it is accepted until it is forgotten. The service takes the new one at its next start.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SecretStatus } from '../commands/commands.ts';
import type { Config } from '../config.ts';
import {
  findInstallationSecrets,
  previousSecretPath,
  removePreviousSecretFile,
  rotateSecretFiles,
  secretPath,
} from '../secrets/secrets.ts';
import * as postgres from '../storage/postgres/postgres.ts';
import { databasePath, listDependents, surveyStore } from '../storage/sqlite/sqlite.ts';
import type { Dependent, StoreSurvey } from '../storage/storage.ts';
import { countsInWords, readSecretState, type SecretState } from './secret-state.ts';

/** Each node is restarted three times: at no time is there one that does not accept what another makes. */
const STEPS =
  'with PostgreSQL the secret comes from the environment of the nodes, and is replaced in three steps, in each of which all nodes are restarted, one after the other: first with the present one as TURNPIKE_SECRET and a new one ("openssl rand -base64 32") as TURNPIKE_PREVIOUS_SECRET, so that every node accepts both; then with the two exchanged, which brings the installation under the new one; at last, when "turnpike secret status" counts nothing on the previous one, with the new one alone';

const STATES = { present: 'in_force', previous: 'at_next_start', another: 'wrong', none: 'not_started' } as const;

/** Under which secret the installation is, and who still depends on the one before it. */
export async function secretStatus(config: Config, nowMs: number): Promise<SecretStatus> {
  const state = await readState(config, nowMs);
  const dependents =
    state.previousId === null ? { keys: [], tokens: [] } : await dependentsOn(config, state.previousId, nowMs);
  return {
    secret: state.present,
    previous_secret: state.previous,
    state: state.present === null ? 'missing' : STATES[state.isUnder],
    keys_on_previous: state.onPrevious.keys,
    tokens_on_previous: state.onPrevious.tokens,
    credentials_on_previous: state.credentialsOnPrevious,
    keys: dependents.keys.map(describe),
    tokens: dependents.tokens.map(describe),
    keys_lost: state.lost.keys,
    tokens_lost: state.lost.tokens,
  };
}

/**
 * Makes a new secret and keeps the present one as the previous. `isForced` gives up what still depends on the
 * one before that; nothing gives up the one that the installation is under. Throws with what stands against it.
 */
export async function rotateSecret(
  config: Config,
  isForced: boolean,
  nowMs: number,
): Promise<{ secret: string; previous_secret: string }> {
  if (config.databaseUrl !== null) throw new Error(STEPS);
  if (config.secretBase64 !== null || config.previousSecretBase64 !== null)
    throw new Error(
      'the secret comes from the environment, so it is replaced there: give the present one as TURNPIKE_PREVIOUS_SECRET and a new one ("openssl rand -base64 32") as TURNPIKE_SECRET, and restart the service',
    );
  const state = await readState(config, nowMs);
  const present = findInstallationSecrets(config).present;
  if (present === null)
    throw new Error(`the file ${secretPath(config.dataDirectory)} is missing: see "turnpike doctor"`);
  if (state.isUnder === 'previous') throw new Error('the last rotation is not in force yet: restart the service first');
  if (state.isUnder !== 'present')
    throw new Error(
      `the secret in ${secretPath(config.dataDirectory)} is not the one that the installation is under: see "turnpike doctor"`,
    );
  if (!isForced) refuseDependents(state, 'They would stop to work now. Let them be used once, or replace them');
  rotateSecretFiles(config.dataDirectory, present.bytes);
  return {
    secret: `file:${resolve(secretPath(config.dataDirectory))}`,
    previous_secret: `file:${resolve(previousSecretPath(config.dataDirectory))}`,
  };
}

/** Removes the previous secret. Throws while something depends on it, unless forced. */
export async function forgetPreviousSecret(
  config: Config,
  isForced: boolean,
  nowMs: number,
): Promise<{ forgotten: boolean }> {
  if (config.previousSecretBase64 !== null)
    throw new Error(
      'the previous secret comes from the environment: leave TURNPIKE_PREVIOUS_SECRET out at the next start',
    );
  if (config.databaseUrl !== null) return { forgotten: false }; // no file has it
  if (!existsSync(previousSecretPath(config.dataDirectory))) return { forgotten: false };
  const state = await readState(config, nowMs);
  if (state.isUnder === 'previous')
    throw new Error('the installation still is under the previous secret: restart the service first');
  if (state.isUnder === 'another')
    throw new Error('the present secret is not the one that the installation is under: see "turnpike doctor"');
  if (!isForced) refuseDependents(state, 'They would stop to work. Let them be used once, or replace them');
  removePreviousSecretFile(config.dataDirectory);
  return { forgotten: true };
}

function refuseDependents({ onPrevious, credentialsOnPrevious }: SecretState, consequence: string): void {
  if (credentialsOnPrevious > 0)
    throw new Error(
      `credentials of providers are sealed under the previous secret (${credentialsOnPrevious}): restart the service, which seals them anew`,
    );
  if (onPrevious.keys + onPrevious.tokens === 0) return;
  throw new Error(
    `the previous secret is still needed by ${countsInWords(onPrevious)} ("turnpike secret status" names them). ${consequence}; --force gives them up`,
  );
}

async function readState(config: Config, nowMs: number): Promise<SecretState> {
  return readSecretState(config, await survey(config, nowMs));
}

async function survey(config: Config, nowMs: number): Promise<StoreSurvey> {
  const { databaseUrl } = config;
  if (databaseUrl === null) return surveyStore(requireDatabase(config), nowMs);
  return await ask(databaseUrl, () => postgres.surveyStore(databaseUrl, nowMs));
}

async function dependentsOn(config: Config, secretId: string, nowMs: number) {
  const { databaseUrl } = config;
  if (databaseUrl === null) return listDependents(requireDatabase(config), secretId, nowMs);
  return await ask(databaseUrl, () => postgres.listDependents(databaseUrl, secretId, nowMs));
}

/** Throws in words that hold no password. */
async function ask<Answer>(url: string, look: () => Promise<Answer>): Promise<Answer> {
  try {
    return await look();
  } catch (cause) {
    const { words } = postgres.describeDatabaseFailure(cause, url);
    throw new Error(
      `the database ${postgres.nameDatabase(url)} (TURNPIKE_DATABASE_URL or --database) cannot be read: ${words}`,
      { cause },
    );
  }
}

function requireDatabase({ dataDirectory }: Config): string {
  const path = databasePath(dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return path;
}

function describe({ id, name, lastUsedAtMs }: Dependent): SecretStatus['keys'][number] {
  return { id, name, last_used_at: lastUsedAtMs === null ? null : new Date(lastUsedAtMs).toISOString() };
}

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
import { type Dependent, databasePath, listDependents, surveyStore } from '../storage/sqlite/sqlite.ts';
import { countsInWords, readSecretState, type SecretState } from './secret-state.ts';

const STATES = { present: 'in_force', previous: 'at_next_start', another: 'wrong', none: 'not_started' } as const;

/** Under which secret the installation is, and who still depends on the one before it. */
export function secretStatus(config: Config, nowMs: number): SecretStatus {
  const path = requireDatabase(config);
  const state = readState(config, nowMs);
  const dependents =
    state.previousId === null ? { keys: [], tokens: [] } : listDependents(path, state.previousId, nowMs);
  return {
    secret: state.present,
    previous_secret: state.previous,
    state: state.present === null ? 'missing' : STATES[state.isUnder],
    keys_on_previous: state.onPrevious.keys,
    tokens_on_previous: state.onPrevious.tokens,
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
export function rotateSecret(
  config: Config,
  isForced: boolean,
  nowMs: number,
): { secret: string; previous_secret: string } {
  if (config.secretBase64 !== null || config.previousSecretBase64 !== null)
    throw new Error(
      'the secret comes from the environment, so it is replaced there: give the present one as TURNPIKE_PREVIOUS_SECRET and a new one ("openssl rand -base64 32") as TURNPIKE_SECRET, and restart the service',
    );
  const state = readState(config, nowMs);
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
export function forgetPreviousSecret(config: Config, isForced: boolean, nowMs: number): { forgotten: boolean } {
  if (config.previousSecretBase64 !== null)
    throw new Error(
      'the previous secret comes from the environment: leave TURNPIKE_PREVIOUS_SECRET out at the next start',
    );
  if (!existsSync(previousSecretPath(config.dataDirectory))) return { forgotten: false };
  const state = readState(config, nowMs);
  if (state.isUnder === 'previous')
    throw new Error('the installation still is under the previous secret: restart the service first');
  if (state.isUnder === 'another')
    throw new Error('the present secret is not the one that the installation is under: see "turnpike doctor"');
  if (!isForced) refuseDependents(state, 'They would stop to work. Let them be used once, or replace them');
  removePreviousSecretFile(config.dataDirectory);
  return { forgotten: true };
}

function refuseDependents({ onPrevious }: SecretState, consequence: string): void {
  if (onPrevious.keys + onPrevious.tokens === 0) return;
  throw new Error(
    `the previous secret is still needed by ${countsInWords(onPrevious)} ("turnpike secret status" names them). ${consequence}; --force gives them up`,
  );
}

function readState(config: Config, nowMs: number): SecretState {
  return readSecretState(config, surveyStore(requireDatabase(config), nowMs));
}

function requireDatabase({ dataDirectory }: Config): string {
  const path = databasePath(dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return path;
}

function describe({ id, name, lastUsedAtMs }: Dependent): SecretStatus['keys'][number] {
  return { id, name, last_used_at: lastUsedAtMs === null ? null : new Date(lastUsedAtMs).toISOString() };
}

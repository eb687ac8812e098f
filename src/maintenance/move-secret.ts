// The installation's secret when it is moved: it has to be here and the right one, since afterwards every node needs it, and it
// cannot be made again. Where it is gets told; it is never copied or shown.

import type { MoveReport } from '../commands/commands.ts';
import type { Config } from '../config.ts';
import { secretPath } from '../secrets/secrets.ts';
import { readProof, readStoredVersion, surveyStore } from '../storage/sqlite/sqlite.ts';
import { isPreviousNeeded, readSecretState } from './secret-state.ts';

/** Where the secrets are that the nodes need. Throws, in words, where the installation's is not here or is another one. */
export function needSecret(config: Config, path: string): Pick<MoveReport, 'secret' | 'previous_secret'> {
  const { stored, known } = readStoredVersion(path);
  const isOfThisVersion = stored === known;
  const use = isOfThisVersion ? surveyStore(path, Date.now()) : { proof: readProof(path), hashedUnder: [] };
  // Of the directory that is left: with a database's address its files would not be looked at.
  const state = readSecretState({ ...config, databaseUrl: null }, use);
  const { present, previous } = state;
  const file = secretPath(config.dataDirectory);
  if (state.isUnder !== 'none' && present === null)
    throw new Error(
      `the installation's secret is not here: there is no file ${file}, and TURNPIKE_SECRET is not set. Every node needs it: set TURNPIKE_SECRET to the one that the service ran with`,
    );
  if (state.isUnder === 'another')
    throw new Error(
      `${present === 'TURNPIKE_SECRET' ? present : `the secret in ${file}`} is not the one that the installation is under: with it no key would be recognised, and no provider credential would open`,
    );
  const needsPrevious = isPreviousNeeded(state) || !isOfThisVersion;
  return { secret: present, previous_secret: needsPrevious ? previous : null };
}

// Checks the installation's secret: present, the right one, and what still depends on the previous one.

import { error, type Facts, type Findings, known, warning } from './facts.ts';
import { isPreviousNeeded, type SecretState } from './secret.ts';

const WITHOUT_IT =
  'Without it the service does not start, and no provider credential can be decrypted. It cannot be recreated.';

export function* checkSecret(facts: Facts): Findings {
  const { secret, dataDirectory, postgres, files } = facts;
  if (secret === null) return;
  const path = `${dataDirectory}/secret`;
  if ('failure' in secret) {
    yield error('secret_unreadable', `file ${path}`, {
      message: `The installation's secret cannot be read (${secret.failure}): without it no provider credential can be decrypted.`,
      remedy: 'Restore the secret from its backup.',
    });
    return;
  }
  const { present, previous, isUnder } = secret.is;
  if (isUnder === 'none') return;
  if (present === null) return yield* describeMissing(facts, path);
  if (isUnder === 'another') return yield* describeWrong(present, postgres !== null);
  // A backup of the file would have the wrong secret.
  if (postgres === null && present === 'TURNPIKE_SECRET' && files.some((file) => file.path === path))
    yield warning('secret_file_unused', `file ${path}`, {
      message: 'The secret comes from TURNPIKE_SECRET; the file is not used, and may contain a different secret.',
      remedy: `Remove the file if its secret is not needed, or unset TURNPIKE_SECRET.`,
    });
  if (previous !== null) yield describeChange(secret.is, previous, postgres !== null);
}

function* describeMissing({ isLocked, postgres }: Facts, path: string): Findings {
  const isAnyNodeAlive = (known(postgres?.tables)?.nodesAlive ?? 0) > 0;
  // A running service may have the secret in its own environment.
  if (isLocked || isAnyNodeAlive)
    yield warning('secret_not_given', 'TURNPIKE_SECRET', {
      message:
        "The running service has the installation's secret in its environment. It is not set here, so the checks that need it were skipped.",
      remedy: 'Run doctor with the TURNPIKE_SECRET of the service.',
    });
  else if (postgres !== null)
    yield error('secret_missing', 'TURNPIKE_SECRET', {
      message: `The installation's secret is missing: TURNPIKE_SECRET is not set, and with PostgreSQL it is not read from a file. ${WITHOUT_IT}`,
      remedy: 'Set TURNPIKE_SECRET to the secret that the nodes use; if it was lost, restore it from its backup.',
    });
  else
    yield error('secret_missing', `file ${path}`, {
      message: `The installation's secret is missing: there is no file ${path}, and TURNPIKE_SECRET is not set. ${WITHOUT_IT}`,
      remedy: `Restore the file "secret" from its backup to ${path} (mode 0600), or set TURNPIKE_SECRET to its content.`,
    });
}

function* describeWrong(source: string, isShared: boolean): Findings {
  const rightOne = isShared
    ? 'Set TURNPIKE_SECRET to the secret that the nodes use; another installation needs its own database.'
    : 'Restore the correct secret: the file "secret" that belongs to this database, or the TURNPIKE_SECRET that the service used with it.';
  yield error('secret_wrong', subjectOf(source), {
    message:
      'This is not the secret of the installation: the service does not start with it, because no provider credential could be decrypted.',
    remedy: `${rightOne} To replace the correct secret by this one, set TURNPIKE_PREVIOUS_SECRET to the correct one.`,
  });
}

function describeChange(state: SecretState, previous: string, isShared: boolean) {
  const subject = subjectOf(previous);
  if (state.isUnder === 'previous')
    return warning('secret_change_pending', subject, {
      message:
        'A new secret is configured but not in force yet: the installation still uses the previous one. A backup needs both.',
      remedy: isShared
        ? 'Restart the nodes one by one; the new secret is in force after the first restart.'
        : 'Restart the service.',
    });
  if (state.credentialsOnPrevious > 0)
    return warning('previous_secret_needed', subject, {
      message: `Provider credentials are still encrypted with the previous secret (${state.credentialsOnPrevious}): they were set on a node that was not restarted yet. Without that secret no node starts.`,
      remedy: 'Restart any node that has both secrets: it re-encrypts them with the new one.',
    });
  if (isPreviousNeeded(state))
    return warning('previous_secret_needed', subject, {
      message: 'This version of the service has not been started yet, and its first start needs the previous secret.',
      remedy: isShared ? 'Restart the nodes.' : 'Restart the service.',
    });
  return warning('previous_secret_not_needed', subject, {
    message: 'The previous secret is still accepted, but nothing depends on it.',
    remedy: remedyForUnneeded(previous, isShared),
  });
}

function remedyForUnneeded(previous: string, isShared: boolean): string {
  if (previous.startsWith('file:')) return 'turnpike secret forget-previous';
  const leave = 'Unset TURNPIKE_PREVIOUS_SECRET before the next start';
  return isShared ? `${leave}; or, if it is the next secret and all nodes accept it, swap the two.` : `${leave}.`;
}

function subjectOf(source: string): string {
  return source.replace(/^file:/, 'file ');
}

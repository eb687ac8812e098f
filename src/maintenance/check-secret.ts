// The installation's secret: here, the right one, and what still depends on the one before it.

import type { Finding } from '../commands/commands.ts';
import type { Facts } from './facts.ts';
import { countsInWords, isPreviousNeeded, type SecretState } from './secret-state.ts';

export function checkSecret(facts: Facts): Finding[] {
  const { secret, dataDirectory } = facts;
  if (secret === null) return [];
  const subject = `file ${dataDirectory}/secret`;
  if ('failure' in secret)
    return [
      {
        severity: 'error',
        code: 'secret_unreadable',
        subject,
        message: `The installation's secret cannot be read (${secret.failure}): without it no key is recognised and no provider credential opens.`,
        remedy: 'Put the secret back from where it is kept beside the backups.',
      },
    ];
  if (secret.is.isUnder === 'none') return [];
  if (secret.is.present === null) return [missing(facts, subject)];
  if (secret.is.isUnder === 'another') return [wrong(secret.is.present)];
  return [...checkUnused(facts, secret.is), ...checkChange(secret.is), ...checkLost(secret.is)];
}

/** Where it is not found here, a service that runs has it all the same: from its own environment. */
function missing({ isLocked, dataDirectory }: Facts, subject: string): Finding {
  if (isLocked)
    return {
      severity: 'warning',
      code: 'secret_not_given',
      subject: 'TURNPIKE_SECRET',
      message:
        "The service that runs has the installation's secret from its own environment; here it is not set, so what depends on it was not looked at.",
      remedy: 'Run doctor with the TURNPIKE_SECRET of the service.',
    };
  return {
    severity: 'error',
    code: 'secret_missing',
    subject,
    message: `The installation's secret is missing: there is no file ${dataDirectory}/secret, and TURNPIKE_SECRET is not set. Without it the service does not start: no key and no token is recognised, and no provider credential opens. It cannot be made again.`,
    remedy: `Copy the file "secret" from the machine of the backup, or from where it is kept, to ${dataDirectory}/secret (mode 0600); or set TURNPIKE_SECRET to it.`,
  };
}

function wrong(source: string): Finding {
  return {
    severity: 'error',
    code: 'secret_wrong',
    subject: source.replace(/^file:/, 'file '),
    message:
      'This secret is not the one that the installation is under: the service does not start with it, no key would be recognised and no provider credential would open.',
    remedy:
      'Put that one in its place: the file "secret" that belongs to this database, or the TURNPIKE_SECRET that it was used with. If this one is to replace it, give that one as TURNPIKE_PREVIOUS_SECRET.',
  };
}

/** Whoever keeps that file beside the backups keeps the wrong secret. */
function checkUnused({ files, dataDirectory }: Facts, { present }: SecretState): Finding[] {
  const path = `${dataDirectory}/secret`;
  if (present !== 'TURNPIKE_SECRET' || !files.some((file) => file.path === path)) return [];
  return [
    {
      severity: 'warning',
      code: 'secret_file_unused',
      subject: `file ${path}`,
      message: 'The secret comes from TURNPIKE_SECRET; the file is not looked at, and may hold another.',
      remedy: `Remove the file once nothing needs what is in it, or leave TURNPIKE_SECRET out.`,
    },
  ];
}

function checkChange(state: SecretState): Finding[] {
  if (state.previous === null) return [];
  const subject = state.previous.replace(/^file:/, 'file ');
  if (state.isUnder === 'previous')
    return [
      {
        severity: 'warning',
        code: 'secret_change_pending',
        subject,
        message:
          'A new secret was put in place and is not in force yet: the installation still is under the one before it. A backup needs both.',
        remedy: 'Restart the service.',
      },
    ];
  if (isPreviousNeeded(state))
    return [
      {
        severity: 'warning',
        code: 'previous_secret_needed',
        subject,
        message: `Not used since the secret was replaced, and so still dependent on the one before it: ${countsInWords(state.onPrevious)}. A backup needs both.`,
        remedy:
          '"turnpike secret status" names them. Each moves when it is used; or replace it. Then "turnpike secret forget-previous".',
      },
    ];
  return [
    {
      severity: 'warning',
      code: 'previous_secret_not_needed',
      subject,
      message: 'Nothing depends on the previous secret any more, and it is still accepted.',
      remedy: state.previous.startsWith('file:')
        ? 'turnpike secret forget-previous'
        : 'Leave TURNPIKE_PREVIOUS_SECRET out at the next start.',
    },
  ];
}

function checkLost({ lost }: SecretState): Finding[] {
  if (lost.keys + lost.tokens === 0) return [];
  return [
    {
      severity: 'warning',
      code: 'hashed_under_lost_secret',
      subject: 'keys and tokens',
      message: `Hashed under a secret that is not here any more, and so refused to whoever shows them: ${countsInWords(lost)}.`,
      remedy: `Give the secret that they were made under as TURNPIKE_PREVIOUS_SECRET, or replace them ("turnpike key rotate", "turnpike token create").`,
    },
  ];
}

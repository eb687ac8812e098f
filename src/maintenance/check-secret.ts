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
  if (secret.is.isUnder === 'another') return [wrong(secret.is.present, facts.postgres !== null)];
  return [
    ...checkUnused(facts, secret.is),
    ...checkChange(secret.is, facts.postgres !== null),
    ...checkLost(secret.is),
  ];
}

/** Where it is not found here, a service that runs has it all the same: from its own environment. */
function missing(facts: Facts, subject: string): Finding {
  const { isLocked, dataDirectory, postgres } = facts;
  if (isLocked || isAnyNodeAlive(facts))
    return {
      severity: 'warning',
      code: 'secret_not_given',
      subject: 'TURNPIKE_SECRET',
      message:
        "The service that runs has the installation's secret from its own environment; here it is not set, so what depends on it was not looked at.",
      remedy: 'Run doctor with the TURNPIKE_SECRET of the service.',
    };
  if (postgres !== null)
    return {
      severity: 'error',
      code: 'secret_missing',
      subject: 'TURNPIKE_SECRET',
      message: `The installation's secret is not given: TURNPIKE_SECRET is not set, and with PostgreSQL no file has it. ${WITHOUT_IT}`,
      remedy: 'Set TURNPIKE_SECRET to the secret that the nodes had, which is kept beside the backups.',
    };
  return {
    severity: 'error',
    code: 'secret_missing',
    subject,
    message: `The installation's secret is missing: there is no file ${dataDirectory}/secret, and TURNPIKE_SECRET is not set. ${WITHOUT_IT}`,
    remedy: `Copy the file "secret" from the machine of the backup, or from where it is kept, to ${dataDirectory}/secret (mode 0600); or set TURNPIKE_SECRET to it.`,
  };
}

const WITHOUT_IT =
  'Without it the service does not start: no key and no token is recognised, and no provider credential opens. It cannot be made again.';

function isAnyNodeAlive({ postgres }: Facts): boolean {
  const tables = postgres?.tables ?? null;
  return tables !== null && 'is' in tables && tables.is.nodes.alive > 0;
}

function wrong(source: string, isShared: boolean): Finding {
  return {
    severity: 'error',
    code: 'secret_wrong',
    subject: source.replace(/^file:/, 'file '),
    message:
      'This secret is not the one that the installation is under: the service does not start with it, no key would be recognised and no provider credential would open.',
    remedy: isShared
      ? 'Set TURNPIKE_SECRET to the one that its nodes have; another installation needs a database of its own. If this one is to replace it, give that one as TURNPIKE_PREVIOUS_SECRET.'
      : 'Put that one in its place: the file "secret" that belongs to this database, or the TURNPIKE_SECRET that it was used with. If this one is to replace it, give that one as TURNPIKE_PREVIOUS_SECRET.',
  };
}

/** Whoever keeps that file beside the backups keeps the wrong secret. */
function checkUnused({ files, dataDirectory, postgres }: Facts, { present }: SecretState): Finding[] {
  const path = `${dataDirectory}/secret`;
  if (postgres !== null || present !== 'TURNPIKE_SECRET' || !files.some((file) => file.path === path)) return [];
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

function checkChange(state: SecretState, isShared: boolean): Finding[] {
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
        remedy: isShared
          ? 'Restart the nodes one by one, the first of which brings it into force.'
          : 'Restart the service.',
      },
    ];
  if (state.credentialsOnPrevious > 0)
    return [
      {
        severity: 'warning',
        code: 'previous_secret_needed',
        subject,
        message: `Credentials of providers are still sealed under the one before it (${state.credentialsOnPrevious}): a node that was not yet restarted was given them. Without that secret no node starts.`,
        remedy: 'Restart any node that has both secrets: it seals them anew.',
      },
    ];
  if (isPreviousNeeded(state))
    return [
      {
        severity: 'warning',
        code: 'previous_secret_needed',
        subject,
        message: `Not used since the secret was replaced, and so still dependent on the one before it: ${countsInWords(state.onPrevious)}. A backup needs both.`,
        remedy: isShared
          ? '"turnpike secret status" names them. Each moves when it is used; or replace it. Then leave TURNPIKE_PREVIOUS_SECRET out.'
          : '"turnpike secret status" names them. Each moves when it is used; or replace it. Then "turnpike secret forget-previous".',
      },
    ];
  return [
    {
      severity: 'warning',
      code: 'previous_secret_not_needed',
      subject,
      message: isShared
        ? 'Nothing depends on the previous secret, and it is accepted.'
        : 'Nothing depends on the previous secret any more, and it is still accepted.',
      remedy: remedyForUnneeded(state.previous, isShared),
    },
  ];
}

function remedyForUnneeded(previous: string, isShared: boolean): string {
  if (previous.startsWith('file:')) return 'turnpike secret forget-previous';
  const leave = 'Leave TURNPIKE_PREVIOUS_SECRET out at the next start';
  return isShared ? `${leave}; or, if it is the one to come and all nodes accept it, exchange the two.` : `${leave}.`;
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

// The service itself: whether one runs on the directory, answers, is ready, and can be found by the commands.

import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config.ts';
import type { Facts } from './facts.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export function checkService(facts: Facts): Finding[] {
  return [...checkRunning(facts), ...checkAnswers(facts), ...checkProviders(facts), ...checkCertificate(facts)];
}

/** Whether any node of a database is alive, its leases tell. */
function checkRunning({ isLocked, operatorFile, service, database, dataDirectory, postgres }: Facts): Finding[] {
  const subject = `file ${dataDirectory}/operator.json`;
  if (isLocked && (operatorFile === null || 'failure' in operatorFile))
    return [
      {
        severity: 'warning',
        code: 'operator_file_missing',
        subject,
        message: `A service runs on the directory, but ${operatorFile === null ? 'the file is not there' : `the file cannot be read (${operatorFile.failure})`}: commands do not find it.`,
        remedy: 'Restart the service, which writes it; until then give --url and --token.',
      },
    ];
  if (isLocked || database === null) return [];
  const stale: Finding[] =
    operatorFile === null
      ? []
      : [
          {
            severity: 'warning',
            code: 'operator_file_stale',
            subject,
            message:
              'It was left by a service that did not end in order (it was killed, or the machine went down): it leads nowhere.',
            remedy: 'Start the service: it ends the holds of that run and writes the file anew.',
          },
        ];
  if (postgres !== null || service.foundBy === 'flag' || service.foundBy === 'environment') return stale;
  return [
    {
      severity: 'warning',
      code: 'service_not_running',
      subject: `directory ${dataDirectory}`,
      message: 'No service runs on this data directory.',
      remedy: 'turnpike serve',
    },
    ...stale,
  ];
}

function checkAnswers({ service, isLocked }: Facts): Finding[] {
  const { url, health, ready, token, foundBy } = service;
  if (url === null || (foundBy === 'operator file' && !isLocked)) return [];
  const subject = `service ${url}`;
  if (health !== 200)
    return [
      {
        severity: 'error',
        code: 'service_unreachable',
        subject,
        message: `It does not answer as it should when asked whether it lives (${answerInWords(health)}).`,
        remedy: 'See its log. If it hangs, restart it: what it had acknowledged is on the disk.',
      },
    ];
  const findings: Finding[] = [];
  if (ready !== 200)
    findings.push({
      severity: 'error',
      code: 'service_not_ready',
      subject,
      message: `It lives and is not ready (${answerInWords(ready)}): it is shutting down, or its store does not answer.`,
      remedy: "Wait where it was told to stop; else see its log for the store's failure (disk full, file system gone).",
    });
  if (token !== null && token !== 200)
    findings.push({
      severity: 'warning',
      code: 'token_refused',
      subject,
      message: `Its admin API does not take the token that commands here would show (${answerInWords(token)}).`,
      remedy: 'Give a token that is valid (--token, TURNPIKE_TOKEN), or leave it out on the machine of the service.',
    });
  return findings;
}

function checkProviders({ service }: Facts): Finding[] {
  return service.providersDown.map(({ name, last_success_at: lastSuccessAt }) => ({
    severity: 'warning',
    code: 'provider_down',
    subject: `provider ${name}`,
    message: `Its last attempts failed; it last worked ${lastSuccessAt === null ? 'before this run of the service, if ever' : `at ${lastSuccessAt}`}. Messages go to other routes, or fail.`,
    remedy: `"turnpike provider test ${name}" says why.`,
  }));
}

function checkCertificate({ service, nowMs }: Facts): Finding[] {
  const { certificateEndsAtMs: endsAtMs, url } = service;
  if (endsAtMs === null || endsAtMs - nowMs > bounds.certificateWarningMs) return [];
  const days = Math.floor((endsAtMs - nowMs) / DAY_MS);
  return [
    {
      severity: days < 0 ? 'error' : 'warning',
      code: 'certificate_ends',
      subject: `service ${url}`,
      message:
        days < 0
          ? `Its TLS certificate ended on ${new Date(endsAtMs).toISOString()}: clients refuse to talk to it.`
          : `Its TLS certificate ends on ${new Date(endsAtMs).toISOString()}, in ${days} days.`,
      remedy: 'Put a new certificate in its place.',
    },
  ];
}

function answerInWords(answer: number | string | null): string {
  if (answer === null) return 'it was not asked';
  return typeof answer === 'number' ? `status ${answer}` : answer;
}

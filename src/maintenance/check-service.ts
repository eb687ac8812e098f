// Checks the service: that it runs, answers and is ready, that commands find it, and how it is (or would be) started.

import { isInRanges, parseAddress, parseRange } from '../base/addresses.ts';
import { DEFAULT_SETTINGS } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { error, type Facts, type Findings, failureOf, known, warning } from './facts.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const FILES_PER_MESSAGE = 2; // the client's connection and the provider's
const OTHER_FILES = 100;
const LOOPBACK = ['127.0.0.0/8', '::1/128'].map(parseRange).filter((range) => range !== null);

export function* checkService(facts: Facts): Findings {
  yield* checkRunning(facts);
  yield* checkResponses(facts);
  const { providersDown, certificateEndsAtMs: endsAtMs, url } = facts.service;
  for (const { name, last_success_at: lastSuccessAt } of providersDown)
    yield warning('provider_down', `provider ${name}`, {
      message: `The last attempts at it failed; the last success was ${lastSuccessAt === null ? 'before the service started, if ever' : `at ${lastSuccessAt}`}. Messages use other routes or fail.`,
      remedy: `"turnpike provider test ${name}" shows the reason.`,
    });
  if (endsAtMs === null || endsAtMs - facts.nowMs > bounds.certificateWarningMs) return;
  const days = Math.floor((endsAtMs - facts.nowMs) / DAY_MS);
  const endsAt = new Date(endsAtMs).toISOString();
  yield (days < 0 ? error : warning)('certificate_ends', `service ${url}`, {
    message:
      days < 0
        ? `Its TLS certificate expired on ${endsAt}: clients refuse to connect.`
        : `Its TLS certificate expires on ${endsAt}, in ${days} days.`,
    remedy: 'Replace the certificate.',
  });
}

/** With PostgreSQL, the leases show which nodes run (check-database.ts). */
function* checkRunning({ isLocked, operatorFile, service, database, dataDirectory, postgres }: Facts): Findings {
  const subject = `file ${dataDirectory}/operator.json`;
  if (isLocked && known(operatorFile) === null)
    yield warning('operator_file_missing', subject, {
      message: `A service runs on the directory, but ${operatorFile === null ? 'the file is missing' : `the file cannot be read (${failureOf(operatorFile)})`}: commands cannot find it.`,
      remedy: 'Restart the service, which writes the file; until then use --url and --token.',
    });
  if (isLocked || database === null) return;
  if (postgres === null && service.foundBy !== 'flag' && service.foundBy !== 'environment')
    yield warning('service_not_running', `directory ${dataDirectory}`, {
      message: 'No service runs on this data directory.',
      remedy: 'turnpike serve',
    });
  if (operatorFile !== null)
    yield warning('operator_file_stale', subject, {
      message: 'It was left by a service that was killed or whose machine failed: no service responds at its address.',
      remedy: 'Start the service: it releases the holds of that run and rewrites the file.',
    });
}

function* checkResponses({ service, isLocked }: Facts): Findings {
  const { url, health, ready, token, foundBy } = service;
  if (url === null || (foundBy === 'operator file' && !isLocked)) return;
  const subject = `service ${url}`;
  if (health !== 200) {
    yield error('service_unreachable', subject, {
      message: `Its health check fails (/healthz: ${describeResponse(health)}).`,
      remedy: 'See its log. If it hangs, restart it: everything that it acknowledged is on disk.',
    });
    return;
  }
  if (ready !== 200)
    yield error('service_not_ready', subject, {
      message: `It is not ready (/readyz: ${describeResponse(ready)}): it is shutting down, or its store is unavailable.`,
      remedy:
        "If it is shutting down, wait; otherwise see its log for the store's failure (disk full, file system unavailable).",
    });
  if (token !== null && token !== 200)
    yield warning('token_refused', subject, {
      message: `Its admin API rejects the token that commands use here (${describeResponse(token)}).`,
      remedy: 'Use a valid token (--token, TURNPIKE_TOKEN), or leave it out on the machine of the service.',
    });
}

function describeResponse(response: number | string | null): string {
  if (response === null) return 'no request was sent';
  return typeof response === 'number' ? `status ${response}` : response;
}

/** The settings, the address that the service listens on, and the limit of open files. */
export function* checkProcess({
  settingFaults,
  operatorFile,
  isLocked,
  listen,
  openFilesMax,
  catalog,
}: Facts): Findings {
  for (const fault of settingFaults)
    yield error('setting_wrong', /^[\w-]+/.exec(fault)?.[0] ?? 'settings', {
      message: `${fault}. The service does not start with this setting.`,
      remedy: 'Correct or remove it: docs/configuration.md lists all settings.',
    });
  const running = isLocked ? known(operatorFile) : null;
  const hostname = running?.listen?.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') ?? listen.hostname;
  if (!running?.url.startsWith('https:') && !isLoopback(hostname))
    yield warning('listens_without_tls', `address ${hostname}`, {
      message:
        'The service accepts connections from other machines without TLS: unless a proxy in front of it terminates TLS, keys and messages are sent in plain text.',
      remedy:
        'Give it a certificate (--tls-certificate, --tls-key), or let only a proxy that terminates TLS connect to it.',
    });
  const { shedOpenMessages } = known(catalog?.catalog)?.settings ?? DEFAULT_SETTINGS;
  const needed = shedOpenMessages * FILES_PER_MESSAGE + OTHER_FILES;
  if (openFilesMax === null || openFilesMax >= needed) return;
  yield warning('open_files_low', 'limit of open files', {
    message: `A process here may open ${openFilesMax} files and connections; the ${shedOpenMessages} concurrent messages that the setting shed_open_messages allows need ${needed}. Beyond the limit, connections are refused without a response.`,
    remedy: `Raise the limit where the service is started ("ulimit -n ${needed}", LimitNOFILE=${needed} of systemd), or lower shed_open_messages to ${Math.max(1, Math.floor((openFilesMax - OTHER_FILES) / FILES_PER_MESSAGE))}.`,
  });
}

function isLoopback(hostname: string): boolean {
  const address = parseAddress(hostname);
  return hostname === 'localhost' || (address !== null && isInRanges(address, LOOPBACK));
}

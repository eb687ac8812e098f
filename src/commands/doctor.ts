// `turnpike doctor`: reports what is wrong with an installation, what that means and what to do. It works whether the
// service runs or not, and reports broken parts instead of failing on them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { parseTimeMs, parseWholeNumber } from '../base/checked-number.ts';
import { bounds, type Config } from '../config/config.ts';
import { type Command, clientFlags, type Finding, type ServiceFacts, storeFlags } from './command.ts';
import { storeOf, textFlag } from './flags.ts';

interface ServiceAddress {
  url: string;
  token: string | null;
  foundBy: Exclude<ServiceFacts['foundBy'], null>;
}

export const doctor: Command = {
  name: 'doctor',
  summary: 'Report problems with this installation and how to fix them; exits 1 when there is an error',
  flags: { ...clientFlags, ...storeFlags },
  async run({ flags, world, json }) {
    const [url, token] = [textFlag(flags, 'url'), textFlag(flags, 'token')];
    const { config, faults } = await world.inspectConfig(storeOf(flags));
    const service = await probeService(config, { url, token });
    const { findings, notes, place } = await (await world.maintain()).diagnose(config, faults, service);
    if (json) await world.write(`${JSON.stringify(findings, null, 2)}\n`);
    else if (findings.length === 0) await world.write(`No problems found in ${place}.\n`);
    else await world.write(`${findings.map(paragraph).join('\n\n')}\n`);
    for (const note of notes) await world.writeError(`${note}\n`);
    return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
  },
};

/** Removes control characters of terminals: names in a finding are chosen by others. */
function paragraph({ severity, code, subject, message, remedy }: Finding): string {
  const lines = [`${severity}: ${subject} (${code})`, `  ${message}`, `  Remedy: ${remedy}`];
  return lines.map((line) => line.replace(/\p{Cc}+/gu, ' ')).join('\n');
}

/** Finds the service as the other commands do, and requests its health. Never rejects: a failure is a finding. */
async function probeService(
  config: Readonly<Config>,
  flags: { url: string | undefined; token: string | undefined },
): Promise<ServiceFacts> {
  const address = await findService(config, flags);
  if (address === null)
    return {
      url: null,
      foundBy: null,
      health: null,
      ready: null,
      token: null,
      providersDown: [],
      certificateEndsAtMs: null,
    };
  const { url, token, foundBy } = address;
  const isLocal = foundBy === 'operator file';
  const [health, ready, tokenStatus, certificateEndsAtMs] = await Promise.all([
    readStatus(`${url}/healthz`, isLocal),
    readStatus(`${url}/readyz`, isLocal),
    token === null ? null : readStatus(`${url}/api/v1/me`, isLocal, token),
    url.startsWith('https:') ? readCertificateEnd(new URL(url)) : null,
  ]);
  const providersDown = token !== null && tokenStatus === 200 ? await readProvidersDown(url, isLocal, token) : [];
  return { url, foundBy, health, ready, token: tokenStatus, providersDown, certificateEndsAtMs };
}

async function findService(
  config: Readonly<Config>,
  flags: { url: string | undefined; token: string | undefined },
): Promise<ServiceAddress | null> {
  const token = flags.token ?? config.adminToken;
  const given = flags.url ?? config.adminUrl;
  // The local token is never sent to an address from elsewhere.
  if (given !== null)
    return {
      url: given.replace(/\/+$/, ''),
      token,
      foundBy: flags.url === undefined ? 'environment' : 'flag',
    };
  try {
    const local = JSON.parse(
      await readFile(join(config.dataDirectory, 'operator.json'), 'utf8'),
    ) as Partial<ServiceAddress>;
    if (typeof local.url !== 'string' || typeof local.token !== 'string') return null;
    return { url: local.url, token: token ?? local.token, foundBy: 'operator file' };
  } catch {
    return null; // the checks of the data directory report a missing or damaged file
  }
}

/** The status of the response, or the reason why there is none. */
async function readStatus(url: string, isLocal: boolean, token?: string): Promise<number | string> {
  try {
    const answer = await get(url, isLocal, token);
    await answer.body?.cancel();
    return answer.status;
  } catch (thrown) {
    const { name, message } = thrown as Error;
    return name === 'TimeoutError' ? `no response within ${bounds.doctorAnswerWaitMs / 1000} seconds` : message;
  }
}

/** None where this token may not list providers: that is no fault of the installation. */
async function readProvidersDown(url: string, isLocal: boolean, token: string): Promise<ServiceFacts['providersDown']> {
  try {
    const answer = await get(`${url}/api/v1/providers?limit=${bounds.pageItemsMax}`, isLocal, token);
    const { data } = (await answer.json()) as {
      data?: { name: string; health: { state: string; last_success_at: string | null } }[];
    };
    return (data ?? [])
      .filter(({ health }) => health.state === 'down')
      .map(({ name, health }) => ({ name, last_success_at: health.last_success_at }));
  } catch {
    return [];
  }
}

/** The certificate of a service on this machine may have any name. */
function get(url: string, isLocal: boolean, token?: string): Promise<Response> {
  return fetch(url, {
    redirect: 'manual',
    signal: AbortSignal.timeout(bounds.doctorAnswerWaitMs),
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    ...(isLocal && { tls: { rejectUnauthorized: false } }),
  });
}

/** When the certificate of the server expires; null without one. */
function readCertificateEnd({ hostname, port }: URL): Promise<number | null> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({ host, port: parseWholeNumber(port) ?? 443, rejectUnauthorized: false }, () => {
      resolve(parseTimeMs(socket.getPeerCertificate().valid_to));
      socket.destroy();
    });
    const giveUp = () => {
      resolve(null);
      socket.destroy();
    };
    socket.on('error', giveUp);
    socket.setTimeout(bounds.doctorAnswerWaitMs, giveUp);
  });
}

// Asks a service how it is, for the doctor: whatever goes wrong is an answer, too.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { bounds, type Config } from '../config.ts';
import type { ServiceFacts } from './maintenance.ts';

interface Place {
  url: string;
  token: string | null;
  foundBy: Exclude<ServiceFacts['foundBy'], null>;
}

/** Finds the service by flag, environment or the file that it left in the data directory, and asks it. Never rejects. */
export async function askService(
  config: Readonly<Config>,
  flags: { url: string | undefined; token: string | undefined },
): Promise<ServiceFacts> {
  const place = await findPlace(config, flags);
  if (place === null)
    return {
      url: null,
      foundBy: null,
      health: null,
      ready: null,
      token: null,
      providersDown: [],
      certificateEndsAtMs: null,
    };
  const { url, token, foundBy } = place;
  const isLocal = foundBy === 'operator file';
  const [health, ready, tokenAnswer, certificateEndsAtMs] = await Promise.all([
    statusOf(`${url}/healthz`, isLocal),
    statusOf(`${url}/readyz`, isLocal),
    token === null ? null : statusOf(`${url}/api/v1/me`, isLocal, token),
    url.startsWith('https:') ? readCertificateEnd(new URL(url)) : null,
  ]);
  const providersDown = token !== null && tokenAnswer === 200 ? await readProvidersDown(url, isLocal, token) : [];
  return { url, foundBy, health, ready, token: tokenAnswer, providersDown, certificateEndsAtMs };
}

async function findPlace(
  config: Readonly<Config>,
  flags: { url: string | undefined; token: string | undefined },
): Promise<Place | null> {
  const token = flags.token ?? config.adminToken;
  const given = flags.url ?? config.adminUrl;
  // The local token is not sent to an address that someone else named.
  if (given !== null)
    return {
      url: given.replace(/\/+$/, ''),
      token,
      foundBy: flags.url === undefined ? 'environment' : 'flag',
    };
  try {
    const local = JSON.parse(await readFile(join(config.dataDirectory, 'operator.json'), 'utf8')) as Partial<Place>;
    if (typeof local.url !== 'string' || typeof local.token !== 'string') return null;
    return { url: local.url, token: token ?? local.token, foundBy: 'operator file' };
  } catch {
    return null; // that it is not there, or damaged, is found where the data directory is looked at
  }
}

/** The status of an answer, or why there was none. */
async function statusOf(url: string, isLocal: boolean, token?: string): Promise<number | string> {
  try {
    const answer = await get(url, isLocal, token);
    await answer.body?.cancel();
    return answer.status;
  } catch (thrown) {
    const { name, message } = thrown as Error;
    return name === 'TimeoutError' ? `no answer within ${bounds.doctorAnswerWaitMs / 1000} seconds` : message;
  }
}

/** None where it does not tell, or not to this token: what a role may see is no fault of an installation. */
async function readProvidersDown(url: string, isLocal: boolean, token: string): Promise<ServiceFacts['providersDown']> {
  try {
    const answer = await get(`${url}/api/v1/providers?limit=${bounds.pageItemsMax}`, isLocal, token);
    const { data } = (await answer.json()) as {
      data?: { name: string; health: { up: boolean; last_success_at: string | null } | null }[];
    };
    return (data ?? [])
      .filter(({ health }) => health?.up === false)
      .map(({ name, health }) => ({ name, last_success_at: health?.last_success_at ?? null }));
  } catch {
    return [];
  }
}

/** A certificate of this machine may have any name. */
function get(url: string, isLocal: boolean, token?: string): Promise<Response> {
  return fetch(url, {
    redirect: 'manual',
    signal: AbortSignal.timeout(bounds.doctorAnswerWaitMs),
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    ...(isLocal && { tls: { rejectUnauthorized: false } }),
  });
}

/** When the certificate that is shown there ends; null where none can be had. */
function readCertificateEnd({ hostname, port }: URL): Promise<number | null> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false }, () => {
      const endsAtMs = Date.parse(socket.getPeerCertificate().valid_to);
      resolve(Number.isNaN(endsAtMs) ? null : endsAtMs);
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

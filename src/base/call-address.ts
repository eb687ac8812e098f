// The only place that calls addresses that customers chose. Connects to the address that was checked, and follows no redirect.

import { isPrivateAddress } from './addresses.ts';
import { parseWholeNumber } from './checked-number.ts';

/** A request, of any method. */
export interface HttpRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  body: string | Uint8Array<ArrayBuffer> | null;
}

export interface HttpOptions {
  lookup(hostname: string): Promise<readonly string[]>;
  /** Private addresses, http and any port are allowed. */
  isPrivateAllowed: boolean;
  /** http is allowed, too. Absent: only with private addresses. */
  isPlainAllowed?: boolean;
  /** Certificates to trust besides the system's, for tests. */
  ca?: string;
}

/** Why a URL may not be sent to, whatever its name resolves to; null: it may. Throws nothing. */
export function findAddressFault(
  text: string,
  { isPrivateAllowed, isPlainAllowed = false }: Pick<HttpOptions, 'isPrivateAllowed' | 'isPlainAllowed'>,
): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be a URL that begins with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.hash !== '') return 'must not have a fragment (#…)';
  if (isPrivateAllowed) return null;
  const isPlain = url.protocol === 'http:';
  if (isPlain && !isPlainAllowed) return 'must begin with https://';
  const usualPort = isPlain ? 80 : 443;
  const port = url.port === '' ? usualPort : (parseWholeNumber(url.port) ?? 0);
  if (port !== usualPort && port < 1024) return `must have the port ${usualPort} or one from 1024 on`;
  if (isPrivateAddress(url.hostname) || isLocalName(url.hostname)) return PRIVATE;
  return null;
}

/** For an address that never leads to the internet. */
const PRIVATE = 'must not be private';

/** Names that never lead to the internet. */
function isLocalName(hostname: string): boolean {
  return /(^|\.)(localhost|local|internal|home\.arpa)\.?$/i.test(hostname) || !/[.:]/.test(hostname);
}

/**
 * Sends one request to the address that was checked. The caller reads the body, within a bound. Rejects as `fetch` does, and when the
 * signal is aborted.
 */
export async function callAddress(
  request: HttpRequest,
  options: HttpOptions,
  signal: AbortSignal,
): Promise<{ response: Response } | { error: string }> {
  const fault = findAddressFault(request.url, options);
  if (fault !== null) return { error: `the URL ${fault}` };
  const address = await resolve(new URL(request.url).hostname, options, signal);
  return 'error' in address ? address : { response: await send(request, address.ip, signal, options.ca) };
}

/** One address of the host. If one of them is private, all are refused: which one is connected to must not be chance. */
async function resolve(
  hostname: string,
  { lookup, isPrivateAllowed }: HttpOptions,
  signal: AbortSignal,
): Promise<{ ip: string } | { error: string }> {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  const isLiteral = /^[\d.]+$/.test(bare) || bare.includes(':');
  let found: readonly string[];
  try {
    found = isLiteral ? [bare] : await Promise.race([lookup(bare), whenAborted(signal)]);
  } catch {
    return { error: signal.aborted ? 'the name was not resolved in time' : 'the name of the host cannot be resolved' };
  }
  if (!isPrivateAllowed && found.some(isPrivateAddress)) return { error: 'the host has a private address' };
  const ip = found.find((address) => !address.includes(':')) ?? found[0];
  return ip === undefined ? { error: 'the name of the host cannot be resolved' } : { ip };
}

export function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

/** The name stays in `host` and in the certificate's check; the connection goes to the address. */
function send(request: HttpRequest, ip: string, signal: AbortSignal, ca: string | undefined): Promise<Response> {
  const url = new URL(request.url);
  const { host, hostname } = url;
  url.hostname = ip.includes(':') ? `[${ip}]` : ip;
  const settings: BunFetchRequestInit & { timeout: false } = {
    method: request.method,
    headers: { ...request.headers, host, 'accept-encoding': 'identity' },
    body: request.body,
    signal,
    redirect: 'manual',
    keepalive: false, // a kept connection would be to whatever the name meant before
    proxy: '',
    timeout: false,
    ...(url.protocol === 'https:' && { tls: { serverName: hostname, ...(ca !== undefined && { ca }) } }),
  };
  return fetch(url, settings);
}

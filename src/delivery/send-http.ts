// The only place that calls addresses that customers chose. Connects to the address that was checked, follows no
// redirect, and reads no more of an answer than its beginning.

import { isPrivateAddress } from '../base/addresses.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';

export interface HttpMessage {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** A request other than a POST of a text. */
export interface HttpRequest extends Omit<HttpMessage, 'body'> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  body: string | Uint8Array<ArrayBuffer> | null;
}

/** The result of one attempt. Never has the address of a host that the receiver's owner does not know. */
export interface SendResult {
  ms: number;
  /** Status of the answer; null: none, or no HTTP. */
  status: number | null;
  /** Why it failed; null: it succeeded. */
  error: string | null;
  excerpt: string | null;
  /** The receiver wants no more of it: there is no further attempt. */
  isGone: boolean;
}

export interface HttpOptions {
  lookup(hostname: string): Promise<readonly string[]>;
  /** Private addresses, http and any port are allowed. */
  isPrivateAllowed: boolean;
  msMax?: number;
  /** Certificates to trust besides the system's, for tests. */
  ca?: string;
}

/** Why a URL may not be sent to, whatever its name resolves to; null: it may. Throws nothing. */
export function findUrlFault(text: string, isPrivateAllowed: boolean): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be a URL that begins with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.hash !== '') return 'must not have a fragment (#…)';
  if (isPrivateAllowed) return null;
  if (url.protocol !== 'https:') return 'must begin with https://';
  const port = parseWholeNumber(url.port === '' ? '443' : url.port) ?? 0;
  if (port !== 443 && port < 1024) return 'must have the port 443 or one from 1024 on';
  if (isPrivateAddress(url.hostname) || isLocalName(url.hostname)) return PRIVATE;
  return null;
}

export const PRIVATE =
  'must be reachable from the internet: private addresses are refused (setting webhook_private_network)';

/** Names that never lead to the internet. */
function isLocalName(hostname: string): boolean {
  return /(^|\.)(localhost|local|internal|home\.arpa)\.?$/i.test(hostname) || !/[.:]/.test(hostname);
}

/** Sends one POST. Never rejects, and ends within a bound. */
export async function postTo(message: HttpMessage, options: HttpOptions): Promise<SendResult> {
  const startedMs = performance.now();
  const ended = (result: Partial<SendResult>): SendResult => ({
    ms: Math.round(performance.now() - startedMs),
    status: null,
    error: null,
    excerpt: null,
    isGone: false,
    ...result,
  });
  const signal = AbortSignal.timeout(options.msMax ?? bounds.deliveryMsMax);
  try {
    const called = await callAddress({ ...message, method: 'POST' }, options, signal);
    if ('error' in called) return ended(called);
    const { response } = called;
    const excerpt = await readExcerpt(response, signal);
    const { status } = response;
    if (status >= 200 && status < 300) return ended({ status });
    const error = status >= 300 && status < 400 ? `redirects are not followed (${status})` : `answered ${status}`;
    return ended({ status, error, excerpt, isGone: status === 410 });
  } catch (thrown) {
    return ended({ error: signal.aborted ? 'no answer in time' : describeFault(thrown) });
  }
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
  const fault = findUrlFault(request.url, options.isPrivateAllowed);
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

function whenAborted(signal: AbortSignal): Promise<never> {
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

/** Reads a bounded beginning and drops the rest. */
async function readExcerpt(response: Response, signal: AbortSignal): Promise<string | null> {
  const reader = response.body?.getReader();
  if (reader === undefined) return null;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    while (bytes < bounds.deliveryAnswerBytesMax) {
      const { done, value } = await Promise.race([reader.read(), whenAborted(signal)]);
      if (done) break;
      chunks.push(value.subarray(0, bounds.deliveryAnswerBytesMax - bytes));
      bytes += value.byteLength;
    }
  } catch {
    // The status is known; the rest of the body does not matter.
  }
  reader.cancel().catch(() => {});
  return excerptOf(Buffer.concat(chunks).toString());
}

/** The beginning of a body, of about this many bytes; the rest is not read. */
export async function readStart(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes >= bytesMax) break;
  }
  return Buffer.concat(chunks).toString();
}

/** Printable, and short. Null when nothing is left. */
export function excerptOf(text: string): string | null {
  const plain = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return plain === '' ? null : [...plain].slice(0, bounds.deliveryExcerptCharactersMax).join('');
}

export function describeFault(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  if (/CERT|TLS|SSL|ALTNAME|SIGNED/i.test(code)) return `the certificate is not valid (${code})`;
  return `the connection failed${code === '' ? '' : ` (${code})`}`;
}

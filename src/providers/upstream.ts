// The one place that fetches. It follows no redirect and sets no time limit of its own: only the
// attempt's signal bounds a call, because only the gateway knows what progress is.

import { ProviderFault } from './provider.ts';

export interface UpstreamCall {
  url: string;
  headers: Record<string, string>;
  /** Null: nothing is posted, the address is read. */
  body: string | null;
  signal: AbortSignal;
}

// A connection that the upstream closed while it idled fails within a round trip. A failure that comes
// later may have been work that was begun, which must not be done twice.
const STALE_CONNECTION_MS_MAX = 500;
const STALE_CONNECTION_CODES: readonly unknown[] = ['ECONNRESET', 'EPIPE', 'ConnectionClosed'];

/**
 * Has the runtime make its thread for outgoing requests, which it else makes at the first of them: where no
 * file can be opened any more by then, that ends the process. Nothing is sent.
 */
export async function prepareFetching(): Promise<void> {
  await fetch('http://localhost/', { unix: '/dev/null/leads-nowhere' }).catch(() => {}); // it fails, as it should
}

/**
 * Sends, and resolves when the head of an answer has come, whatever its status but a redirect. The caller
 * owns the body: it reads it to its end or cancels it. Retried once, on a new connection, when a kept one
 * was found closed; never after a byte of an answer's body. Throws ProviderFault (failed, timeout, aborted).
 */
export async function fetchUpstream(call: UpstreamCall): Promise<Response> {
  const startedMs = performance.now();
  try {
    return await send(call, true);
  } catch (thrown) {
    if (!isStaleConnection(thrown, startedMs) || call.signal.aborted) throw upstreamFault(thrown, call.signal);
  }
  try {
    return await send(call, false);
  } catch (thrown) {
    throw upstreamFault(thrown, call.signal);
  }
}

async function send(call: UpstreamCall, keepalive: boolean): Promise<Response> {
  const { url, headers, body, signal } = call;
  const settings: BunFetchRequestInit & { timeout: false } = {
    method: body === null ? 'GET' : 'POST',
    headers: { ...headers, 'accept-encoding': 'identity' },
    body,
    signal,
    keepalive,
    redirect: 'manual',
    timeout: false,
  };
  const response = await fetch(url, settings);
  if (response.status < 300 || response.status > 399) return response;
  await cancelBody(response);
  // Not followed: the address is the operator's, and the credential goes nowhere else.
  throw new ProviderFault('failed', `the provider answered with a redirect (${response.status})`, {
    status: response.status,
  });
}

function isStaleConnection(thrown: unknown, startedMs: number): boolean {
  return STALE_CONNECTION_CODES.includes(errorCode(thrown)) && performance.now() - startedMs <= STALE_CONNECTION_MS_MAX;
}

function errorCode(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
}

/** What fetching or reading threw, as a ProviderFault. */
export function upstreamFault(thrown: unknown, signal: AbortSignal): ProviderFault {
  if (thrown instanceof ProviderFault) return thrown;
  if (signal.aborted) return new ProviderFault('aborted', 'aborted by this service', { cause: thrown });
  const code = errorCode(thrown);
  const kind = code === 'ETIMEDOUT' ? 'timeout' : 'failed';
  return new ProviderFault(kind, `the provider could not be reached or broke off (${String(code ?? 'no code')})`, {
    cause: thrown,
  });
}

/**
 * The text of a body, or null when it has more bytes; the rest of it is then cancelled. With `msMax` what
 * has come by then is all of it. Throws ProviderFault (failed, aborted) when it breaks off.
 */
export async function readBounded(
  response: Response,
  bytesMax: number,
  signal: AbortSignal,
  msMax: number | null = null,
): Promise<string | null> {
  try {
    if (msMax === null && announcesAtMost(response, bytesMax)) return await response.text();
    return response.body === null ? '' : await readChunks(response.body.getReader(), bytesMax, msMax);
  } catch (thrown) {
    throw upstreamFault(thrown, signal);
  }
}

/** Whether the runtime itself holds the body to a length within the bound. */
function announcesAtMost(response: Response, bytesMax: number): boolean {
  const bytes = Number(response.headers.get('content-length') ?? Number.NaN);
  return bytes <= bytesMax && !response.headers.has('content-encoding');
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytesMax: number,
  msMax: number | null,
): Promise<string | null> {
  // Cancelled, a read that waits resolves as the end.
  const timer = msMax === null ? undefined : setTimeout(() => void reader.cancel().catch(() => undefined), msMax);
  try {
    const decoder = new TextDecoder();
    let text = '';
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.length;
      if (bytes > bytesMax) break;
      text += decoder.decode(value, { stream: true });
    }
    await reader.cancel();
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** Drops a body that nobody wants, so that the upstream stops sending it. */
export async function cancelBody(response: Response): Promise<void> {
  try {
    await response.body?.cancel();
  } catch {
    // It had broken off already: nothing is left to stop.
  }
}

// The only place that fetches. Follows no redirects; the gateway alone bounds a call, by the attempt's signal.

import { connect } from 'node:net';
import { parseDigits, parseWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import type { StreamedBody } from './form-body.ts';
import { ProviderFault } from './provider.ts';

/** The fault of an error response. Pure. */
export type MapFault = (status: number, headers: Headers, bodyText: string, nowMs: number) => ProviderFault;

export interface UpstreamCall {
  url: string;
  headers: Headers | Record<string, string>;
  /** Absent: POST, or GET without a body. */
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** null sends a GET. Of a streamed body the content type and length are sent, too. */
  body: string | StreamedBody | null;
  signal: AbortSignal;
  /** Absent: an answer of any status is returned. */
  mapFault?: MapFault;
}

// A stale kept-alive connection fails within a round trip. A later failure may follow work that must not be repeated.
const STALE_CONNECTION_MS_MAX = 500;
const STALE_CONNECTION_CODES: readonly unknown[] = ['ECONNRESET', 'EPIPE', 'ConnectionClosed'];

/**
 * Makes the runtime create its thread for outgoing requests now. Creating it at the first request could end the process
 * if no file descriptor is left by then. Sends nothing.
 */
export async function prepareFetching(): Promise<void> {
  await fetch('http://localhost/', { unix: '/dev/null/leads-nowhere' }).catch(() => {}); // it fails, as intended
}

/**
 * Resolves with the head of an answer; never of a redirect, and with `mapFault` only of a 2xx. The caller owns the body
 * and reads it to its end or cancels it. Retries once, on a new connection, if a kept one was closed; never after a byte
 * of an answer's body. Throws ProviderFault (failed, timeout, aborted, or of `mapFault`).
 */
export async function fetchUpstream(call: UpstreamCall): Promise<Response> {
  const startedMs = performance.now();
  let response: Response;
  try {
    response = await send(call, true);
  } catch (thrown) {
    const isStale =
      STALE_CONNECTION_CODES.includes(errorCode(thrown)) && performance.now() - startedMs <= STALE_CONNECTION_MS_MAX;
    if (!isStale || call.signal.aborted) throw upstreamFault(thrown, call.signal);
    response = await send(call, false).catch((again) => {
      throw upstreamFault(again, call.signal);
    });
  }
  if (response.ok) return response;
  const { status } = response;
  if (status >= 300 && status <= 399) {
    await cancelBody(response);
    // Not followed: the address is the operator's, and the credential must not be sent elsewhere.
    throw new ProviderFault('failed', `the provider answered with a redirect (${status})`, { status });
  }
  if (call.mapFault === undefined) return response;
  throw await readFault(response, call.signal, call.mapFault);
}

function send(call: UpstreamCall, keepalive: boolean): Promise<Response> {
  const { url, headers, body, signal } = call;
  const isStreamed = typeof body === 'object' && body !== null;
  const settings: BunFetchRequestInit & { timeout: false } = {
    method: methodOf(call),
    headers: isStreamed ? withBody(headers, body) : headers,
    body: isStreamed ? streamOf(body) : body,
    signal,
    keepalive,
    redirect: 'manual',
    timeout: false,
  };
  return fetch(url, settings);
}

export function methodOf({ method, body }: Pick<UpstreamCall, 'method' | 'body'>): string {
  return method ?? (body === null ? 'GET' : 'POST');
}

function withBody(given: UpstreamCall['headers'], { contentType, bytes }: StreamedBody): Headers {
  const headers = new Headers(given);
  headers.set('content-type', contentType);
  headers.set('content-length', String(bytes));
  return headers;
}

/** Read no faster than it is sent. */
function streamOf(body: StreamedBody): ReadableStream<Uint8Array> {
  const pieces = body.read()[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The fault of an answer that is not 2xx. */
export async function readFault(response: Response, signal: AbortSignal, mapFault: MapFault): Promise<ProviderFault> {
  return mapFault(response.status, response.headers, await readErrorText(response, signal), Date.now());
}

const ERROR_BODY_MS_MAX = 5_000;

/** The text of an error as far as it arrives in time: its status is known and must not be lost. */
async function readErrorText(response: Response, signal: AbortSignal): Promise<string> {
  try {
    return (await readBounded(response, bounds.upstreamErrorBytesMax, ERROR_BODY_MS_MAX)) ?? '';
  } catch (thrown) {
    const fault = upstreamFault(thrown, signal);
    if (fault.kind === 'aborted') throw fault;
    return '';
  }
}

function errorCode(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
}

/** The ProviderFault for an error of fetching or reading. */
export function upstreamFault(thrown: unknown, signal: AbortSignal): ProviderFault {
  if (thrown instanceof ProviderFault) return thrown;
  if (signal.aborted) return new ProviderFault('aborted', 'aborted by this service', { cause: thrown });
  const code = errorCode(thrown);
  const kind = code === 'ETIMEDOUT' ? 'timeout' : 'failed';
  const message = `the provider could not be reached or closed the connection (${String(code ?? 'no code')})`;
  return new ProviderFault(kind, message, { cause: thrown });
}

/**
 * The text of a body; null, after cancelling it, if it has more bytes. With `msMax`, the text received by then. Rejects
 * if the connection breaks or the call is aborted (`upstreamFault`).
 */
export function readBounded(response: Response, bytesMax: number, msMax: number | null = null): Promise<string | null> {
  const bytes = parseWholeNumber(response.headers.get('content-length') ?? '');
  // The runtime bounds the body by its length header.
  const isBounded = bytes !== null && bytes <= bytesMax && !response.headers.has('content-encoding');
  if (msMax === null && isBounded) return response.text();
  if (response.body === null) return Promise.resolve('');
  return readChunks(response.body.getReader(), bytesMax, msMax);
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytesMax: number,
  msMax: number | null,
): Promise<string | null> {
  // Cancelling resolves a pending read as the end.
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

/** Cancels an unwanted body, so that the upstream stops sending. */
export async function cancelBody(response: Response): Promise<void> {
  try {
    await response.body?.cancel();
  } catch {
    // It had already broken off.
  }
}

/** Tests in progress by host and port. Many messages may wait for one host. */
const tries = new Map<string, Promise<boolean>>();

/**
 * False if a connection attempt has no result within `msMax`. True if the connection is refused or the name unknown,
 * because the call itself reports these, and for a provider inside the service.
 */
export function canConnect(baseUrl: string, msMax: number): Promise<boolean> {
  const url = URL.parse(baseUrl);
  if (url === null) return Promise.resolve(true);
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : parseDigits(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const name = `${host} ${port} ${msMax}`;
  const inProgress = tries.get(name);
  if (inProgress !== undefined) return inProgress;
  const begun = tryConnecting(host, port, msMax).finally(() => tries.delete(name));
  tries.set(name, begun);
  return begun;
}

function tryConnecting(host: string, port: number, msMax: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (isThere: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isThere);
    };
    const timer = setTimeout(() => end(false), msMax);
    socket.once('connect', () => end(true));
    socket.once('error', () => end(true));
  });
}

// Sends to addresses that customers chose, and reads no more of an answer than its beginning.

import { callAddress, findAddressFault, type HttpOptions, whenAborted } from '../base/call-address.ts';
import { bounds } from '../config/config.ts';

export interface HttpMessage {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Options of a delivery, with a time limit. */
export interface SendOptions extends HttpOptions {
  msMax?: number;
}

export const PRIVATE =
  'must be reachable from the internet: private addresses are refused (setting webhook_private_network)';

/** Why a URL may not be sent to, whatever its name resolves to; null: it may. */
export function findUrlFault(text: string, isPrivateAllowed: boolean): string | null {
  const fault = findAddressFault(text, { isPrivateAllowed });
  return fault === 'must not be private' ? PRIVATE : fault;
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

/** Sends one POST. Never rejects, and ends within a bound. */
export async function postTo(message: HttpMessage, options: SendOptions): Promise<SendResult> {
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

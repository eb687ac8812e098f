// Removes the credential from every fault of a provider, which may repeat it, plain or encoded, in an error or an id.

import type { Secret } from '../secrets/secrets.ts';
import { type OtherReply, ProviderFault, type ProviderReply } from './provider.ts';

const HIDDEN = '[redacted]';
const CREDENTIAL_CHARACTERS_LEAST = 8; // shorter ones are not secrets, and occur in texts by chance

/** The same reply; its ids, and the faults of its events, do not contain the credential. */
export function hideInReply<Reply extends ProviderReply | OtherReply>(reply: Reply, credential: Secret | null): Reply {
  if (credential === null) return reply;
  reply.upstreamRequestId = redactOrNull(reply.upstreamRequestId, credential);
  if (reply.form === 'message') return reply;
  if (reply.form === 'bytes') {
    const { chunks } = reply;
    reply.chunks = { next: () => hiding(chunks.next(), credential) };
    return reply;
  }
  const { events } = reply;
  if (events.mapFaults === undefined) reply.events = { next: () => hiding(events.next(), credential) };
  else events.mapFaults((fault) => redactFault(fault, credential)); // costs nothing per event
  return reply;
}

/** The text without the credential, plain or in base64, also within a longer text. */
export function redactCredential(text: string, credential: Secret | null): string {
  return formsOf(credential).reduce((redacted, form) => redacted.replaceAll(form, HIDDEN), text);
}

/** The same promise; the ProviderFault it rejects with does not contain the credential. */
export function hiding<Value>(promise: Promise<Value>, credential: Secret | null): Promise<Value> {
  if (credential === null) return promise;
  return promise.catch((thrown) => {
    throw hideInFault(thrown, credential);
  });
}

/** The same error; a ProviderFault loses the credential, which learns if the provider refused it. */
export function hideInFault(thrown: unknown, credential: Secret | null): unknown {
  if (!(thrown instanceof ProviderFault) || credential === null) return thrown;
  if (thrown.kind === 'credentials') credential.onRefused();
  return redactFault(thrown, credential);
}

function redactFault(fault: ProviderFault, credential: Secret): ProviderFault {
  const { kind, message, status, retryAfterMs, isUnsupported, usage, cause } = fault;
  const errorType = redactOrNull(fault.errorType, credential);
  const upstreamRequestId = redactOrNull(fault.upstreamRequestId, credential);
  const facts = { status, retryAfterMs, errorType, upstreamRequestId, isUnsupported, usage, cause };
  return new ProviderFault(kind, redactCredential(message, credential), facts);
}

function redactOrNull(text: string | null, credential: Secret): string | null {
  return text === null ? null : redactCredential(text, credential);
}

const formsOfParts = new WeakMap<readonly string[], readonly string[]>();

/** Encoded once for as long as the credential stays the same. */
function formsOf(credential: Secret | null): readonly string[] {
  if (credential === null) return [];
  const parts = credential.parts();
  let forms = formsOfParts.get(parts);
  if (forms === undefined) {
    forms = parts.flatMap((part) => encode(part.trim()));
    formsOfParts.set(parts, forms);
  }
  return forms;
}

function encode(plain: string): string[] {
  if (plain.length < CREDENTIAL_CHARACTERS_LEAST) return [];
  const encoded = [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(plain)]).toString('base64');
    // Characters at both ends also depend on the neighbouring bytes.
    const sure = text.replace(/=+$/, '').slice(Math.ceil((shift * 8) / 6), -1);
    return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [plain, ...new Set(encoded)];
}

// A provider may repeat the credential that it was shown: in an error, in an id, plain or encoded. None
// of that reaches a caller or a log: every fault of a provider passes here.

import type { Secret } from '../secrets/secrets.ts';
import { type EventSource, type Provider, ProviderFault, type ProviderReply } from './provider.ts';

const HIDDEN = '[redacted]';
const CREDENTIAL_CHARACTERS_LEAST = 8; // what is shorter is no secret, and stands in many a text by chance

/** The same provider; what it throws, and the ids that it gives, are without the credential. */
export function hideCredential(provider: Provider): Provider {
  const { probe } = provider;
  return {
    ...provider,
    async submit(attempt) {
      const { credential } = attempt.provider;
      return withoutCredential(await hiding(provider.submit(attempt), credential), credential);
    },
    countTokens: (attempt) => hiding(provider.countTokens(attempt), attempt.provider.credential),
    ...(probe && { probe: (endpoint, signal) => hiding(probe(endpoint, signal), endpoint.credential) }),
  };
}

/** The text without the credential, as it is or in base64, also in the middle of a longer text. */
export function redactCredential(text: string, credential: Secret | null): string {
  return formsOf(credential).reduce((redacted, form) => redacted.replaceAll(form, HIDDEN), text);
}

function withoutCredential(reply: ProviderReply, credential: Secret | null): ProviderReply {
  if (credential === null) return reply;
  const upstreamRequestId = redactOrNull(reply.upstreamRequestId, credential);
  if (reply.form === 'message') return { ...reply, upstreamRequestId };
  const { events } = reply;
  const source: EventSource = { next: () => hiding(events.next(), credential) };
  return { ...reply, events: source, upstreamRequestId };
}

/** The same promise; a ProviderFault that it rejects with is without the credential. */
function hiding<Value>(promise: Promise<Value>, credential: Secret | null): Promise<Value> {
  return credential === null
    ? promise
    : promise.catch((thrown) => {
        throw thrown instanceof ProviderFault ? redactFault(thrown, credential) : thrown;
      });
}

function redactFault(fault: ProviderFault, credential: Secret): ProviderFault {
  const { status, retryAfterMs, cause } = fault;
  return new ProviderFault(fault.kind, redactCredential(fault.message, credential), {
    status,
    retryAfterMs,
    errorType: redactOrNull(fault.errorType, credential),
    upstreamRequestId: redactOrNull(fault.upstreamRequestId, credential),
    cause,
  });
}

function redactOrNull(text: string | null, credential: Secret): string | null {
  return text === null ? null : redactCredential(text, credential);
}

const formsOfCredential = new WeakMap<Secret, readonly string[]>();

/** Encoded once: a catalogue's credentials live as long as it does. */
function formsOf(credential: Secret | null): readonly string[] {
  if (credential === null) return [];
  let forms = formsOfCredential.get(credential);
  if (forms === undefined) {
    forms = encode(credential.reveal().trim());
    formsOfCredential.set(credential, forms);
  }
  return forms;
}

function encode(plain: string): string[] {
  if (plain.length < CREDENTIAL_CHARACTERS_LEAST) return [];
  const encoded = [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(plain)]).toString('base64');
    // The characters at both ends also depend on what stands before and behind.
    const sure = text.replace(/=+$/, '').slice(Math.ceil((shift * 8) / 6), -1);
    return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [plain, ...new Set(encoded)];
}

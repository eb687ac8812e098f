// Tests one provider for its operator, bounded in time. May quote the provider, but never the credential.

import { bounds } from '../config/config.ts';
import { redactCredential } from './hide-credential.ts';
import { UNREAD } from './http-api.ts';
import type { OfferedModel } from './offered-models.ts';
import { type FaultKind, type ProbeReply, type Provider, type ProviderEndpoint, ProviderFault } from './provider.ts';

export interface ProbeResult {
  ok: boolean;
  /** The provider's status; null without a response. */
  status: number | null;
  ms: number;
  fault: Exclude<FaultKind, 'aborted'> | null;
  /** One or two sentences for the operator. */
  message: string;
  /** Number of models for this credential; null if unknown. */
  models: number | null;
}

/** `provider` is the implementation of the endpoint's kind, if any. Never throws: a failure is the result. */
export async function probeProvider(
  provider: Provider | undefined,
  endpoint: ProviderEndpoint,
  msMax: number = bounds.providerProbeMsMax,
): Promise<ProbeResult> {
  const startedMs = performance.now();
  const elapsed = () => Math.round(performance.now() - startedMs);
  if (provider?.probe === undefined) {
    const message = `A provider of the kind "${endpoint.kind}" cannot be tested without a message.`;
    return { ok: false, status: null, ms: elapsed(), fault: 'failed', message, models: null };
  }
  const signal = AbortSignal.timeout(msMax);
  let reply: ProbeReply;
  const failed = (thrown: unknown, wordsOf: typeof wordsOfFault): ProbeResult => {
    const fault = asFault(thrown, msMax);
    const message = shownToOperator(wordsOf(fault, endpoint), endpoint);
    const kind = fault.kind === 'aborted' ? 'timeout' : fault.kind;
    return { ok: false, status: fault.status, ms: elapsed(), fault: kind, message, models: null };
  };
  try {
    reply = await provider.probe(endpoint, signal);
  } catch (thrown) {
    return failed(thrown, wordsOfFault);
  }
  const { status, models, message = wordsOfReply(reply, endpoint) } = reply;
  try {
    const tested = endpoint.batchBucket == null ? undefined : await provider.batches?.probe?.(endpoint, signal);
    const words = tested === undefined ? message : `${message} ${tested}`;
    return { ok: true, status, models, ms: elapsed(), fault: null, message: words };
  } catch (thrown) {
    return failed(thrown, (fault) => `${message} But batch_bucket cannot be used: ${wordsOfBucket(fault)}.`);
  }
}

/** The provider has answered: only the place of its batches is in question. */
function wordsOfBucket({ status, message }: ProviderFault): string {
  const isElsewhere = status !== null && status >= 300 && status < 400;
  return isElsewhere ? `${message}; it may be in another region` : message;
}

/** The provider's models, or why they cannot be read, for the operator; null: the kind has no list. Never throws. */
export async function readOffer(
  provider: Provider | undefined,
  endpoint: ProviderEndpoint,
  msMax: number = bounds.modelListMsMax,
): Promise<readonly OfferedModel[] | string | null> {
  if (provider?.listModels === undefined) return null;
  try {
    return await provider.listModels(endpoint, AbortSignal.timeout(msMax));
  } catch (thrown) {
    return shownToOperator(wordsOfFault(asFault(thrown, msMax), endpoint), endpoint);
  }
}

/** One line of bounded length, without the credential. */
function shownToOperator(words: string, endpoint: ProviderEndpoint): string {
  return redactCredential(words, endpoint.credential)
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, bounds.providerProbeCharactersMax);
}

function asFault(thrown: unknown, msMax: number): ProviderFault {
  if (!(thrown instanceof ProviderFault)) return new ProviderFault('failed', String(thrown), { cause: thrown });
  if (thrown.kind !== 'aborted') return thrown;
  // Only the time limit aborts it.
  return new ProviderFault('aborted', `it did not respond within ${msMax / 1000} s`, { cause: thrown });
}

function wordsOfReply({ status }: ProbeReply, { credential }: ProviderEndpoint): string {
  if (status === null) return 'It is built into the service.';
  if (status < 300)
    return `It responds and ${credential === null ? 'requires no credential' : 'accepts the credential'}.`;
  return (
    `It responds, but has no list of models: it rejected an empty message (${status}), as expected. ` +
    'Only a real message will show whether it accepts the credential.'
  );
}

function wordsOfFault(fault: ProviderFault, { credential }: ProviderEndpoint): string {
  const saysStatus = fault.status === null || fault.message.includes(String(fault.status));
  const said = saysStatus ? fault.message : `${fault.status}: ${fault.message}`;
  switch (fault.kind) {
    case 'credentials':
      if (fault.message.startsWith(UNREAD)) return `${UNREAD.replace('t', 'T')}${fault.message.slice(UNREAD.length)}.`;
      return credential === null
        ? `It requires a credential, and none is configured: add an api_key to the file and apply it (${said}).`
        : `It rejects the credential, or the credential lacks a permission (${said}).`;
    case 'not_found':
      return `It has no such path: base_url may be wrong (${said}).`;
    case 'rate_limited': {
      const wait =
        fault.retryAfterMs === null ? '' : ` It asks for a wait of ${Math.ceil(fault.retryAfterMs / 1000)} s.`;
      return `It is reachable, but limits the request rate (${said}).${wait}`;
    }
    case 'overloaded':
      return `It is reachable, but overloaded (${said}).`;
    case 'rejected':
      return `It rejected the test request (${said}).`;
    case 'timeout':
    case 'aborted':
      return `It did not respond in time (${said}).`;
    case 'failed':
    case 'unusable':
      return wordsOfFailure(fault, said);
  }
}

const UNREACHABLE: readonly [code: RegExp, words: string][] = [
  [/REFUSED/, 'Nothing listens at its address'],
  [/ENOTFOUND|EAI_|DNS/, 'Its host name cannot be resolved'],
  [/CERT|SIGNED|SIGNATURE|ISSUER|ERR_TLS/, 'Its certificate is not trusted'],
  [/EPROTO|SSL/, 'It does not speak TLS at its address'],
];

function wordsOfFailure(fault: ProviderFault, said: string): string {
  if (fault.status !== null && fault.status >= 300 && fault.status < 400)
    return `It answered with a redirect (${fault.status}), which is not followed: base_url must name the provider itself.`;
  if (fault.status !== null) return `It failed (${said}).`;
  const code = (fault.cause as { code?: unknown } | undefined)?.code;
  if (typeof code !== 'string') return `It failed (${said}).`;
  const words =
    UNREACHABLE.find(([pattern]) => pattern.test(code))?.[1] ?? 'It cannot be reached, or it closed the connection';
  return `${words} (${code}).`;
}

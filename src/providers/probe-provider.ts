// Tests one provider for its operator: bounded in time, and told in words that say what to do. What the
// provider said stands in them, but never the credential.

import { bounds } from '../config.ts';
import { redactCredential } from './hide-credential.ts';
import { type FaultKind, type ProbeReply, type Provider, type ProviderEndpoint, ProviderFault } from './provider.ts';

export interface ProbeResult {
  ok: boolean;
  /** The provider's status; null when there was none. */
  status: number | null;
  ms: number;
  fault: Exclude<FaultKind, 'aborted'> | null;
  /** One or two sentences for the operator. */
  message: string;
  /** How many models it offers this credential; null when it does not tell. */
  models: number | null;
}

/** `provider` is that of the endpoint's kind, if this version has one. Never throws: a failure is the result. */
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
  try {
    const reply = await provider.probe(endpoint, signal);
    return { ok: true, ...reply, ms: elapsed(), fault: null, message: wordsOfReply(reply, endpoint) };
  } catch (thrown) {
    const fault = asFault(thrown, msMax);
    const kind = fault.kind === 'aborted' ? 'timeout' : fault.kind;
    const message = shown(wordsOfFault(fault, endpoint), endpoint);
    return { ok: false, status: fault.status, ms: elapsed(), fault: kind, message, models: null };
  }
}

function asFault(thrown: unknown, msMax: number): ProviderFault {
  if (!(thrown instanceof ProviderFault)) return new ProviderFault('failed', String(thrown), { cause: thrown });
  // Nobody but the time limit aborts it.
  return thrown.kind === 'aborted'
    ? new ProviderFault('aborted', `it did not answer within ${msMax / 1000} s`, { cause: thrown })
    : thrown;
}

function wordsOfReply({ status }: ProbeReply, { credential }: ProviderEndpoint): string {
  if (status === null) return 'It is inside the service.';
  if (status < 300) return `It answers, and ${credential === null ? 'wants no credential' : 'takes the credential'}.`;
  return (
    `It answers, but has no list of models: it read an empty message and refused it (${status}). ` +
    'Whether it takes the credential, the first message tells.'
  );
}

function wordsOfFault(fault: ProviderFault, { credential }: ProviderEndpoint): string {
  const saysStatus = fault.status === null || fault.message.includes(String(fault.status));
  const said = saysStatus ? fault.message : `${fault.status}: ${fault.message}`;
  switch (fault.kind) {
    case 'credentials':
      return credential === null
        ? `It wants a credential and has none here: give it an api_key in the file and apply it (${said}).`
        : `It does not accept the credential, or what the credential may do (${said}).`;
    case 'rate_limited': {
      const wait = fault.retryAfterMs === null ? '' : ` It asks to wait ${Math.ceil(fault.retryAfterMs / 1000)} s.`;
      return `It is there, and limits the rate at the moment (${said}).${wait}`;
    }
    case 'overloaded':
      return `It is there, and overloaded at the moment (${said}).`;
    case 'rejected':
      return `It refused the question (${said}).`;
    case 'timeout':
    case 'aborted':
      return `There was no answer in time (${said}).`;
    case 'failed':
      return wordsOfFailure(fault, said);
  }
}

/** What the codes of the runtime's sockets mean. */
const UNREACHABLE: readonly [code: RegExp, words: string][] = [
  [/REFUSED/, 'Nothing listens at its address'],
  [/ENOTFOUND|EAI_|DNS/, 'Its name cannot be resolved'],
  [/CERT|SIGNED|SIGNATURE|ISSUER|ERR_TLS/, 'Its certificate is not trusted'],
  [/EPROTO|SSL/, 'It does not speak TLS at its address'],
];

function wordsOfFailure(fault: ProviderFault, said: string): string {
  if (fault.status !== null && fault.status >= 300 && fault.status < 400)
    return `It answered with a redirect (${fault.status}), which is not followed: base_url must name the provider itself.`;
  if (fault.status !== null) return `It failed (${said}).`;
  const code = (fault.cause as { code?: unknown } | undefined)?.code;
  if (typeof code !== 'string') return `It failed (${said}).`;
  const words = UNREACHABLE.find(([pattern]) => pattern.test(code))?.[1] ?? 'It cannot be reached, or broke off';
  return `${words} (${code}).`;
}

/** One line of bounded length, without the credential, which a provider may repeat. */
function shown(words: string, { credential }: ProviderEndpoint): string {
  return redactCredential(words, credential)
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, bounds.providerProbeCharactersMax);
}

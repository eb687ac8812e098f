// The request that a provider gets. Of its fields beyond the protocol, those that the provider's settings pass on; the names of
// the others come from the client, so that their number and length are bounded.

import type { TraceContext } from '../base/trace-context.ts';
import { cleanPassed, type Passthrough, type ProviderSettings, passes } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type Attempt, type BatchedCall, type Provider, ProviderFault, sendFor } from '../providers/providers.ts';
import {
  EXTRA_MEMBER,
  exactBody,
  type JsonObject,
  type JsonValue,
  type MessageRequest,
  objectOf,
  servesOf,
} from '../wire/wire.ts';
import type { ClientRequest } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import type { Target } from './route-health.ts';

/** The provider for a kind. Throws if the catalog names a kind that this version does not have. */
export function providerOfKind({ providers }: Pick<Gateway, 'providers'>, { kind, name }: ProviderSettings): Provider {
  const provider = providers.get(kind);
  if (provider !== undefined) return provider;
  throw new TurnpikeError('internal', `The provider ${name} has a kind that this version does not support.`);
}

/** A request, with the client's headers. */
interface SentRequest {
  request: MessageRequest;
  clientRequest: Pick<ClientRequest, 'version' | 'betas' | 'selectors' | 'requestId'>;
  maxTokens: number;
}

/** The request for a provider. */
export function makeAttempt(
  { request, clientRequest, maxTokens }: SentRequest,
  { route, endpoint, credential }: Pick<Target, 'route' | 'endpoint' | 'credential'>,
  signal: AbortSignal,
  trace: TraceContext | null,
): Attempt {
  return {
    provider: endpoint,
    request,
    upstreamModel: route.upstreamModel,
    protocol: route.protocol,
    maxTokens,
    version: clientRequest.version,
    betas: clientRequest.betas,
    selectors: clientRequest.selectors,
    isOwnAccount: credential !== null && credential.account !== null,
    requestId: clientRequest.requestId,
    signal,
    trace,
  };
}

/** The call that a target would get, without making it; null if the target would refuse it. */
export async function captureCall(
  gateway: Pick<Gateway, 'providers'>,
  sent: SentRequest,
  target: Pick<Target, 'route' | 'endpoint' | 'credential' | 'settings'>,
): Promise<BatchedCall | null> {
  const provider = providerOfKind(gateway, target.settings);
  if (provider.batches === undefined) return null;
  const attempt = makeAttempt(sent, target, new AbortController().signal, null);
  let captured: BatchedCall | null = null;
  attempt.exchange = async (call) => {
    captured = call;
    throw new ProviderFault('aborted', 'the call is part of a batch');
  };
  try {
    attempt.extra = sortExtraFields(attempt, target.settings, provider).passed;
    const use = servesOf(sent.request.protocol);
    await (use === 'messages' ? provider.submit(attempt) : sendFor(use, provider, attempt));
  } catch (thrown) {
    if (!(thrown instanceof ProviderFault)) throw thrown;
  }
  return captured;
}

interface ExtraFields {
  /** For the provider, in the client's own words. */
  passed: JsonObject;
  /** Paths of the others. */
  leftOut: string[];
}

/** Fields of the Messages protocol, some of them of its betas: docs/providers.md says what becomes of each. */
const MESSAGES_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'max_tokens', 'system', 'metadata', 'stop_sequences', 'stream', 'temperature', 'top_k'],
  ...['top_p', 'tools', 'tool_choice', 'thinking', 'output_config', 'output_format', 'cache_control', 'service_tier'],
  ...['container', 'context_management', 'compaction', 'mcp_servers', 'inference_geo', 'speed', 'billing_policy'],
  ...['diagnostics', 'fallback_credit_token', 'fallbacks', 'safeguards', 'tags', 'thread', 'data_flow', 'betas'],
  ...['anthropic_beta', 'anthropic_version', 'user_profile_id'],
]);
/** Members of translated messages that many kinds have no field for; of `UNKNOWN`, only the kind `openai` has. */
const SAMPLING = ['top_k', 'seed', 'frequency_penalty', 'presence_penalty'];
const UNKNOWN = ['seed', 'frequency_penalty', 'presence_penalty'];
/** Also translated: only the client's own words are extra. */
const THINKING = ['reasoning', 'reasoning_effort', 'thinking'];
/** Refused where they are not passed on: the answer depends on them. */
const REQUIRED: Readonly<Record<string, string>> = { logit_bias: 'logit biases are not supported by this provider' };

/** Kinds that get the client's own text, and need no sorting. */
function getsAll({ protocol, native }: MessageRequest, kind: string): boolean {
  return (kind === 'anthropic' && protocol === 'messages') || (native?.kind === kind && kind === 'gemini');
}

/** Throws ProviderFault (rejected) for a field that the answer depends on. */
export function sortExtraFields(
  attempt: Attempt,
  { kind, passthrough }: { kind: string; passthrough: Passthrough | null },
  provider: Pick<Provider, 'ignores'>,
): ExtraFields {
  const { request } = attempt;
  const sorted: ExtraFields = { passed: {}, leftOut: [] };
  if (getsAll(request, kind)) return sorted;
  if (servesOf(request.protocol) !== 'messages') return sortNamed(request, passthrough);
  const ignored = new Set(
    provider.ignores?.(attempt) ?? UNKNOWN.filter((name) => (request.body[name] ?? null) !== null),
  );
  const isPassed = (name: string) => passthrough !== null && passes(name, passthrough);
  const passed: [string, JsonValue][] = [];
  const said = new Set<string>();
  const leftOut: string[] = [];
  for (const [name, value] of extraEntries(request, passthrough !== null)) {
    if (isPassed(name)) passed.push([name, cleanPassed(name, value, leftOut)]);
    else if (Object.hasOwn(REQUIRED, name) && isEmpty(value)) continue;
    else if (Object.hasOwn(REQUIRED, name) && request.protocol === 'chat-completions') throw refusal(name);
    else if (!isTranslated(name) || ignored.has(THINKING.includes(name) ? 'thinking' : name)) leftOut.push(name);
    if (THINKING.includes(name)) said.add('thinking');
  }
  for (const name of said) ignored.delete(name); // in the client's own words instead
  sorted.passed = Object.fromEntries(passed);
  const names = [...new Set([...leftOut, ...ignored])].filter((name) => !Object.hasOwn(sorted.passed, name));
  sorted.leftOut = cutNames(names);
  return sorted;
}

/** Only named fields of other uses are passed on: such a field may change what an image or a sound costs. */
function sortNamed(request: MessageRequest, passthrough: Passthrough | null): ExtraFields {
  const leftOut: string[] = [];
  const passed: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(objectOf(exactBody(request)[EXTRA_MEMBER])))
    if (passthrough?.names.has(name) === true) passed.push([name, cleanPassed(name, value, leftOut)]);
    else leftOut.push(name);
  return { passed: Object.fromEntries(passed), leftOut: cutNames(leftOut) };
}

function cutNames(names: readonly string[]): string[] {
  return names.slice(0, bounds.leftOutFieldsMax).map((name) => name.slice(0, bounds.leftOutCharactersMax));
}

/** Clients write out unset fields. */
function isEmpty(value: JsonValue): boolean {
  return Object.keys(objectOf(value)).length === 0;
}

function isTranslated(name: string): boolean {
  return SAMPLING.includes(name) || THINKING.includes(name);
}

/** Numbers are exact only where they are passed on. */
function extraEntries(request: MessageRequest, isExact: boolean): [string, JsonValue][] {
  const body = isExact ? exactBody(request) : request.body;
  const sampling = SAMPLING.flatMap((name): [string, JsonValue][] => {
    const value = body[name] ?? null;
    return value === null ? [] : [[name, value]];
  });
  if (request.protocol !== 'messages') return [...sampling, ...Object.entries(objectOf(body[EXTRA_MEMBER]))];
  const isOwn = ([name, value]: [string, JsonValue]) => !MESSAGES_FIELDS.has(name) && value !== null;
  return [...sampling, ...Object.entries(body).filter(isOwn)];
}

function refusal(name: string): ProviderFault {
  const facts = { status: 400, errorType: 'invalid_request_error', isUnsupported: true };
  return new ProviderFault('rejected', `${name}: ${REQUIRED[name]}`, facts);
}

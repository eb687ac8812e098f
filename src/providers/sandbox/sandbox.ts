// A provider inside the service, for first runs, demonstrations and tests of applications. No network,
// and the same words for the same request; its faults take the road that a real provider's take.

import { mapFault } from '../map-fault.ts';
import { type Attempt, type EventSource, type Provider, ProviderFault, type ProviderReply } from '../provider.ts';
import { composeReply, type SandboxReply, UnknownTool } from './compose-reply.ts';
import { countInputTokens, TOKEN_BYTES } from './count-tokens.ts';
import { type SandboxModel, sandboxModels } from './models.ts';
import {
  halfOfEvents,
  openPacedSource,
  openSource,
  refuseAborted,
  replyEvents,
  replyMessage,
  wait,
} from './stream-reply.ts';

export { sandboxModelNames } from './models.ts';

export const sandbox: Provider = {
  kind: 'sandbox',

  async submit(attempt) {
    const upstreamRequestId = `req_sandbox${nonce()}`;
    refuseAborted(attempt.signal);
    const model = sandboxModels.get(attempt.upstreamModel);
    if (model === undefined) throw errorAnswer(404, `model: ${attempt.upstreamModel}`, upstreamRequestId);
    if (model.errorStatus !== null)
      throw errorAnswer(model.errorStatus, `the sandbox answers with ${model.errorStatus}`, upstreamRequestId);
    const reply = compose(model, attempt, upstreamRequestId);
    if (model.firstByteAfterMs > 0) await wait(model.firstByteAfterMs, attempt.signal);
    return answer(model, reply, attempt, upstreamRequestId);
  },

  async countTokens(attempt) {
    return countInputTokens(attempt.request.body);
  },

  countLocally(request) {
    return countInputTokens(request.body);
  },

  async probe() {
    return { status: null, models: sandboxModels.size };
  },
};

function compose(model: SandboxModel, attempt: Attempt, upstreamRequestId: string): SandboxReply {
  const { request, upstreamModel, maxTokens } = attempt;
  try {
    return composeReply(model, upstreamModel, { body: request.body, maxTokens, nonce: nonce() });
  } catch (thrown) {
    if (thrown instanceof UnknownTool) throw errorAnswer(400, thrown.message, upstreamRequestId);
    throw thrown;
  }
}

function answer(
  model: SandboxModel,
  reply: SandboxReply,
  { request, signal }: Attempt,
  upstreamRequestId: string,
): ProviderReply {
  if (request.stream) return { form: 'stream', events: openEvents(model, reply, signal), upstreamRequestId };
  if (model.isCut) throw brokenConnection();
  const message = replyMessage(reply);
  return { form: 'message', message, text: JSON.stringify(message), upstreamRequestId };
}

const PIECE_CHARACTERS = 256;
const PACED_PIECE_CHARACTERS = 4 * TOKEN_BYTES; // of one byte each: four tokens
const PACED_INTERVAL_MS = 10;

function openEvents(model: SandboxModel, reply: SandboxReply, signal: AbortSignal): EventSource {
  if (model.answers === 'lorem')
    return openPacedSource(replyEvents(reply, PACED_PIECE_CHARACTERS), signal, PACED_INTERVAL_MS);
  if (model.isCut) return openSource(halfOfEvents(reply, PIECE_CHARACTERS), signal, brokenConnection());
  return openSource(replyEvents(reply, PIECE_CHARACTERS), signal, null);
}

function brokenConnection(): ProviderFault {
  return new ProviderFault('failed', 'broken connection');
}

const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** The fault of an answer as a provider would send it. */
function errorAnswer(status: number, message: string, requestId: string): ProviderFault {
  const error = { type: ERROR_TYPES.get(status) ?? 'api_error', message };
  const headers = new Headers({ 'request-id': requestId });
  if (status === 429) headers.set('retry-after', '1');
  return mapFault(status, headers, JSON.stringify({ type: 'error', error, request_id: requestId }), Date.now());
}

function nonce(): string {
  return crypto.randomUUID().replaceAll('-', '');
}

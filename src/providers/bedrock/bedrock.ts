// A provider at Amazon Bedrock: Claude by InvokeModel, in the Messages protocol; models of other families by Converse.

import { isCloudTier, tierMembers } from '../../protocols/service-tiers.ts';
import { type JsonObject, type JsonValue, objectOf, parseExactly, unfoldMessage } from '../../wire/wire.ts';
import { replacedNames, requireMessage } from '../anthropic/anthropic.ts';
import { convertPlatformBody, keepsLongCache } from '../claude-platforms.ts';
import { replacedToolNames } from '../client-tools.ts';
import { callIdsOf } from '../compose-message.ts';
import { type Api, apiProvider, makeHeaders, openAnswer, openStream, post, requestTokenCount } from '../http-api.ts';
import {
  type Answer,
  parseLeniently,
  parseObject,
  readAnswer,
  readObject,
  readUpstreamRequestId,
} from '../parse-json.ts';
import { describedNamesBytes, NONE_REPLACED, replacedProperties } from '../property-names.ts';
import {
  type Attempt,
  type ProbeReply,
  type ProviderEndpoint,
  ProviderFault,
  type ProviderReply,
} from '../provider.ts';
import type { EventConverter } from '../pull-stream.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import { makeUsage, streamCounts } from '../running-usage.ts';
import { cancelBody, fetchUpstream, readFault } from '../upstream.ts';
import { invocationJobs } from './batches.ts';
import { convertChunks, countedModel, countInput } from './claude.ts';
import { type AnswerTerms, ConverseConverter, convertAnswer, readConverseCounts } from './convert-event.ts';
import { convertBody, convertCountInput } from './convert-request.ts';
import { bedrockAbilities, thinksByDefault } from './families.ts';
import { FRAMES_TYPE, FrameParser, loadCodec } from './frame-parser.ts';
import { mapError, readErrorType } from './map-error.ts';
import { baseModel, homeOf, isClaude, modelUrl, speaksMessages } from './model-ids.ts';
import { signAs } from './sign.ts';

const api: Api = {
  url: ({ baseUrl }, path) => baseUrl + path,
  headers: (source, accept) => makeHeaders(source, 'authorization', accept), // a key of Bedrock's own
  mapFault: mapError,
  sign: signAs('bedrock'),
  modelsPath: '',
  messagePath: null,
  readModels: () => null,
};

export const bedrock = apiProvider('bedrock', api, {
  abilities: bedrockAbilities,
  thinksByDefault,
  addedBytesMax({ protocol, body }, at) {
    const isRenamed = speaksMessages(at) ? protocol !== 'messages' : isClaude(at.upstreamModel);
    return isRenamed ? describedNamesBytes(body) : 0;
  },
  servesTier: (tier, at) => isCloudTier(tier) && !speaksMessages(at),
  keepsCacheLifetimes: (upstreamModel, protocol) =>
    speaksMessages({ upstreamModel, protocol }) && keepsLongCache('bedrock', upstreamModel),
  probe,
  batches: invocationJobs(api),

  send(attempt) {
    const { provider, upstreamModel, request } = attempt;
    const isInvoked = speaksMessages(attempt);
    const operation = isInvoked
      ? `invoke${request.stream ? '-with-response-stream' : ''}`
      : `converse${request.stream ? '-stream' : ''}`;
    const body = isInvoked ? convertPlatformBody(attempt, 'bedrock') : convertBody(attempt);
    const accept = request.stream ? FRAMES_TYPE : 'application/json';
    if (request.stream) loadCodec().catch(() => undefined); // meanwhile; `read` waits for it, and fails if it did
    return post(api, attempt, modelUrl(provider.baseUrl, upstreamModel, operation), body, accept);
  },

  async read(response, attempt) {
    const upstreamRequestId = readUpstreamRequestId(response.headers);
    const framing = attempt.request.stream ? await framingOf(upstreamRequestId) : undefined;
    if (speaksMessages(attempt)) return readClaude(response, attempt, framing, upstreamRequestId);
    const terms = termsOf(attempt, upstreamRequestId);
    return openAnswer(response, attempt, {
      converter: () => convertFrames(terms),
      // Numbers in tool inputs keep their digits.
      whole: async (whole) => {
        const usageOf = ({ usage, serviceTier }: JsonObject) => ({
          ...makeUsage(readConverseCounts(objectOf(usage))),
          ...tierMembers(serviceTier),
        });
        return convertAnswer((await readObject(whole, attempt.signal, parseExactly, usageOf)).value, terms);
      },
      ...(framing !== undefined && { framing }),
    });
  },

  async countTokens(attempt) {
    const model = countedModel(attempt.upstreamModel);
    if (model === null) return null;
    const input = speaksMessages(attempt) ? countInput(attempt) : convertCountInput(attempt);
    const url = modelUrl(attempt.provider.baseUrl, model, 'count-tokens');
    return requestTokenCount(api, attempt, { url, body: JSON.stringify({ input }), member: 'inputTokens' });
  },
});

type Framing = NonNullable<Parameters<typeof openStream>[2]['framing']>;

async function framingOf(upstreamRequestId: string | null): Promise<Framing> {
  const codec = await loadCodec();
  return { contentType: FRAMES_TYPE, parser: () => new FrameParser(codec, upstreamRequestId) };
}

function readClaude(
  response: Response,
  attempt: Attempt,
  framing: Framing | undefined,
  upstreamRequestId: string | null,
): Promise<ProviderReply> {
  const { request, signal } = attempt;
  const names = replacedNames(attempt);
  const convert = (answer: Answer<JsonValue>) => requireMessage(answer, { names });
  if (!request.stream) return readAnswer(response, signal, convert);
  return openStream(response, signal, {
    converter: () => convertChunks(upstreamRequestId, names),
    whole: async (whole) => unfoldMessage((await readAnswer(whole, signal, convert)).message),
    ...(framing !== undefined && { framing }),
  });
}

function termsOf({ request, requestId, upstreamModel }: Attempt, upstreamRequestId: string | null): AnswerTerms {
  const { stop_sequences: stops } = request.body;
  return {
    requestId,
    model: baseModel(upstreamModel),
    home: homeOf(upstreamModel),
    names: replacedToolNames(request.body, REQUEST_RULES.bedrock),
    properties: isClaude(upstreamModel) ? replacedProperties(request.body) : NONE_REPLACED,
    callIds: callIdsOf(request.body),
    stopSequences: Array.isArray(stops) ? stops : [],
    upstreamRequestId,
  };
}

/** The counts follow the end of the content: both end the message. */
function convertFrames(terms: AnswerTerms): EventConverter {
  const converter = new ConverseConverter(terms);
  let isDone = false;
  return {
    get isDone() {
      return isDone;
    },
    take({ name, text }) {
      const { upstreamRequestId } = terms;
      const events = converter.push(name, parseObject(text, { what: 'an event', upstreamRequestId }));
      isDone = converter.isComplete;
      return isDone ? [...events, ...converter.end()] : events;
    },
    end: () => converter.end(),
    counts: streamCounts(converter.usage, ({ name, text }) => {
      converter.count(parseLeniently(text));
      return name === 'metadata';
    }),
  };
}

/** No such model exists. Its name fits permissions that are limited to Claude. */
const TEST_MODEL = 'anthropic.claude-connection-test';
const REACHED: readonly (string | null)[] = ['ValidationException', 'ResourceNotFoundException'];

/**
 * Bedrock has no list of models at this address. It verifies signature and permission before it looks for the model, so
 * a message to a model that does not exist tests both and cannot cost anything.
 */
async function probe(_: Api, endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const url = modelUrl(endpoint.baseUrl, TEST_MODEL, 'converse');
  const body = '{}';
  const unsigned = api.headers({ provider: endpoint }, 'application/json');
  const headers = (await api.sign?.({ url, headers: unsigned, body }, endpoint)) ?? unsigned;
  const response = await fetchUpstream({ url, headers, body, signal });
  const { status } = response;
  if (response.ok) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'it answered a message to a model that does not exist: base_url may be wrong');
  }
  let type: string | null = null;
  const fault = await readFault(response, signal, (code, given, text, nowMs) => {
    type = readErrorType(given, text);
    return mapError(code, given, text, nowMs);
  });
  if (!REACHED.includes(type)) throw fault;
  const message =
    `It responds and accepts the ${endpoint.credential === null ? 'request' : 'credential'}. ` +
    `It was asked for a model that does not exist, which costs nothing, and refused it (${status}), as expected.`;
  return { status, models: null, message };
}

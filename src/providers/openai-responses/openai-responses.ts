// A provider of OpenAI's Responses protocol, which stores nothing: signatures of thinking blocks keep the reasoning.

import { tierMembers } from '../../protocols/service-tiers.ts';
import { RESPONSES_COUNTS, readCounts } from '../../protocols/token-counts.ts';
import { type JsonObject, type NativeBody, objectOf, rewriteRequest } from '../../wire/wire.ts';
import { openAiAbilities } from '../abilities.ts';
import { replacedToolNames } from '../client-tools.ts';
import { callIdsOf, messageIdOf, parseWithArguments } from '../compose-message.ts';
import { requestEmbeddings } from '../embeddings.ts';
import { type Api, apiProvider, openAnswer, post, requestTokenCount } from '../http-api.ts';
import { requestImages } from '../images.ts';
import { keepAnswer, keepEvents } from '../keep-native.ts';
import { NO_REASONING, reasoningOf, thinksByDefault } from '../models.ts';
import { requestModeration } from '../moderations.ts';
import { readModelPage } from '../offered-models.ts';
import { fileBatches } from '../openai/openai.ts';
import { otherReply } from '../other-reply.ts';
import { parseLeniently, parseObject, readObject, readUpstreamRequestId } from '../parse-json.ts';
import { type Attempt, type Provider, ProviderFault, type ProviderReply } from '../provider.ts';
import { type EventConverter, endedEarly } from '../pull-stream.ts';
import { makeUsage, streamCounts } from '../running-usage.ts';
import { requestSpeech } from '../speech.ts';
import { requestTranscription } from '../transcription.ts';
import { type AnswerTerms, ChunkConverter, convertAnswer, convertError, refusesReasoning } from './convert-chunk.ts';
import {
  convertBody,
  convertHeaders,
  convertUrl,
  type IsAzure,
  isAzureHost,
  OUTPUT_TOKENS_LEAST,
  readDisplay,
  tierAt,
  tiersAt,
} from './convert-request.ts';
import { convertOwnBody, ownBody, refusesSealed, withoutReasoning } from './own-protocol.ts';
import { homeOf } from './reasoning-signature.ts';

export const openaiResponses = responsesProvider('openai-responses');

/** The provider of a kind with the Responses protocol; `isAzure` tells whether an address is Azure's. */
export function responsesProvider(kind: string, isAzure: IsAzure = isAzureHost): Provider {
  const api: Api = {
    url: ({ baseUrl }, path) => convertUrl(baseUrl, path, isAzure),
    headers: (source, accept) => convertHeaders(source, accept, isAzure),
    mapFault: convertError,
    modelsPath: '/models',
    messagePath: '/responses',
    native: 'openai-responses',
    readModels: readModelPage,
  };
  return apiProvider(kind, api, {
    thinksByDefault,
    batches: fileBatches(api),
    ignores: ({ request: { body } }) => UNKNOWN.filter((name) => (body[name] ?? null) !== null),
    abilities: openAiAbilities,
    servesTier: (tier, { baseUrl }) => tier in tiersAt(baseUrl, isAzure),
    compacts: () => true,

    async send(attempt) {
      const own = ownBody(attempt);
      const url = api.url(attempt.provider, own?.isCompaction ? '/responses/compact' : '/responses');
      if (own === null) return await sendMessage(api, attempt, url, isAzure);
      return await sendOwn(api, attempt, url, { own, tier: tierAt(attempt, isAzure) });
    },

    /** Free of charge; servers without this counter answer 404. */
    countTokens: async (attempt) =>
      requestTokenCount(api, attempt, {
        url: api.url(attempt.provider, '/responses/input_tokens'),
        body: convertCountBody(attempt),
        member: 'input_tokens',
      }),

    uses: {
      embeddings: (attempt) => requestEmbeddings(api, attempt, api.url(attempt.provider, '/embeddings')),
      images: (attempt) => requestImages(api, attempt, (path) => api.url(attempt.provider, path)),
      speech: (attempt) => requestSpeech(api, attempt, api.url(attempt.provider, '/audio/speech')),
      transcription: (attempt) => requestTranscription(api, attempt, (path) => api.url(attempt.provider, path)),
      moderation: (attempt) => requestModeration(api, attempt, api.url(attempt.provider, '/moderations')),
    },

    read,
  });
}

/** Sampling parameters that the protocol does not have. */
const UNKNOWN = ['top_k', 'seed', 'frequency_penalty', 'presence_penalty'];

/** The body to count: that of the message, without what its prompt does not contain. Throws ProviderFault (rejected). */
function convertCountBody(attempt: Attempt): string {
  const own = ownBody(attempt);
  const isCounted = (name: string) => COUNTED.includes(name);
  if (own === null)
    return JSON.stringify(Object.fromEntries(Object.entries(convertBody(attempt)).filter(([name]) => isCounted(name))));
  const others = [...own.members.keys()].filter((name) => !isCounted(name)).map((name) => [name, undefined]);
  return rewriteRequest(own, { ...Object.fromEntries(others), model: attempt.upstreamModel });
}

/** Members that the counter takes (developers.openai.com, "Get input token counts", November 2026). */
const COUNTED: readonly string[] = [
  ...['model', 'instructions', 'input', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['text', 'reasoning', 'truncation'],
];

const SEALED_CHARACTERS_PER_TOKEN = 4;

async function read(response: Response, attempt: Attempt): Promise<ProviderReply> {
  const { request, requestId, provider, signal, upstreamModel } = attempt;
  const own = ownBody(attempt);
  const isOwn = own !== null;
  const terms: AnswerTerms = {
    messageId: messageIdOf(requestId),
    model: upstreamModel,
    display: isOwn ? 'shown' : readDisplay(request.body),
    home: homeOf(provider),
    toolNames: isOwn ? new Map() : replacedToolNames(request.body),
    callIds: callIdsOf(request.body),
    upstreamRequestId: readUpstreamRequestId(response.headers),
  };
  const readObjectOf = (from: Response) =>
    readObject(from, signal, parseWithArguments, ({ usage, service_tier: tier }) => ({
      ...makeUsage(readCounts(objectOf(usage), RESPONSES_COUNTS)),
      ...tierMembers(tier),
    }));
  if (own?.isCompaction) {
    const { value, text, upstreamRequestId } = await readObjectOf(response);
    if (!Array.isArray(value['output']))
      throw new ProviderFault('failed', 'the provider sent no compacted conversation', { upstreamRequestId });
    const usage = makeUsage(readCounts(objectOf(value['usage']), RESPONSES_COUNTS));
    // The answer has the output, sealed in base64.
    const written = { output_tokens: Math.ceil(text.length / SEALED_CHARACTERS_PER_TOKEN) };
    return otherReply(
      attempt,
      text,
      { ...written, ...usage, ...tierMembers(value['service_tier']) },
      upstreamRequestId,
    );
  }
  if (isOwn && !request.stream) {
    const { value, text, upstreamRequestId } = await readObjectOf(response);
    return { form: 'message', ...keepAnswer(text, convertAnswer(value, terms)), upstreamRequestId };
  }
  return openAnswer(response, attempt, {
    converter: () => (isOwn ? keepEvents(convertEvents(terms)) : convertEvents(terms)),
    whole: async (whole) => convertAnswer((await readObjectOf(whole)).value, terms),
  });
}

/** Thinking is a hint: an unknown model that refuses reasoning is retried once without it. Throws ProviderFault. */
async function sendMessage(api: Api, attempt: Attempt, url: string, isAzure: IsAzure): Promise<Response> {
  try {
    return await post(api, attempt, url, JSON.stringify(convertBody(attempt, undefined, isAzure)));
  } catch (thrown) {
    if (reasoningOf(attempt.upstreamModel).does !== 'unknown' || !refusesReasoning(thrown)) throw thrown;
  }
  return await post(api, attempt, url, JSON.stringify(convertBody(attempt, NO_REASONING, isAzure)));
}

/** Reasoning that another provider sealed is dropped, as for every kind. Throws ProviderFault. */
async function sendOwn(
  api: Api,
  attempt: Attempt,
  url: string,
  { own, tier }: { own: NativeBody; tier: JsonObject },
): Promise<Response> {
  try {
    return await post(api, attempt, url, convertOwnBody(own, attempt, OUTPUT_TOKENS_LEAST, tier));
  } catch (thrown) {
    const input = refusesSealed(thrown) ? withoutReasoning(own) : undefined;
    if (input === undefined) throw thrown;
    return await post(api, attempt, url, convertOwnBody(own, attempt, OUTPUT_TOKENS_LEAST, { input, ...tier }));
  }
}

/** Converts the stream of an answer: each event is a JSON object with its type. */
export function convertEvents(terms: AnswerTerms): EventConverter {
  const chunks = new ChunkConverter(terms);
  const { upstreamRequestId } = terms;
  return {
    get isDone() {
      return chunks.isFinished;
    },
    take({ text }) {
      if (text === '[DONE]') return []; // some servers send it, as in Chat Completions
      return chunks.add(parseObject(text, { what: 'an event', upstreamRequestId }, parseWithArguments));
    },
    end() {
      throw endedEarly(upstreamRequestId);
    },
    counts: streamCounts(chunks.usage, ({ text }) => {
      const value = parseLeniently(text);
      chunks.count(value);
      return LAST_EVENTS.includes(value['type']);
    }),
  };
}

const LAST_EVENTS: readonly unknown[] = ['response.completed', 'response.incomplete', 'response.failed'];

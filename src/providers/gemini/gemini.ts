// A provider of Gemini's generateContent: one state machine translates streamed and whole answers.

import { readThinking } from '../../protocols/effort.ts';
import { isCloudTier, tierMembers } from '../../protocols/service-tiers.ts';
import { readGeminiCounts } from '../../protocols/token-counts.ts';
import { type JsonObject, type NativeBody, objectOf, parseExactly, textOf } from '../../wire/wire.ts';
import { geminiAbilities } from '../abilities.ts';
import type { ProviderBatches } from '../batches.ts';
import { replacedToolNames } from '../client-tools.ts';
import { callIdsOf } from '../compose-message.ts';
import { type Api, apiProvider, openAnswer, post, requestTokenCount } from '../http-api.ts';
import { keepAnswer, keepChunk, keepEvents } from '../keep-native.ts';
import { thinksByDefault } from '../models.ts';
import { offeredModel } from '../offered-models.ts';
import { parseJson, parseLeniently, readJson } from '../parse-json.ts';
import type { Attempt, OtherUses, Provider, ProviderReply } from '../provider.ts';
import type { EventConverter } from '../pull-stream.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import { makeUsage, streamCounts } from '../running-usage.ts';
import { contentBatches } from './batches.ts';
import { type AnswerTerms, ChunkConverter, convertAnswer, DIALECT, mapError } from './convert-chunk.ts';
import {
  convertBody,
  convertCountBody,
  convertHeaders,
  convertUrl,
  modelPath,
  outputMaxOf,
  ownMembers,
  plainModel,
  versionedUrl,
} from './convert-request.ts';
import { draw } from './draw.ts';
import { embed } from './embed.ts';
import { countedBody, limitBody, ownBody } from './own-protocol.ts';

const api: Api = {
  url: ({ baseUrl }, path) => versionedUrl(baseUrl) + path,
  headers: convertHeaders,
  mapFault: mapError,
  modelsPath: '/models?pageSize=1000', // the maximum page size
  messagePath: null,
  readModels: ({ models, nextPageToken: next }) =>
    Array.isArray(models)
      ? {
          models: models.map(objectOf).map((one) => offeredModel(one, plainModel(textOf(one['name'])))),
          hasMore: textOf(next) !== '',
        }
      : null,
};

export { MODALITIES } from './batches.ts';
export { mapError, mapErrorInside } from './convert-chunk.ts';
export { convertBody, convertPrompt } from './convert-request.ts';
export { draw } from './draw.ts';
export { convertVector, readTexts, replyWithVectors } from './embed.ts';

export const gemini = geminiProvider('gemini', api, {
  url: ({ provider, upstreamModel }, method) => convertUrl(provider.baseUrl, upstreamModel, method),
  body: (attempt) => convertBody(attempt, true, ownMembers(attempt)),
  ownBody: (own) => own,
  added: ownMembers,
  servesTier: isCloudTier,
  countBody: (attempt, own) =>
    own === null ? convertCountBody(attempt) : countedBody(own, modelPath(attempt.upstreamModel)),
  uses: {
    embeddings: (attempt) => embed(api, attempt),
    images: (attempt) =>
      draw(api, attempt, (method) => convertUrl(attempt.provider.baseUrl, attempt.upstreamModel, method)),
  },
  batches: contentBatches(api),
});

/** How a platform with generateContent differs from the Gemini API. */
export interface GeminiPlatform {
  /** The address of a model's method, such as "countTokens". */
  url(attempt: Attempt, method: string): string;
  /** The body of a translated message. Throws ProviderFault (rejected). */
  body(attempt: Attempt): string;
  /** The body of a client of this protocol in the form of the platform. */
  ownBody(own: NativeBody): NativeBody;
  /** Members that it adds to such a body; absent: none. */
  added?(attempt: Attempt): JsonObject;
  /** The body of countTokens; `own` is null for a translated message. Throws ProviderFault (rejected). */
  countBody(attempt: Attempt, own: NativeBody | null): string;
  servesTier: NonNullable<Provider['servesTier']>;
  uses?: OtherUses;
  /** Absent: it has no batches. */
  batches?: ProviderBatches;
}

export function geminiProvider(kind: string, api: Api, platform: GeminiPlatform): Provider {
  const { url, body, countBody, servesTier, uses, batches } = platform;
  const ownBodyOf = (attempt: Attempt) => {
    const own = ownBody(attempt);
    return own === null ? null : platform.ownBody(own);
  };
  return apiProvider(kind, api, {
    thinksByDefault,
    abilities: geminiAbilities,
    servesTier,
    sound: () => ({ input: true, output: false }),

    async send(attempt) {
      const method = attempt.request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      const own = ownBodyOf(attempt);
      const sent = own === null ? body(attempt) : limitBody(own, outputMaxOf(attempt), platform.added?.(attempt));
      return await post(api, attempt, url(attempt, method), sent);
    },

    read,

    ...(uses !== undefined && { uses }),
    ...(batches !== undefined && { batches }),

    countTokens: async (attempt) =>
      requestTokenCount(api, attempt, {
        url: url(attempt, 'countTokens'),
        body: countBody(attempt, ownBodyOf(attempt)),
        member: 'totalTokens',
      }),
  });
}

async function read(response: Response, attempt: Attempt): Promise<ProviderReply> {
  const { signal, request } = attempt;
  const isOwn = ownBody(attempt) !== null;
  const terms = termsOf(attempt, isOwn);
  // Numbers in tool inputs keep their digits.
  const readJsonOf = (from: Response) =>
    readJson(from, signal, parseExactly, (answer) => usageOf(answer, request.hasSound === true));
  if (isOwn && !request.stream) {
    const { value, text, upstreamRequestId } = await readJsonOf(response);
    return { form: 'message', ...keepAnswer(text, convertAnswer(value, terms)), upstreamRequestId };
  }
  return openAnswer(response, attempt, {
    converter: () => convertEvents(terms, isOwn),
    whole: async (whole) => {
      const { value } = await readJsonOf(whole);
      const events = convertAnswer(value, terms);
      return isOwn ? keepChunk(events, value) : events;
    },
  });
}

function usageOf({ usageMetadata }: JsonObject, hasSound: boolean): JsonObject {
  const { trafficType, serviceTier, ...counts } = objectOf(usageMetadata);
  return { ...makeUsage(readGeminiCounts(counts, hasSound), DIALECT), ...tierMembers(trafficType, serviceTier) };
}

/** A client of this protocol gets its own names and ids of calls back. */
function termsOf({ request, requestId, upstreamModel }: Attempt, isOwn: boolean): AnswerTerms {
  return {
    requestId,
    upstreamModel: plainModel(upstreamModel),
    names: isOwn ? new Map() : replacedToolNames(request.body, REQUEST_RULES.gemini),
    callIds: callIdsOf(request.body),
    thinks: readThinking(request.body) === 'on',
    hasSound: request.hasSound === true,
  };
}

/** Converts the stream of an answer: each event is one chunk, and the stream's end is the answer's end. */
export function convertEvents(terms: AnswerTerms, isOwn = false): EventConverter {
  const chunks = new ChunkConverter(terms);
  const converter: EventConverter = {
    isDone: false,
    take: ({ text }) => chunks.push(parseJson(text, { what: 'a chunk', upstreamRequestId: null }, parseExactly)),
    end: () => chunks.end(),
    counts: streamCounts(chunks.usage, ({ text }) => {
      chunks.count(parseLeniently(text));
      return false;
    }),
  };
  return isOwn ? keepEvents(converter, () => chunks.hasEnded) : converter;
}

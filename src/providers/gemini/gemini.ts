// A provider of Gemini's generateContent: one state machine translates streamed and whole answers.

import { parseExactly } from '../../wire/wire.ts';
import { replacedToolNames } from '../client-tools.ts';
import { callIdsOf } from '../compose-message.ts';
import { type Api, apiProvider, openAnswer, post, requestTokenCount } from '../http-api.ts';
import { readThinking, thinksByDefault } from '../models.ts';
import { parseJson, readJson } from '../parse-json.ts';
import type { EventConverter } from '../pull-stream.ts';
import { shortenName } from './call-ids.ts';
import { type AnswerTerms, ChunkConverter, convertAnswer, mapError } from './convert-chunk.ts';
import {
  convertBody,
  convertCountBody,
  convertHeaders,
  convertUrl,
  plainModel,
  versionedUrl,
} from './convert-request.ts';
import { embed } from './embed.ts';

const api: Api = {
  url: ({ baseUrl }, path) => versionedUrl(baseUrl) + path,
  headers: convertHeaders,
  mapFault: mapError,
  modelsPath: '/models?pageSize=1000', // the maximum page size
  messagePath: null,
  countModels: ({ models, nextPageToken: next }) =>
    Array.isArray(models) ? (typeof next === 'string' && next !== '' ? null : models.length) : undefined,
};

export const gemini = apiProvider('gemini', api, {
  thinksByDefault,

  send(attempt) {
    const { request, provider, upstreamModel } = attempt;
    const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    return post(api, attempt, convertUrl(provider.baseUrl, upstreamModel, method), convertBody(attempt));
  },

  read(response, attempt) {
    const { signal, request, upstreamModel } = attempt;
    const terms: AnswerTerms = {
      requestId: attempt.requestId,
      upstreamModel: plainModel(upstreamModel),
      names: replacedToolNames(request.body, shortenName),
      callIds: callIdsOf(request.body),
      thinks: readThinking(request.body) === 'on',
    };
    return openAnswer(response, attempt, {
      converter: () => convertEvents(terms),
      // Numbers in tool inputs keep their digits.
      whole: async () => convertAnswer((await readJson(response, signal, parseExactly)).value, terms),
    });
  },

  embed: (attempt) => embed(api, attempt),

  countTokens: (attempt) =>
    requestTokenCount(api, attempt, {
      url: convertUrl(attempt.provider.baseUrl, attempt.upstreamModel, 'countTokens'),
      body: convertCountBody(attempt),
      member: 'totalTokens',
    }),
});

/** Converts the stream of an answer: each event is one chunk, and the stream's end is the answer's end. */
export function convertEvents(terms: AnswerTerms): EventConverter {
  const chunks = new ChunkConverter(terms);
  return {
    isDone: false,
    take: ({ text }) => chunks.push(parseJson(text, { what: 'a chunk', upstreamRequestId: null }, parseExactly)),
    end: () => chunks.end(),
  };
}

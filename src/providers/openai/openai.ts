// A provider of Chat Completions, of any family: one state machine translates streamed and whole answers.

import { openAiAbilities } from '../abilities.ts';
import { parseWithArguments } from '../compose-message.ts';
import { requestEmbeddings } from '../embeddings.ts';
import { type Api, apiProvider, openAnswer, post } from '../http-api.ts';
import { thinksByDefault } from '../models.ts';
import { parseObject, readObject, readUpstreamRequestId } from '../parse-json.ts';
import type { Attempt } from '../provider.ts';
import type { EventConverter } from '../pull-stream.ts';
import { ChunkConverter, convertAnswer } from './convert-chunk.ts';
import { convertBody, convertHeaders, convertModelUrl, convertUrl } from './convert-request.ts';
import { isChatError, mapChatError, mapChatFault } from './map-error.ts';
import { chooseProfile, type Profile } from './profile.ts';

const CHAT_PATH = '/chat/completions';

const api: Api = {
  url: ({ baseUrl }, path) => convertUrl(baseUrl, path),
  headers: convertHeaders,
  mapFault: mapChatFault,
  modelsPath: '/models',
  messagePath: CHAT_PATH,
  countModels: ({ data: models }) => (Array.isArray(models) ? models.length : undefined),
};

export const openai = apiProvider('openai', api, {
  thinksByDefault,
  abilities: (model, baseUrl) => (isOfOpenAi(baseUrl, model) ? openAiAbilities(model) : null),

  send(attempt) {
    const body = JSON.stringify(convertBody(attempt, profileOf(attempt)));
    return post(api, attempt, convertModelUrl(attempt, CHAT_PATH), body);
  },

  embed: (attempt) => requestEmbeddings(api, attempt, convertModelUrl(attempt, '/embeddings')),

  read(response, attempt) {
    const profile = profileOf(attempt);
    return openAnswer(response, attempt, {
      converter: () => convertEvents(attempt, profile, readUpstreamRequestId(response.headers)),
      async whole() {
        const { value, upstreamRequestId } = await readObject(response, attempt.signal, parseWithArguments);
        if (isChatError(value)) throw mapChatError(value, upstreamRequestId); // an error with status 200
        return convertAnswer(value, attempt, profile, upstreamRequestId);
      },
    });
  },
});

/** OpenAI's own models, also at Azure. */
function isOfOpenAi(baseUrl: string, model: string): boolean {
  return ['openai', 'azure'].includes(chooseProfile(baseUrl, model).family);
}

function profileOf({ provider, upstreamModel }: Attempt): Profile {
  return chooseProfile(provider.baseUrl, upstreamModel);
}

/** Converts the stream of an answer: each event is one chunk, and [DONE] ends it. */
export function convertEvents(attempt: Attempt, profile: Profile, upstreamRequestId: string | null): EventConverter {
  const chunks = new ChunkConverter(attempt, profile, upstreamRequestId);
  let isDone = false;
  /** Some servers close the stream without [DONE]: the message is complete if its last choice ended it. */
  const end = () => {
    isDone = true;
    return chunks.finish();
  };
  return {
    get isDone() {
      return isDone;
    },
    take({ name, text }) {
      if (text.trim() === '[DONE]') return end();
      const chunk = parseObject(text, { what: 'an event', upstreamRequestId }, parseWithArguments);
      if (name === 'error') throw mapChatError(chunk, upstreamRequestId);
      return chunks.take(chunk);
    },
    end,
  };
}

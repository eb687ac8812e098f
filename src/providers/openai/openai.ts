// A provider of Chat Completions, of any family: one state machine translates streamed and whole answers.

import { tierMembers } from '../../protocols/service-tiers.ts';
import { objectOf } from '../../wire/wire.ts';
import { openAiAbilities } from '../abilities.ts';
import { requestEmbeddings } from '../embeddings.ts';
import { type Api, apiProvider, openAnswer, post } from '../http-api.ts';
import { requestImages } from '../images.ts';
import { thinksByDefault } from '../models.ts';
import { requestModeration } from '../moderations.ts';
import { readModelPage } from '../offered-models.ts';
import { parseLeniently, parseObject, readObject, readUpstreamRequestId } from '../parse-json.ts';
import type { Attempt, Provider } from '../provider.ts';
import type { EventConverter } from '../pull-stream.ts';
import { requestRerank } from '../rerank.ts';
import { makeUsage, streamCounts } from '../running-usage.ts';
import { requestSpeech } from '../speech.ts';
import { requestTranscription } from '../transcription.ts';
import { fileBatches } from './batches.ts';
import { ChunkConverter, convertAnswer, readChatCounts } from './convert-chunk.ts';
import { convertBody, convertHeaders, convertModelUrl, convertUrl, ignoredFields } from './convert-request.ts';
import { mapChatError, mapChatFault, parseChat } from './map-error.ts';
import { type ChooseProfile, chooseProfile, type Profile } from './profile.ts';
import { completionUrl, convertCompletion, isMissing } from './text-completion.ts';

export { fileBatches } from './batches.ts';

const CHAT_PATH = '/chat/completions';

export { azureProfile } from './profile.ts';

export const openai = chatProvider('openai');

/** The provider of a kind with Chat Completions; `choose` gives the profile of a model at an address. */
export function chatProvider(kind: string, choose: ChooseProfile = chooseProfile): Provider {
  const api: Api = {
    url: ({ baseUrl }, path) => convertUrl(baseUrl, path, choose),
    headers: (source, accept) => convertHeaders(source, accept, choose),
    mapFault: mapChatFault,
    modelsPath: '/models',
    messagePath: CHAT_PATH,
    readModels: readModelPage,
  };
  const profileOf = ({ provider, upstreamModel }: Attempt) => choose(provider.baseUrl, upstreamModel);
  return apiProvider(kind, api, {
    thinksByDefault,
    batches: fileBatches(api),
    ignores: (attempt) => ignoredFields(attempt, profileOf(attempt)),
    abilities: (model, baseUrl) => (OF_OPENAI.includes(choose(baseUrl, model).family) ? openAiAbilities(model) : null),

    sound: () => ({ input: true, output: true }),

    servesTier: (tier, { baseUrl, upstreamModel }) => tier in choose(baseUrl, upstreamModel).serviceTiers,

    async send(attempt) {
      const own = convertCompletion(attempt, profileOf(attempt));
      if (own !== null) {
        try {
          const url = completionUrl(convertModelUrl(attempt, own.path, choose));
          return await post(api, attempt, url, JSON.stringify(own.body));
        } catch (thrown) {
          if (!isMissing(thrown)) throw thrown;
        }
      }
      const body = JSON.stringify(convertBody(attempt, profileOf(attempt)));
      return await post(api, attempt, convertModelUrl(attempt, CHAT_PATH, choose), body);
    },

    uses: {
      embeddings: (attempt) => requestEmbeddings(api, attempt, convertModelUrl(attempt, '/embeddings', choose)),
      rerank: (attempt) => requestRerank(api, attempt, convertModelUrl(attempt, '/rerank', choose)),
      images: (attempt) => requestImages(api, attempt, (path) => convertModelUrl(attempt, path, choose)),
      speech: (attempt) => requestSpeech(api, attempt, convertModelUrl(attempt, '/audio/speech', choose)),
      transcription: (attempt) => requestTranscription(api, attempt, (path) => convertModelUrl(attempt, path, choose)),
      moderation: (attempt) => requestModeration(api, attempt, convertModelUrl(attempt, '/moderations', choose)),
    },

    read(response, attempt) {
      const profile = profileOf(attempt);
      return openAnswer(response, attempt, {
        converter: () => convertEvents(attempt, profile, readUpstreamRequestId(response.headers)),
        async whole(whole) {
          const { value, upstreamRequestId } = await readObject(
            whole,
            attempt.signal,
            parseChat,
            ({ usage, service_tier: tier }) => ({
              ...makeUsage(readChatCounts(objectOf(usage), attempt.request.hasSound === true)),
              ...tierMembers(tier),
            }),
          );
          return convertAnswer(value, attempt, profile, upstreamRequestId);
        },
      });
    },
  });
}

/** Families with OpenAI's own models. */
const OF_OPENAI: readonly string[] = ['openai', 'azure'];

/** Converts the stream of an answer: each event is one chunk, and [DONE] ends it. */
export function convertEvents(attempt: Attempt, profile: Profile, upstreamRequestId: string | null): EventConverter {
  const chunks = new ChunkConverter(attempt, profile, upstreamRequestId);
  let isDone = false;
  /** Some servers close the stream without [DONE]: the message is complete if its last choice ended it. */
  const end = (isWhole = false) => {
    isDone = true;
    return chunks.finish(isWhole);
  };
  return {
    get isDone() {
      return isDone;
    },
    take({ name, text }) {
      if (text.trim() === '[DONE]') return end(true);
      const chunk = parseObject(text, { what: 'an event', upstreamRequestId }, parseChat);
      if (name === 'error') throw mapChatError(chunk, upstreamRequestId);
      return chunks.take(chunk);
    },
    end: () => end(),
    counts: streamCounts(chunks.usage, ({ text }) => {
      if (text.trim() === '[DONE]') return true;
      chunks.count(parseLeniently(text));
      return false;
    }),
  };
}

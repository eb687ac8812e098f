// A provider of the Messages protocol: its answer is returned without translation or counting.

import { type JsonValue, type StreamEvent, unfoldMessage } from '../../wire/wire.ts';
import { claudeAbilities } from '../abilities.ts';
import { type Api, apiProvider, openStream, post, requestTokenCount } from '../http-api.ts';
import { mapErrorEvent, mapFault } from '../map-fault.ts';
import { type Answer, parseObject, readAnswer, readUpstreamRequestId, requireObject } from '../parse-json.ts';
import { ProviderFault, type WholeReply } from '../provider.ts';
import { type EventConverter, endedEarly } from '../pull-stream.ts';
import { convertCountBody, convertHeaders, convertMessageBody, convertUrl } from './convert-request.ts';

const api: Api = {
  url: ({ baseUrl }, path) => convertUrl(baseUrl, path),
  headers: convertHeaders,
  mapFault,
  modelsPath: '/v1/models?limit=1000', // the maximum page size
  messagePath: '/v1/messages',
  countModels: ({ data: models, has_more: hasMore }) =>
    Array.isArray(models) ? (hasMore === true ? null : models.length) : undefined,
};

export const anthropic = apiProvider('anthropic', api, {
  abilities: claudeAbilities,

  send: (attempt) => post(api, attempt, api.url(attempt.provider, '/v1/messages'), convertMessageBody(attempt)),

  read(response, { request, signal }) {
    if (!request.stream) return readAnswer(response, signal, convertMessage);
    return openStream(response, signal, {
      converter: () => convertEvents(readUpstreamRequestId(response.headers)),
      whole: async () => unfoldMessage((await readAnswer(response, signal, convertMessage)).message),
    });
  },

  countTokens: (attempt) =>
    requestTokenCount(api, attempt, {
      url: api.url(attempt.provider, '/v1/messages/count_tokens'),
      body: convertCountBody(attempt),
      member: 'input_tokens',
    }),
});

/** A whole answer of the protocol, unchanged. Throws ProviderFault. */
export function convertMessage(answer: Answer<JsonValue>): WholeReply {
  const { value: message, text, upstreamRequestId } = requireObject(answer);
  if (message['type'] === 'error') throw mapErrorEvent(message, upstreamRequestId);
  if (message['type'] === 'message') return { form: 'message', message, text, upstreamRequestId };
  throw new ProviderFault('failed', 'the provider answered with JSON that is not a message', { upstreamRequestId });
}

/** Passes events on unchanged, except the provider's keep-alives. */
export function convertEvents(upstreamRequestId: string | null): EventConverter {
  let isBegun = false;
  let isDone = false;
  return {
    passesDeltas: true,
    get isDone() {
      return isDone;
    },
    take({ name, text }) {
      if (name === 'ping') return [];
      const event = readEvent(text, upstreamRequestId);
      if (event.name === 'ping') return [];
      const isStart = event.name === 'message_start';
      // A proxy that retried may begin a second answer: a client must not get both as one.
      if (isStart && isBegun)
        throw new ProviderFault('failed', 'the provider started a second message in the stream', { upstreamRequestId });
      isBegun ||= isStart;
      isDone = event.name === 'message_stop';
      return [event];
    },
    end() {
      throw endedEarly(upstreamRequestId);
    },
  };
}

function readEvent(text: string, upstreamRequestId: string | null): StreamEvent {
  const value = parseObject(text, { what: 'an event', upstreamRequestId });
  const name = value['type'];
  if (typeof name !== 'string')
    throw new ProviderFault('failed', 'the provider sent an event without a type', { upstreamRequestId });
  if (name === 'error') throw mapErrorEvent(value, upstreamRequestId);
  // Line feeds can only occur between JSON tokens: in strings they are escaped.
  return { name, json: text.includes('\n') ? text.replaceAll('\n', ' ') : text, value };
}

// A provider of the Messages protocol: its answer is returned without translation or counting.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  makeEvent,
  objectOf,
  onOneLine,
  type StreamEvent,
  textOf,
  tierOf,
  unfoldMessage,
} from '../../wire/wire.ts';
import { claudeAbilities } from '../abilities.ts';
import { type Api, apiProvider, openStream, post, readModelPage, readWhole, requestTokenCount } from '../http-api.ts';
import { mapErrorEvent, mapFault } from '../map-fault.ts';
import {
  type Answer,
  parseJson,
  parseObject,
  readAnswer,
  readUpstreamRequestId,
  requireObject,
} from '../parse-json.ts';
import {
  type Attempt,
  type ProbeReply,
  type Provider,
  type ProviderEndpoint,
  ProviderFault,
  type WholeReply,
} from '../provider.ts';
import { type EventConverter, endedEarly } from '../pull-stream.ts';
import { signRequest } from '../sign-request.ts';
import { replacedNames } from './adapt-request.ts';
import { convertCountBody, convertHeaders, convertMessageBody, convertUrl } from './convert-request.ts';

export { replacedNames } from './adapt-request.ts';
export { type Changes, convertHeaders, countChanges, messageChanges } from './convert-request.ts';

const PLATFORM_AT_AWS = 'aws-external-anthropic';

const api: Api = {
  url: ({ baseUrl }, path) => convertUrl(baseUrl, path),
  headers: convertHeaders,
  // At AWS: https://docs.aws.amazon.com/claude-platform/latest/userguide/making-requests.html (November 2026).
  async sign(request, { credential, region }) {
    if (credential?.use !== 'aws') return request.headers;
    return signRequest(request, { credential, service: PLATFORM_AT_AWS, region: region ?? '', now: new Date() });
  },
  mapFault,
  modelsPath: '/v1/models?limit=1000', // the maximum page size
  messagePath: '/v1/messages',
  readModels: readModelPage,
};

export const anthropic = messagesProvider('anthropic', api, {
  url: ({ provider }, path) => api.url(provider, path),
  body: convertMessageBody,
  countBody: convertCountBody,
  betas: withFastMode,
  servesTier: (tier) => tier === 'fast',
});

const FAST_MODE = 'fast-mode-2026-02-01';

/**
 * Older models need a beta for the fast tier (https://platform.claude.com/docs/en/build-with-claude/fast-mode, November 2026),
 * which clients of other protocols cannot send.
 */
function withFastMode({ request, betas }: Attempt): string | null {
  return request.protocol !== 'messages' && tierOf(request.body) === 'fast' ? FAST_MODE : betas;
}

/** How a platform with the Messages protocol differs from its vendor. */
export interface MessagesPlatform {
  /** The address of an attempt. */
  url(attempt: Attempt, path: '/v1/messages' | '/v1/messages/count_tokens'): string;
  /** The bodies. Throw ProviderFault (rejected). */
  body(attempt: Attempt): string;
  countBody(attempt: Attempt): string;
  /** The betas that it gets; absent: the client's. */
  betas?(attempt: Attempt): string | null;
  /** Absent: it has the standard tier only. */
  servesTier?: NonNullable<Provider['servesTier']>;
  /** The fault of a JSON object without the type of a message or event; absent: there are none. */
  mapError?(value: JsonValue, upstreamRequestId: string | null): ProviderFault | null;
  probe?(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply>;
}

export function messagesProvider(kind: string, api: Api, platform: MessagesPlatform): Provider {
  const { url, body, countBody, betas, servesTier, mapError = () => null, probe } = platform;
  const withBetas = (attempt: Attempt) => (betas === undefined ? attempt : { ...attempt, betas: betas(attempt) });
  return apiProvider(kind, api, {
    abilities: claudeAbilities,
    keepsCacheLifetimes: () => true,
    ...(servesTier !== undefined && { servesTier }),

    send: async (attempt) => post(api, withBetas(attempt), url(attempt, '/v1/messages'), body(attempt)),

    read(response, attempt) {
      const { request, signal } = attempt;
      const terms = { mapError, names: replacedNames(attempt) };
      const convert = (answer: Answer<JsonValue>) => requireMessage(answer, terms);
      const reader = {
        converter: () => convertEvents(readUpstreamRequestId(response.headers), terms),
        whole: async (whole: Response) => unfoldMessage((await readAnswer(whole, signal, convert)).message),
      };
      if (request.stream) return openStream(response, signal, reader);
      return readWhole(response, signal, reader, () => readAnswer(response, signal, convert));
    },

    countTokens: async (attempt) =>
      requestTokenCount(api, withBetas(attempt), {
        url: url(attempt, '/v1/messages/count_tokens'),
        body: countBody(attempt),
        member: 'input_tokens',
      }),

    ...(probe !== undefined && { probe: (_api: Api, ...call: Parameters<typeof probe>) => probe(...call) }),
  });
}

interface AnswerTerms {
  mapError: NonNullable<MessagesPlatform['mapError']>;
  /** Tool name at the provider → tool name of the client. */
  names: ReadonlyMap<string, string>;
}
type Terms = Partial<Pick<AnswerTerms, 'mapError'>> & Pick<AnswerTerms, 'names'>;

/** A whole answer of the protocol, unchanged but for the names of tools. Throws ProviderFault. */
export function requireMessage(answer: Answer<JsonValue>, { mapError = () => null, names }: Terms): WholeReply {
  const fault = mapError(answer.value, answer.upstreamRequestId);
  if (fault !== null) throw fault;
  const { value: message, text, upstreamRequestId } = requireObject(answer);
  if (message['type'] === 'error') throw mapErrorEvent(message, upstreamRequestId);
  if (message['type'] === 'message') return { form: 'message', ...renamed(message, text, names), upstreamRequestId };
  throw new ProviderFault('failed', 'the provider answered with JSON that is not a message', { upstreamRequestId });
}

function renamed(message: JsonObject, text: string, names: AnswerTerms['names']): Pick<WholeReply, 'message' | 'text'> {
  if (names.size === 0) return { message, text };
  const content = jsonObjects(message['content']).map((block) => renameCall(block, names));
  const changed = { ...message, content };
  return { message: changed, text: JSON.stringify(changed) };
}

function renameCall(block: JsonObject, names: AnswerTerms['names']): JsonObject {
  const name = block['type'] === 'tool_use' ? names.get(textOf(block['name'])) : undefined;
  return name === undefined ? block : { ...block, name };
}

/** Passes events on unchanged, except the names of tools and the provider's keep-alives. */
export function convertEvents(
  upstreamRequestId: string | null,
  { mapError = () => null, names }: Terms,
): EventConverter {
  let isBegun = false;
  let isDone = false;
  return {
    passesDeltas: true,
    get isDone() {
      return isDone;
    },
    take({ name, text }) {
      if (name === 'ping') return [];
      const event = readEvent(text, upstreamRequestId, mapError);
      if (event.name === 'ping') return [];
      const isStart = event.name === 'message_start';
      // A proxy that retried may begin a second answer: a client must not get both as one.
      if (isStart && isBegun)
        throw new ProviderFault('failed', 'the provider started a second message in the stream', { upstreamRequestId });
      isBegun ||= isStart;
      isDone = event.name === 'message_stop';
      return [event.name === 'content_block_start' ? renameStart(event, names) : event];
    },
    end() {
      throw endedEarly(upstreamRequestId);
    },
  };
}

function renameStart(event: StreamEvent, names: AnswerTerms['names']): StreamEvent {
  const block = objectOf(event.value['content_block']);
  const content_block = names.size === 0 ? block : renameCall(block, names);
  return content_block === block ? event : makeEvent({ ...event.value, content_block, type: event.name });
}

function readEvent(text: string, upstreamRequestId: string | null, mapError: AnswerTerms['mapError']): StreamEvent {
  const parsed = parseJson(text, { what: 'an event', upstreamRequestId });
  const fault = isJsonObject(parsed) && typeof parsed['type'] === 'string' ? null : mapError(parsed, upstreamRequestId);
  if (fault !== null) throw fault;
  const value = isJsonObject(parsed) ? parsed : parseObject(text, { what: 'an event', upstreamRequestId }); // throws
  const name = value['type'];
  if (typeof name !== 'string')
    throw new ProviderFault('failed', 'the provider sent an event without a type', { upstreamRequestId });
  if (name === 'error') throw mapErrorEvent(value, upstreamRequestId);
  return { name, json: onOneLine(text), value };
}

// A provider of the Messages protocol: its answer is returned without translation or counting.

import { bounds } from '../../config/config.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  makeEvent,
  objectOf,
  onOneLine,
  parseExactly,
  type StreamEvent,
  textOf,
  tierOf,
  unfoldMessage,
} from '../../wire/wire.ts';
import { claudeAbilities } from '../abilities.ts';
import type { ProviderBatches } from '../batches.ts';
import { type Api, apiProvider, openStream, post, readWhole, requestTokenCount } from '../http-api.ts';
import { mapErrorEvent, mapFault } from '../map-fault.ts';
import { readModelPage } from '../offered-models.ts';
import {
  type Answer,
  parseJson,
  parseObject,
  readAnswer,
  readUpstreamRequestId,
  requireObject,
} from '../parse-json.ts';
import { describedNamesBytes, KeyRenamer, type PropertyNames, renameKeys } from '../property-names.ts';
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
import { type ReplacedNames, replacedNames } from './adapt-request.ts';
import { messageBatches } from './batches.ts';
import { convertCountBody, convertHeaders, convertMessageBody, convertUrl } from './convert-request.ts';

export { type ReplacedNames, replacedNames } from './adapt-request.ts';
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
  batches: messageBatches(api),
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
  /** Absent: it has no batches. */
  batches?: ProviderBatches;
}

export function messagesProvider(kind: string, api: Api, platform: MessagesPlatform): Provider {
  const { url, body, countBody, betas, servesTier, mapError = () => null, probe, batches } = platform;
  const withBetas = (attempt: Attempt) => (betas === undefined ? attempt : { ...attempt, betas: betas(attempt) });
  return apiProvider(kind, api, {
    abilities: claudeAbilities,
    keepsCacheLifetimes: () => true,
    addedBytesMax: ({ protocol, body }) => (protocol === 'messages' ? 0 : describedNamesBytes(body)),
    ...(servesTier !== undefined && { servesTier }),
    ...(batches !== undefined && { batches }),

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
  names: ReplacedNames;
}
type Terms = Partial<Pick<AnswerTerms, 'mapError'>> & Pick<AnswerTerms, 'names'>;

/** A whole answer of the protocol, unchanged but for names in calls. Throws ProviderFault. */
export function requireMessage(answer: Answer<JsonValue>, { mapError = () => null, names }: Terms): WholeReply {
  const fault = mapError(answer.value, answer.upstreamRequestId);
  if (fault !== null) throw fault;
  const { value: message, text, upstreamRequestId } = requireObject(answer);
  if (message['type'] === 'error') throw mapErrorEvent(message, upstreamRequestId);
  if (message['type'] === 'message') {
    const shown = renamed(message, text, names);
    if (shown.text !== text) requireShort(shown.text, bounds.upstreamBodyBytesMax, upstreamRequestId);
    return { form: 'message', ...shown, upstreamRequestId };
  }
  throw new ProviderFault('failed', 'the provider answered with JSON that is not a message', { upstreamRequestId });
}

/** Throws ProviderFault (failed) for an answer that the client's names made too long. */
function requireShort(text: string, bytesMax: number, upstreamRequestId: string | null): void {
  if (Buffer.byteLength(text) > bytesMax)
    throw new ProviderFault('failed', 'the answer of the provider is too long', { upstreamRequestId });
}

function renamed(message: JsonObject, text: string, names: ReplacedNames): Pick<WholeReply, 'message' | 'text'> {
  if (names.tools.size === 0 && names.properties.size === 0) return { message, text };
  const exact = objectOf(parseExactly(text)); // inputs are written as they were read
  const content = jsonObjects(exact['content']).map((block) => renameCall(block, names));
  return { message: { ...message, content }, text: JSON.stringify({ ...exact, content }) };
}

function renameCall(block: JsonObject, names: ReplacedNames): JsonObject {
  if (block['type'] !== 'tool_use') return block;
  const { name, own } = ownNames(block, names);
  if (name === block['name'] && own === null) return block;
  return { ...block, name, ...(own !== null && { input: renameKeys(objectOf(block['input']), own) }) };
}

/** The client's names of a called tool and, if some are replaced, of its properties. */
function ownNames({ name: sent }: JsonObject, { tools, properties }: ReplacedNames) {
  const name = tools.get(textOf(sent)) ?? textOf(sent);
  const own: PropertyNames | null = properties.get(name)?.own ?? null;
  return { name, own };
}

/** Passes events on unchanged, except names in calls and the provider's keep-alives. */
export function convertEvents(
  upstreamRequestId: string | null,
  { mapError = () => null, names }: Terms,
): EventConverter {
  const renamer = names.tools.size + names.properties.size === 0 ? null : new CallRenamer(names, upstreamRequestId);
  let isBegun = false;
  let isDone = false;
  return {
    passesDeltas: names.properties.size === 0,
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
      return renamer === null ? [event] : renamer.take(event);
    },
    end() {
      throw endedEarly(upstreamRequestId);
    },
  };
}

/** Renames calls in the events of a stream. */
class CallRenamer {
  readonly #names: ReplacedNames;
  readonly #upstreamRequestId: string | null;
  /** By the index of a block that is a call with replaced properties. */
  readonly #open = new Map<JsonValue, KeyRenamer>();

  constructor(names: ReplacedNames, upstreamRequestId: string | null) {
    this.#names = names;
    this.#upstreamRequestId = upstreamRequestId;
  }

  /** Throws ProviderFault (failed) for an event that became too long. */
  take(event: StreamEvent): StreamEvent[] {
    const events = this.#rename(event);
    for (const made of events)
      if (made !== event) requireShort(made.json, bounds.upstreamEventBytesMax, this.#upstreamRequestId);
    return events;
  }

  #rename(event: StreamEvent): StreamEvent[] {
    const { name: type, value } = event;
    const { index = null } = value;
    const renamer = this.#open.get(index);
    switch (type) {
      case 'content_block_start': {
        const block = objectOf(value['content_block']);
        const own = block['type'] === 'tool_use' ? ownNames(block, this.#names).own : null;
        if (own !== null) this.#open.set(index, new KeyRenamer(own));
        const content_block = renameCall(block, this.#names);
        return [content_block === block ? event : makeEvent({ ...value, content_block, type })];
      }
      case 'content_block_delta': {
        const { type: kind, partial_json: piece } = objectOf(value['delta']);
        if (renamer === undefined || kind !== 'input_json_delta') return [event];
        return inputDelta(index, renamer.push(textOf(piece)));
      }
      case 'content_block_stop':
        this.#open.delete(index);
        return [...inputDelta(index, renamer?.end() ?? ''), event];
      default:
        return [event];
    }
  }
}

function inputDelta(index: JsonValue, partial_json: string): StreamEvent[] {
  if (partial_json === '') return [];
  return [makeEvent({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } })];
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

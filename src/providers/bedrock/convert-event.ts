// Converts the events of ConverseStream to Messages events, without I/O. A whole answer is turned into the same events.

import { tierMembers } from '../../protocols/service-tiers.ts';
import { endingOf } from '../../protocols/stop-words.ts';
import { CONVERSE_COUNTS, countOf, type ReportedCounts, readCounts } from '../../protocols/token-counts.ts';
import type { JsonObject, JsonValue, StreamEvent } from '../../wire/wire.ts';
import { isJsonObject, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { MessageComposer, messageIdOf } from '../compose-message.ts';
import { requireAnswer, withUsage } from '../endings.ts';
import { KeyRenamer, type ReplacedProperties } from '../property-names.ts';
import { ProviderFault } from '../provider.ts';
import { endedEarly } from '../pull-stream.ts';
import { RunningUsage } from '../running-usage.ts';
import { mapException } from './map-error.ts';
import { markSignature, UNSIGNED } from './reasoning-signature.ts';

/** The parts of the request that the response depends on. */
export interface AnswerTerms {
  requestId: string;
  /** The model shown to the client. */
  model: string;
  /** The model that signs its reasoning. */
  home: string;
  /** Tool names of the client by Converse's. */
  names: ReadonlyMap<string, string>;
  properties: ReplacedProperties;
  /** Ids of the conversation's calls so far. */
  callIds: ReadonlySet<string>;
  stopSequences: readonly JsonValue[];
  upstreamRequestId: string | null;
}

const CALLS_MAX = 1_000;
/** The answer may end in the middle of a call. */
const CUT: readonly string[] = ['max_tokens', 'model_context_window_exceeded', 'refusal'];

export class ConverseConverter {
  readonly usage: RunningUsage;
  /** The counts came that follow the end of the content. */
  isComplete = false;
  readonly #terms: AnswerTerms;
  readonly #composer: MessageComposer;
  readonly #callIds: Set<string>;
  #calls = 0;
  /** Renames the input of the open call, if some of its properties have another name at the provider. */
  #renamer: KeyRenamer | null = null;
  #toolIndex: JsonValue | undefined; // index of the open block if it is a tool call
  #stopReason: string | null = null;

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
    this.#callIds = new Set(terms.callIds);
    const { requestId, model } = terms;
    this.#composer = new MessageComposer({ id: messageIdOf(requestId), model, signature: UNSIGNED });
    this.usage = new RunningUsage(this.#composer);
  }

  /** The Messages events of one event, often none. Throws ProviderFault. */
  push(name: string, event: JsonObject): StreamEvent[] {
    switch (name) {
      case 'contentBlockStart':
        return this.#begin(event);
      case 'contentBlockDelta':
        return this.#grow(event);
      case 'contentBlockStop':
        return [...this.#endCall(), ...this.#composer.closeBlock()];
      case 'messageStop':
        this.#stopReason = textOf(event['stopReason']);
        return [];
      case 'metadata':
        this.isComplete = this.#stopReason !== null;
        this.count(event);
        return [];
      default:
        return [];
    }
  }

  /** Only the counts of an event. */
  count({ usage, serviceTier }: JsonObject): void {
    this.usage.add(tierMembers(serviceTier));
    if (isJsonObject(usage)) this.usage.take([readConverseCounts(usage)], false);
  }

  /** The end of the message, with its counts if they came. Throws ProviderFault if the answer did not end. */
  end(): StreamEvent[] {
    const { upstreamRequestId, stopSequences } = this.#terms;
    if (this.#stopReason === null) throw endedEarly(upstreamRequestId);
    const word = this.#stopReason;
    const { usage } = this.usage;
    const hasOutput = this.#composer.hasContent || this.usage.hasOutput;
    const said = requireAnswer(endingOf(word, 'converse'), { word, hasOutput, usage, upstreamRequestId });
    const reason = this.#composer.hasTool && !CUT.includes(said) ? 'tool_use' : said;
    // Converse does not say which sequence it was.
    const only = stopSequences.length === 1 ? stopSequences[0] : undefined;
    const sequence = reason === 'stop_sequence' && typeof only === 'string' ? only : null;
    const rest = this.#endCall();
    return [...rest, ...this.#composer.finish(reason, sequence, this.usage.finish(), CUT.includes(reason))];
  }

  #begin({ start, contentBlockIndex: index }: JsonObject): StreamEvent[] {
    const { toolUse } = objectOf(start);
    if (!isJsonObject(toolUse)) return [];
    const name = textOf(toolUse['name']);
    if (name === '') throw this.#fault('the provider called a tool without a name');
    if (this.#calls >= CALLS_MAX) throw this.#fault('the provider called too many tools at once');
    this.#toolIndex = index;
    const shown = this.#terms.names.get(name) ?? name;
    const own = this.#terms.properties.get(shown)?.own;
    this.#renamer = own === undefined ? null : new KeyRenamer(own);
    return this.#composer.beginTool(this.#showId(textOf(toolUse['toolUseId'])), shown);
  }

  /** The rest of an open call, whose input may be cut within a name. */
  #endCall(): StreamEvent[] {
    const rest = this.#toolIndex === undefined ? '' : (this.#renamer?.end() ?? '');
    this.#toolIndex = undefined;
    return this.#composer.toolInput(rest, 0); // counted when it came
  }

  /** Models may repeat their ids in every answer; clients need a distinct one for each call of a conversation. */
  #showId(given: string): string {
    const own = given.replaceAll(/[^\w-]/g, '_');
    const place = this.#calls++;
    const isFree = own !== '' && !this.#callIds.has(own);
    const shown = isFree ? own : `toolu_${this.#terms.requestId.replace(/^req_/, '')}_${place}`;
    this.#callIds.add(shown);
    return shown;
  }

  #grow({ delta, contentBlockIndex: index }: JsonObject): StreamEvent[] {
    const { text, toolUse, reasoningContent } = objectOf(delta);
    if (isJsonObject(toolUse)) {
      if (this.#toolIndex === undefined || this.#toolIndex !== index)
        throw this.#fault('the provider sent input for a tool call that is not open');
      const piece = textOf(toolUse['input']);
      return this.#composer.toolInput(this.#renamer === null ? piece : this.#renamer.push(piece), piece.length);
    }
    if (typeof text === 'string') return this.#composer.text(text);
    if (!isJsonObject(reasoningContent)) return []; // citations, which only point to the request's content
    return this.#think(reasoningContent);
  }

  #think({ text, signature, redactedContent }: JsonObject): StreamEvent[] {
    const { home } = this.#terms;
    const sealed = textOf(signature);
    const redacted = textOf(redactedContent);
    return [
      ...this.#composer.thinking(textOf(text)),
      ...this.#composer.signature(sealed && markSignature('text', home, sealed)),
      ...(redacted === '' ? [] : this.#composer.closeBlock()),
      ...this.#composer.signature(redacted && markSignature('redacted', home, redacted)),
    ];
  }

  #fault(message: string): ProviderFault {
    return new ProviderFault('unusable', message, { upstreamRequestId: this.#terms.upstreamRequestId });
  }
}

/** Invalid counts of cached tokens stay, and are reported as such. */
export function readConverseCounts(usage: JsonObject): ReportedCounts {
  const counts = readCounts(usage, CONVERSE_COUNTS);
  const { prompt, cacheRead, cacheWrite } = counts;
  return {
    ...counts,
    prompt: prompt === null ? null : prompt + (cacheRead ?? 0) + (cacheWrite ?? 0),
    others: {
      ...invalid('cache_read_input_tokens', usage['cacheReadInputTokens']),
      ...invalid('cache_creation_input_tokens', usage['cacheWriteInputTokens']),
    },
  };
}

function invalid(name: string, count: JsonValue | undefined): JsonObject {
  return (count ?? null) === null || countOf(count) !== null ? {} : { [name]: count as JsonValue };
}

/** The events of a whole answer. Throws ProviderFault. */
export function convertAnswer(answer: JsonObject, terms: AnswerTerms): StreamEvent[] {
  const converter = new ConverseConverter(terms);
  const { upstreamRequestId } = terms;
  const message = objectOf(answer['output'])['message'];
  if (typeof answer['__type'] === 'string')
    throw mapException(answer['__type'], textOf(answer['message']) || null, upstreamRequestId);
  if (!isJsonObject(message))
    throw new ProviderFault('failed', 'the provider answered with JSON that is not an answer of Converse', {
      upstreamRequestId,
    });
  converter.count(answer);
  try {
    const events = contentEvents(converter, message);
    converter.push('messageStop', { stopReason: answer['stopReason'] ?? '' });
    return [...events, ...converter.end()];
  } catch (thrown) {
    throw withUsage(thrown, converter.usage.usage);
  }
}

function contentEvents(converter: ConverseConverter, message: JsonObject): StreamEvent[] {
  return jsonObjects(message['content']).flatMap((block, contentBlockIndex) => {
    const { toolUse, reasoningContent } = block;
    const push = (name: string, rest: JsonObject) => converter.push(name, { contentBlockIndex, ...rest });
    return [
      ...push('contentBlockStart', { start: isJsonObject(toolUse) ? { toolUse } : {} }),
      ...deltasOf(block, toolUse, reasoningContent).flatMap((delta) => push('contentBlockDelta', { delta })),
      ...push('contentBlockStop', {}),
    ];
  });
}

function deltasOf(block: JsonObject, toolUse?: JsonValue, reasoning?: JsonValue): JsonObject[] {
  if (isJsonObject(toolUse)) return [{ toolUse: { input: JSON.stringify(toolUse['input'] ?? {}) } }];
  if (isJsonObject(reasoning)) {
    const { reasoningText, redactedContent } = reasoning;
    const { text, signature } = objectOf(reasoningText);
    return [{ text }, { signature }, { redactedContent }].flatMap((part) =>
      Object.values(part).some((value) => textOf(value) !== '') ? [{ reasoningContent: part as JsonObject }] : [],
    );
  }
  const cited = jsonObjects(objectOf(block['citationsContent'])['content']).map(({ text }) => textOf(text));
  const text = textOf(block['text']) + cited.join('');
  return text === '' ? [] : [{ text }];
}

// Answers with images in the forms of clients other than OpenAI's.

import { countOf } from '../protocols/token-counts.ts';
import {
  type JsonObject,
  type JsonValue,
  jsonObjects,
  mediaTypeOf,
  objectOf,
  textOf,
  type Units,
} from '../wire/wire.ts';
import { messageIdOf } from './compose-message.ts';
import { otherReply, usageOf } from './other-reply.ts';
import type { Attempt, ByteReply, OtherReply } from './provider.ts';
import { EVENT_STREAM, encodeOwn } from './relay-events.ts';

/** Forms of answers to clients of Gemini: of `predict`, and of generateContent, whole and in the two kinds of streams. And of Messages. */
const FORMS = ['predict', 'content', 'event', 'list', 'message', 'message_events'] as const;
type Form = (typeof FORMS)[number];

/** null: OpenAI's. */
export function formOf({ request }: Attempt): Form | null {
  return FORMS.find((form) => form === request.body['answer_form']) ?? null;
}

export function formedReply(
  attempt: Attempt,
  form: Form,
  images: readonly JsonObject[],
  used: { usage: JsonObject; units: Units },
  upstreamRequestId: string | null,
): OtherReply {
  const { usage, units } = used;
  const tokens = tokensOf(usage, units);
  const whole = (answer: JsonObject) => otherReply(attempt, JSON.stringify(answer), usage, upstreamRequestId, units);
  const stream = (contentType: string, chunks: Iterable<Uint8Array>): ByteReply => {
    const rest = chunks[Symbol.iterator]() as IterableIterator<Uint8Array>;
    return {
      form: 'bytes',
      contentType,
      chunks: { next: async () => rest.next() },
      used: () => used,
      upstreamRequestId,
    };
  };
  switch (form) {
    case 'predict':
      return whole(predictionsOf(images));
    case 'content':
      return whole(contentOf(attempt, images, tokens));
    case 'event':
      return stream(EVENT_STREAM, [Buffer.from(`data: ${JSON.stringify(contentOf(attempt, images, tokens))}\r\n\r\n`)]);
    case 'list':
      return stream('application/json', [Buffer.from(`[${JSON.stringify(contentOf(attempt, images, tokens))}]`)]);
    case 'message':
      return whole(messageOf(attempt, images, tokens));
    case 'message_events':
      return stream(
        EVENT_STREAM,
        eventsOf(messageOf(attempt, images, tokens)).map((event) =>
          encodeOwn(textOf(event['type']), JSON.stringify(event)),
        ),
      );
  }
}

interface Tokens {
  prompt: number;
  output: number;
}

/** Tokens of text and of images together. */
function tokensOf(usage: JsonObject, { counts }: Units): Tokens {
  const { input_image_tokens: imagesRead = 0, output_image_tokens: drawn = 0 } = counts;
  return {
    prompt: (countOf(usage['input_tokens']) ?? 0) + imagesRead,
    output: (countOf(usage['output_tokens']) ?? 0) + drawn,
  };
}

/** Anthropic has no answers with images: the block is that of an image in a prompt, which can be sent back as it is. */
function messageOf({ request, requestId }: Attempt, images: readonly JsonObject[], tokens: Tokens): JsonObject {
  return {
    id: messageIdOf(requestId),
    type: 'message',
    role: 'assistant',
    model: request.model,
    content: images.map(({ b64_json, url }) => ({
      type: 'image',
      source:
        textOf(b64_json) === ''
          ? { type: 'url', url: textOf(url) }
          : { type: 'base64', media_type: typeOf(b64_json), data: textOf(b64_json) },
    })),
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { ...usageOf(tokens.prompt, tokens.output) },
  };
}

/** The events of a message, with each image in one piece. */
function eventsOf(message: JsonObject): JsonObject[] {
  const { content, stop_reason, stop_sequence, usage, ...rest } = message;
  const { output_tokens, ...input } = objectOf(usage);
  const begun = { ...rest, content: [], stop_reason: null, stop_sequence: null, usage: { ...input, output_tokens: 0 } };
  return [
    { type: 'message_start', message: begun },
    ...jsonObjects(content).flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: { output_tokens } } as JsonObject,
    { type: 'message_stop' },
  ];
}

function predictionsOf(images: readonly JsonObject[]): JsonObject {
  return {
    predictions: images.map(({ b64_json, url }) =>
      textOf(b64_json) === ''
        ? { gcsUri: textOf(url), mimeType: UNKNOWN_IMAGE }
        : { bytesBase64Encoded: textOf(b64_json), mimeType: typeOf(b64_json) },
    ),
  };
}

const UNKNOWN_IMAGE = 'image/png';

function typeOf(base64: JsonValue | undefined): string {
  return mediaTypeOf(textOf(base64)) ?? UNKNOWN_IMAGE;
}

function contentOf(
  { request, requestId }: Attempt,
  images: readonly JsonObject[],
  { prompt, output }: Tokens,
): JsonObject {
  const parts = images.map(({ b64_json, url }) =>
    textOf(b64_json) === ''
      ? { fileData: { mimeType: UNKNOWN_IMAGE, fileUri: textOf(url) } }
      : { inlineData: { mimeType: typeOf(b64_json), data: textOf(b64_json) } },
  );
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output },
    modelVersion: request.model,
    responseId: requestId,
  };
}

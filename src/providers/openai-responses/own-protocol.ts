// Requests that clients wrote in this protocol: their bodies are sent as they are, but for what this service decides.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NativeBody,
  parseExactly,
  rewriteRequest,
} from '../../wire/wire.ts';
import { nativeFor } from '../keep-native.ts';
import { refuseField } from '../lost-fields.ts';
import { type Attempt, ProviderFault } from '../provider.ts';

/** The client's own body; null if it wrote in another protocol. */
export function ownBody({ request }: Pick<Attempt, 'request'>): NativeBody | null {
  return nativeFor(request, 'openai-responses');
}

/** Model, output limit, storage and stream are this service's. `changes` replaces further members. */
export function convertOwnBody(
  own: NativeBody,
  attempt: Attempt,
  outputTokensLeast: number,
  changes: Readonly<Record<string, JsonValue | undefined>> = {},
): string {
  const { upstreamModel, maxTokens, request, extra } = attempt;
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model requires at least 1');
  if (own.isCompaction) return rewriteRequest(own, { ...changes, model: upstreamModel });
  return rewriteRequest(own, {
    ...extra,
    ...changes,
    model: upstreamModel,
    max_output_tokens: Math.max(outputTokensLeast, maxTokens),
    store: false,
    stream: request.stream,
  });
}

const SEALED_ELSEWHERE = /^Invalid signature in thinking block/;

/** Whether the provider cannot open reasoning, which another one sealed. */
export function refusesSealed(thrown: unknown): boolean {
  return thrown instanceof ProviderFault && thrown.kind === 'rejected' && SEALED_ELSEWHERE.test(thrown.message);
}

/** The input without its reasoning; undefined if there is none. */
export function withoutReasoning({ text, members }: NativeBody): JsonValue | undefined {
  const span = members.get('input');
  const input = span === undefined ? null : parseExactly(text.slice(span.start, span.end));
  if (!Array.isArray(input)) return undefined;
  const kept = input.filter((item) => !isReasoning(item));
  return kept.length < input.length ? kept : undefined;
}

function isReasoning(item: JsonValue): item is JsonObject {
  return isJsonObject(item) && item['type'] === 'reasoning';
}

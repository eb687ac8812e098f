// Requests that clients wrote in Gemini's own protocol: their bodies are sent as they are, and answers are relayed as they
// come. The message and its events are only counted.

import { type JsonObject, type MemberSpan, type NativeBody, rewriteRequest, scanJson } from '../../wire/wire.ts';
import { nativeFor } from '../keep-native.ts';
import { refuseField } from '../lost-fields.ts';
import type { Attempt } from '../provider.ts';

/** The client's own body; null if it wrote in another protocol. */
export function ownBody({ request }: Pick<Attempt, 'request'>): NativeBody | null {
  return nativeFor(request, 'gemini');
}

/** Google accepts both names of a field. */
const CONFIG_NAMES = ['generationConfig', 'generation_config'];

/** The body with this limit of its output and these members, in place of its own. Throws ProviderFault (rejected). */
export function limitBody(own: NativeBody, maxTokens: number, added: JsonObject = {}): string {
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model requires at least 1');
  const doubled = Object.keys(added).filter((name) => own.members.has(name));
  if (doubled.length > 0) {
    const text = rewriteRequest(own, Object.fromEntries(doubled.map((name) => [name, undefined])));
    return limitBody({ ...own, text, members: scanJson(text) }, maxTokens, added);
  }
  const span = CONFIG_NAMES.map((name) => own.members.get(name)).find((found) => isObject(own, found));
  if (span === undefined)
    return rewriteRequest(own, {
      generation_config: undefined,
      generationConfig: { maxOutputTokens: maxTokens },
      ...added,
    });
  const text = own.text.slice(span.start, span.end);
  const limit = { max_output_tokens: undefined, maxOutputTokens: maxTokens };
  const others = Object.entries(added).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const limited = rewriteRequest({ text, members: scanJson(text) }, limit);
  return own.text.slice(0, span.start) + limited + others.join('') + own.text.slice(span.end);
}

function isObject({ text }: NativeBody, span: MemberSpan | undefined): span is MemberSpan {
  return span !== undefined && text[span.start] === '{';
}

/** The request to count the body's tokens. */
export function countedBody(own: NativeBody, model: string): string {
  return `{"generateContentRequest":${rewriteRequest(own, { model })}}`;
}

// An answer that was not streamed, by the same way as a stream: as if its items had come whole. Pure.

import { isJsonObject, type JsonObject, type StreamEvent } from '../../wire/wire.ts';
import { argumentsText } from '../call-arguments.ts';
import { ProviderFault } from '../provider.ts';
import { type AnswerTerms, ChunkConverter } from './convert-chunk.ts';

/** The events of the whole message. Throws ProviderFault for a response that failed, or is none. */
export function convertAnswer(response: JsonObject, terms: AnswerTerms): StreamEvent[] {
  const { status, output } = response;
  const converter = new ChunkConverter(terms);
  if (!Array.isArray(output) || status === 'failed' || status === 'cancelled' || isJsonObject(response['error']))
    converter.add({ type: 'response.failed', response }); // throws what it says
  if (status !== 'completed' && status !== 'incomplete' && status !== undefined)
    throw new ProviderFault('failed', 'the provider answered before it was done');
  return converter.add({ type: 'response.completed', response: withoutCutCalls(response) });
}

/** Half the input of a tool would be no JSON; a client who sees the message as a whole is better off without it. */
function withoutCutCalls(response: JsonObject): JsonObject {
  const { status, output } = response;
  if (status !== 'incomplete' || !Array.isArray(output)) return response;
  return { ...response, output: output.filter((item) => !isJsonObject(item) || !isCutCall(item)) };
}

function isCutCall(item: JsonObject): boolean {
  if (item['type'] !== 'function_call') return false;
  try {
    return !isJsonObject(JSON.parse(argumentsText(item['arguments'])));
  } catch {
    return true;
  }
}

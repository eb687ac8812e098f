// The free counter of a provider: it counts the texts of a message, its prompt or the beginning of its answer, wherever
// a request has them.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../../src/wire/wire.ts';
import { promptTokens, type Wanted } from './answers.ts';
import { behaviourOf } from './models.ts';
import { writeText } from './texts.ts';
import { countTokens } from './tokenizers.ts';

/** In front of an output that is counted as a prompt. */
const BASE = '.';
const BASE_TOKENS = 1;

const EMPTY_TOKENS_RATE = 0.25; // of a text that is in no message of the economy

/** null: the model's provider counts nothing. */
export function countRequest(wanted: Wanted, { body }: { body: JsonObject }): number | null {
  if (!behaviourOf(wanted.model).counts) return null;
  const nothing = { ...wanted, prompt: [], file: null };
  let tokens = promptTokens({ ...nothing, file: hasFile(body) ? wanted.file : null });
  for (const text of textsOf(body)) tokens += tokensOf(wanted, text);
  return Math.ceil(tokens);
}

type Texts = Pick<Wanted, 'model' | 'prompt' | 'answer'>;

function tokensOf({ model, prompt, answer }: Texts, text: string): number {
  const { tokenizer, outputTokenizer } = behaviourOf(model);
  if (text.startsWith(BASE)) return BASE_TOKENS + tokensOf({ model, prompt, answer }, text.slice(BASE.length));
  if (text === writeText(prompt)) return countTokens(tokenizer, prompt);
  if (writeText(answer).startsWith(text)) return countTokens(outputTokenizer, answer, Buffer.byteLength(text));
  return Buffer.byteLength(text) * EMPTY_TOKENS_RATE;
}

function textsOf(body: JsonObject): string[] {
  return jsonObjects(body['messages']).flatMap(({ content }) => {
    if (typeof content === 'string') return [content];
    return jsonObjects(content).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  });
}

function hasFile(body: JsonObject): boolean {
  const isFile = (block: JsonValue) => isJsonObject(block) && block['type'] === 'document';
  return jsonObjects(body['messages']).some(({ content }) => Array.isArray(content) && content.some(isFile));
}

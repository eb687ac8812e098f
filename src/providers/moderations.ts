// Moderation over OpenAI's POST /moderations: the JSON of the provider is relayed as it came.

import { countOf } from '../protocols/token-counts.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../wire/wire.ts';
import { type Api, post } from './http-api.ts';
import { otherReply, usageOf } from './other-reply.ts';
import { readObject } from './parse-json.ts';
import { type Attempt, ProviderFault, type WholeReply } from './provider.ts';

/** The inputs as the client sent them. */
export function readModerationInput({ request }: Pick<Attempt, 'request'>): JsonValue {
  const [message] = jsonObjects(request.body['messages']);
  const blocks = jsonObjects(message?.['content']);
  if (objectOf(request.body['moderation'])['is_list'] !== true) return textOf(blocks[0]?.['text']);
  if (blocks.every(({ type }) => type === 'text')) return blocks.map(({ text }) => textOf(text));
  return blocks.map(({ type, text, source }) =>
    type === 'text'
      ? { type: 'text', text: textOf(text) }
      : { type: 'image_url', image_url: { url: textOf(objectOf(source)['url']) } },
  );
}

/** Throws ProviderFault. */
export async function requestModeration(api: Api, attempt: Attempt, url: string): Promise<WholeReply> {
  const input = readModerationInput(attempt);
  const body = JSON.stringify({ model: attempt.upstreamModel, input, ...attempt.extra });
  const response = await post(api, attempt, url, body, 'application/json');
  const { value, text, upstreamRequestId } = await readObject(response, attempt.signal);
  const isOfTexts = Array.isArray(input) && input.every((one) => typeof one === 'string');
  const expected = isOfTexts ? input.length : 1;
  if (jsonObjects(value['results']).length !== expected)
    throw new ProviderFault('failed', 'the provider did not send a result for each input', { upstreamRequestId });
  const usage = objectOf(value['usage']);
  const tokens = countOf(usage['prompt_tokens']) || countOf(usage['total_tokens']) || null;
  return otherReply(attempt, text, usageOf(tokens), upstreamRequestId);
}

/** https://platform.openai.com/docs/guides/moderation, 30 November 2026. */
export const CATEGORIES: readonly string[] = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/instructions',
  'self-harm/intent',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
];

/** The JSON of a result, whose flagged categories are these. */
export function moderationResult(flagged: readonly string[]): JsonObject {
  const byCategory = <Value>(of: (isFlagged: boolean) => Value) =>
    Object.fromEntries(CATEGORIES.map((name) => [name, of(flagged.includes(name))]));
  return {
    flagged: flagged.length > 0,
    categories: byCategory((isFlagged) => isFlagged),
    category_scores: byCategory((isFlagged) => (isFlagged ? 0.99 : 0.01)),
    category_applied_input_types: byCategory(() => ['text']),
  };
}

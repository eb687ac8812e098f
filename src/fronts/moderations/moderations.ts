// Moderation in OpenAI's format.

import { bounds } from '../../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, requireText, wrongField } from '../../wire/wire.ts';
import { frontOfUse } from '../other-use.ts';

/** The fields that are read, and first parts of the path of an error. */
export const FIELDS: ReadonlySet<string> = new Set(['body', 'input', 'model']);
/** https://platform.openai.com/docs/api-reference/moderations/create, 30 November 2026. */
const MODEL_DEFAULT = 'omni-moderation-latest';

export const moderations = frontOfUse({
  protocol: 'moderations',
  paths: ['/v1/moderations'],
  fields: FIELDS,
  convert: (body) => ({
    message: {
      model: body['model'] ?? MODEL_DEFAULT,
      max_tokens: 0,
      messages: [{ role: 'user', content: readInput(body['input']) }],
      moderation: { is_list: Array.isArray(body['input']) },
    },
  }),
});

/** A block for each input. Throws invalid_request. */
function readInput(input: JsonValue | undefined): JsonObject[] {
  if (input === undefined) throw wrongField('input', 'Field required');
  if (!Array.isArray(input)) return [{ type: 'text', text: requireText(input, 'input') }];
  if (input.length === 0) throw wrongField('input', 'List should have at least 1 item');
  if (input.length > bounds.moderationInputsMax)
    throw wrongField('input', `List should have at most ${bounds.moderationInputsMax} items`);
  return input.map((one, place) =>
    isJsonObject(one) ? readPart(one, `input.${place}`) : { type: 'text', text: requireText(one, `input.${place}`) },
  );
}

function readPart(part: JsonObject, path: string): JsonObject {
  if (part['type'] === 'text') return { type: 'text', text: requireText(part['text'] ?? null, `${path}.text`) };
  if (part['type'] !== 'image_url') throw wrongField(`${path}.type`, "Input should be 'text' or 'image_url'");
  const url = requireText(objectOf(part['image_url'])['url'] ?? null, `${path}.image_url.url`);
  return { type: 'image', source: { type: 'url', url } };
}

// Custom tools of OpenAI's clients, whose input is a text: functions with one member.

import { bounds } from '../config/config.ts';
import { InnerJson, isJsonObject, type JsonObject, parseExactly } from '../wire/wire.ts';
import { isExactObject, type Placed } from './placed.ts';

/** A function of one text. Its grammar becomes part of the description, which nothing enforces. */
export function describeCustom(tool: JsonObject, name: string, path: string): Placed {
  const format = isJsonObject(tool['format']) ? tool['format'] : {};
  const { syntax, definition } = format;
  const grammar =
    typeof definition === 'string' ? `The input must match this ${String(syntax ?? '')} grammar:\n${definition}` : '';
  const description = [tool['description'], grammar].filter((text) => typeof text === 'string' && text !== '');
  const input = { type: 'string', description: 'The whole input of the tool, as plain text.' };
  const input_schema = {
    type: 'object',
    properties: { [CUSTOM_INPUT]: input },
    required: [CUSTOM_INPUT],
    additionalProperties: false,
  };
  const described = description.length > 0 && { description: description.join('\n\n') };
  return { block: { name, ...described, input_schema }, path };
}

/** The one member of a custom tool's input. */
export const CUSTOM_INPUT = 'input';
/** The JSON of the input around the characters of its text. */
export const CUSTOM_JSON = { before: `{"${CUSTOM_INPUT}":"`, after: '"}' };

/** The text of a custom tool's input; of one that was cut, or is not as described, its JSON. */
export function customInput(json: string): string {
  const input = readObject(json)[CUSTOM_INPUT];
  return typeof input === 'string' ? input : json;
}

/** Empty for anything else, such as JSON that was cut. */
export function readObject(json: string): JsonObject {
  const value = new InnerJson(bounds.jsonDepthMax).read(json, parseExactly);
  return isExactObject(value) ? value : {};
}

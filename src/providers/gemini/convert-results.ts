// The results of tools as function responses. Gemini matches them to its calls by their names and order, and has
// room for text in them alone: what else a result holds follows them.

import type { JsonObject } from '../../wire/wire.ts';
import { readCallId } from './call-ids.ts';
import { convertBlock, type PlacedBlock, placeBlocks } from './convert-blocks.ts';

/** A call of the turn before. */
export interface Call {
  id: string;
  /** As Gemini knows it. */
  name: string;
  path: string;
}

/** The response to a call, and the images and documents of the result as parts of their own. Throws ProviderFault (rejected). */
export function convertResult(
  { id, name }: Call,
  { block, path }: PlacedBlock,
): { response: JsonObject; beside: JsonObject[] } {
  const parts = placeBlocks(block['content'], `${path}.content`).flatMap(convertBlock);
  const texts = parts.map((part) => (typeof part['text'] === 'string' ? part['text'] : null));
  const text = texts.map((told) => told ?? '(an attachment, which follows)').join('\n');
  const given = readCallId(id);
  const response = block['is_error'] === true ? { error: text } : { output: text };
  return {
    response: { functionResponse: { ...(given !== null && { id: given }), name, response } },
    beside: parts.flatMap((part, index) =>
      texts[index] === null ? [{ text: `Attached to the result of ${name}:` }, part] : [],
    ),
  };
}

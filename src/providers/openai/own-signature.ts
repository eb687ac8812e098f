// The signature that a thinking block gets here, so that clients send it back: what the provider wants to see of its
// reasoning again, as it said it. Not signed: whoever changes it changes only his own conversation.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';

const MARK = 'turnpike.chat.1.'; // of this protocol, in its first form

/** `details`: what the provider's model said of its reasoning, for that model alone; none where its text is all. */
export function sealReasoning(model: string, details: readonly JsonObject[]): string {
  if (details.length === 0) return MARK;
  return MARK + Buffer.from(JSON.stringify({ model, details })).toString('base64url');
}

/** The details that a signature holds for this model; none for a signature of anyone else. */
export function openReasoning(signature: JsonValue | undefined, model: string): JsonObject[] {
  if (typeof signature !== 'string' || !signature.startsWith(MARK)) return [];
  try {
    const held: JsonValue = JSON.parse(Buffer.from(signature.slice(MARK.length), 'base64url').toString('utf8'));
    return isJsonObject(held) && held['model'] === model ? jsonObjects(held['details']) : [];
  } catch {
    return []; // it holds nothing, or was changed on its way
  }
}

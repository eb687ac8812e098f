// Visits the content blocks of a request wherever the protocol lets them stand. A tool's input is not
// entered: what looks like a block there is the caller's own data.

import { isJsonObject } from './json-values.ts';
import type { JsonObject, JsonValue } from './message-request.ts';

/**
 * Visits every block of `system` and `messages`, nested ones after the block that holds them, until
 * `visit` says true; then returns that block's path ("messages.0.content.1"), else null.
 */
export function findBlock(body: JsonObject, visit: (block: JsonObject) => boolean): string | null {
  const place = findInList(body['system'], visit);
  if (place !== null) return `system.${place}`;
  const messages = body['messages'];
  if (!Array.isArray(messages)) return null;
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (!isJsonObject(message)) continue;
    const inside = findInList(message['content'], visit);
    if (inside !== null) return `messages.${index}.content.${inside}`;
  }
  return null;
}

function findInList(list: JsonValue | undefined, visit: (block: JsonObject) => boolean): string | null {
  if (!Array.isArray(list)) return null;
  for (let index = 0; index < list.length; index++) {
    const inside = findInBlock(list[index], visit);
    if (inside !== null) return `${index}${inside}`;
  }
  return null;
}

/** "" when the block itself is the one, ".content.0" when it is one inside; the depth is bounded by the parser. */
function findInBlock(block: JsonValue | undefined, visit: (block: JsonObject) => boolean): string | null {
  if (!isJsonObject(block)) return null;
  if (visit(block)) return '';
  const content = block['content'];
  if (typeof content === 'object' && content !== null) {
    // A fetched page's result holds one object where others hold a list.
    if (!Array.isArray(content)) return prefixed('.content', findInBlock(content, visit));
    const inside = findInList(content, visit);
    if (inside !== null) return `.content.${inside}`;
  }
  const source = block['source'];
  const inSource = isJsonObject(source) ? findInList(source['content'], visit) : null;
  if (inSource !== null) return `.source.content.${inSource}`;
  return prefixed('.tool_changes.', findInList(block['tool_changes'], visit));
}

function prefixed(prefix: string, path: string | null): string | null {
  return path === null ? null : prefix + path;
}

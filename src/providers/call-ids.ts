// The ids of tool calls that a conversation has already: in the Messages protocol each is the only one of its name, and
// many other providers repeat theirs in every answer.

import { type JsonObject, jsonObjects } from '../wire/wire.ts';

/** Of all calls of a request, as its caller knows them. */
export function callIdsOf(body: JsonObject): ReadonlySet<string> {
  const blocks = jsonObjects(body['messages']).flatMap(({ content }) => jsonObjects(content));
  return new Set(blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => (typeof id === 'string' ? id : '')));
}

// The tools of a request and those that the system adds in the middle of the conversation: other protocols give all
// tools that a conversation ever had from its beginning.

import { isJsonObject, type JsonObject, jsonObjects } from '../wire/wire.ts';

export interface PlacedTool {
  tool: JsonObject;
  /** Where it stands in the request, such as "tools.0". */
  path: string;
}

/** Each name once, in order. */
export function gatherTools(body: JsonObject): PlacedTool[] {
  const tools = jsonObjects(body['tools']).map((tool, index) => ({ tool, path: `tools.${index}` }));
  const names = new Set(tools.map(({ tool }) => tool['name']));
  for (const [index, { role, content }] of jsonObjects(body['messages']).entries()) {
    if (role !== 'system') continue;
    for (const [place, block] of jsonObjects(content).entries()) {
      const added = isJsonObject(block['tool']) ? block['tool']['definition'] : undefined;
      if (block['type'] !== 'tool_addition' || !isJsonObject(added) || names.has(added['name'])) continue;
      names.add(added['name']);
      tools.push({ tool: added, path: `messages.${index}.content.${place}.tool.definition` });
    }
  }
  return tools;
}

// Blocks of the Messages protocol in the content of messages, as Cursor sends them for models of Anthropic
// (https://github.com/router-for-me/CLIProxyAPI/issues/3805). Their members are those of the translated message.

import { type JsonObject, objectOf, requireText } from '../../wire/wire.ts';
import type { CallIds } from '../call-ids.ts';
import { storedFile } from '../convert-media.ts';
import { type Placed, requireObject } from '../placed.ts';
import { thinkingBlock } from '../thinking-block.ts';

/** The blocks of a part at `path`; null for a part of another type. Throws invalid_request, feature_unavailable. */
export type BlockReader = (part: JsonObject, path: string) => Placed[] | null;

/** Content of the user, also in the result of a tool. Gateway and provider validate the rest. */
export function readUserBlock(part: JsonObject, path: string): Placed[] | null {
  switch (part['type']) {
    case 'image':
    case 'document':
      if (objectOf(part['source'])['type'] === 'file') throw storedFile(`${path}.source.file_id`);
      requireObject(part['source'], `${path}.source`);
      return [{ block: part, path }];
    case 'search_result':
      return [{ block: part, path }];
    default:
      return null;
  }
}

/** Content of the assistant, in order. */
export function readAssistantBlock(part: JsonObject, path: string, ids: CallIds): Placed[] | null {
  switch (part['type']) {
    case 'tool_use': {
      const id = ids.ofCall(requireText(part['id'], `${path}.id`));
      const name = requireText(part['name'], `${path}.name`);
      const input = requireObject(part['input'] ?? {}, `${path}.input`);
      return [{ block: { type: 'tool_use', id, name, input }, path }];
    }
    case 'thinking': {
      const thinking = requireText(part['thinking'], `${path}.thinking`);
      return [{ block: thinkingBlock(thinking, requireText(part['signature'] ?? '', `${path}.signature`)), path }];
    }
    case 'redacted_thinking':
      return [{ block: { type: 'redacted_thinking', data: requireText(part['data'], `${path}.data`) }, path }];
    default:
      return null;
  }
}

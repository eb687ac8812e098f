// Blocks of the Messages protocol in the content of messages, as Cursor sends them for models of Anthropic
// (https://github.com/router-for-me/CLIProxyAPI/issues/3805). Their members are those of the translated message.

import { type Placed, requireObject } from '../protocols/placed.ts';
import { thinkingBlock } from '../protocols/thinking.ts';
import { type JsonObject, requireText } from '../wire/wire.ts';
import type { CallIds } from './call-ids.ts';
import { convertDocument, convertImage, inlineBlock, storedFile } from './convert-media.ts';

/** The blocks of a part at `path`; null for a part of another type. Throws invalid_request, feature_unavailable. */
export type BlockReader = (part: JsonObject, path: string) => Placed[] | null;

/** Content of the user, also in the result of a tool. Gateway and provider validate the rest. */
export function readUserBlock(part: JsonObject, path: string): Placed[] | null {
  switch (part['type']) {
    case 'image':
    case 'document':
      return [{ block: readMedia(part, requireObject(part['source'], `${path}.source`), `${path}.source`), path }];
    case 'search_result':
      return [{ block: part, path }];
    default:
      return null;
  }
}

/** The block, with the type and the media type of the file that it has. */
function readMedia(part: JsonObject, source: JsonObject, path: string): JsonObject {
  const { type, url, media_type: mediaType, data } = source;
  if (type === 'file') throw storedFile(`${path}.file_id`);
  const read = part['type'] === 'image' ? convertImage : convertDocument;
  let block: JsonObject | null = null;
  if (type === 'url' && typeof url === 'string') ({ block } = read(url, `${path}.url`, ''));
  if (type === 'base64' && typeof mediaType === 'string' && typeof data === 'string')
    block = inlineBlock({ mediaType: mediaType.toLowerCase(), base64: data }, `${path}.data`);
  return block !== null && block['type'] !== part['type'] ? block : { ...part, source: block?.['source'] ?? source };
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

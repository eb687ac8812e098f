// A conversation that another kind of provider answered before: its blocks of thinking have signatures that this
// one did not make and would refuse. They are left out; its own stay as they are.

import { exactBody, isJsonObject, type JsonValue, type MessageRequest } from '../../wire/wire.ts';

// As the other kinds mark theirs, see their files of signatures. A provider's own are plain base64, without a dot.
const FOREIGN = /^(?:gemini\.(?:call|text|end|thought)|openai-responses\.\d+|turnpike\.chat\.\d+)\./;
const PERHAPS = /"signature"\s*:\s*"(?:gemini|openai-responses|turnpike)\./;

/** The messages without such blocks; undefined where there are none, which is seen without a walk. */
export function dropForeignThinking(request: Pick<MessageRequest, 'text' | 'body'>): JsonValue | undefined {
  if (!PERHAPS.test(request.text)) return undefined;
  const { messages } = exactBody(request); // what is kept is written again
  if (!Array.isArray(messages)) return undefined;
  let isChanged = false;
  const kept: JsonValue[] = [];
  for (const message of messages) {
    const content = isJsonObject(message) ? message['content'] : null;
    if (!isJsonObject(message) || !Array.isArray(content)) {
      kept.push(message);
      continue;
    }
    const own = content.filter((block) => !isForeign(block));
    if (own.length < content.length) isChanged = true;
    // A message of nothing else would be refused for being empty.
    if (own.length > 0 || content.length === 0)
      kept.push(own.length === content.length ? message : { ...message, content: own });
  }
  return isChanged ? kept : undefined;
}

function isForeign(block: JsonValue): boolean {
  if (!isJsonObject(block) || block['type'] !== 'thinking') return false;
  const signature = block['signature'];
  return typeof signature === 'string' && FOREIGN.test(signature);
}

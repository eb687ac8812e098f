// The same words in the protocol of each kind of provider. No tests of its own.

import type { JsonObject } from '../../../../src/wire/wire.ts';
import type { Script } from '../../../support/scripted-upstream.ts';
import { replyChat } from '../../../unit/providers/openai/scripted-chat.ts';
import { answering, messageItem, thought } from '../../../unit/providers/openai-responses/scripted-responses.ts';
import { type Cloud, sayAtCloud } from './speak-clouds.ts';
import { sayGemini } from './speak-gemini.ts';
import { type Block, type Spoken, sayMessage } from './speak-messages.ts';

/** Kinds with a protocol of their own. */
export const kinds = ['anthropic', 'openai', 'openai-responses', 'gemini'] as const;
export type Kind = (typeof kinds)[number] | Cloud;

/** Says it as a provider of this kind. By each protocol's usage it read 20 tokens, 100 more from a cache, and wrote 30. */
export function speak(kind: Kind, spoken: Spoken): Script {
  switch (kind) {
    case 'anthropic':
      return sayMessage(spoken);
    case 'openai':
      return replyChat(chatOf(spoken));
    case 'openai-responses':
      return answering(...itemsOf(spoken));
    case 'gemini':
      return sayGemini(spoken);
    case 'bedrock':
    case 'vertex':
    case 'foundry':
      return sayAtCloud(kind, spoken);
  }
}

function chatOf({ content }: Spoken): Parameters<typeof replyChat>[0] {
  const textOf = (type: string) =>
    content.flatMap((block) => (block.type === type && 'text' in block ? block.text : []));
  const thoughts = content.flatMap((block) => (block.type === 'thinking' ? block.thinking : []));
  const calls = content.flatMap((block) =>
    block.type === 'tool_use' ? [{ id: block.id, name: block.name, arguments: block.input }] : [],
  );
  return { content: textOf('text').join(''), calls, ...(thoughts.length > 0 && { reasoning: thoughts.join('') }) };
}

function itemsOf({ content }: Spoken): Parameters<typeof answering> {
  return content.map(itemOf).filter((item) => item !== null);
}

function itemOf(block: Block): JsonObject | null {
  switch (block.type) {
    case 'text':
      return messageItem(block.text);
    case 'thinking':
      return thought('rs_1', block.thinking);
    case 'tool_use': {
      const { id, name, input } = block;
      return { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: input, status: 'completed' };
    }
    case 'redacted_thinking':
      return null;
  }
}

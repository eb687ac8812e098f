// Assembles a response from its stream events. The result is displayed and sent back with the next turn. Pure.

/** A block of the Messages API; unknown types are kept unchanged. */
export type Block = { type: string } & Record<string, unknown>;

export interface Answer {
  model: string | null;
  blocks: readonly Block[];
  /** The partial input of tool calls by the index of their block. */
  inputTexts: Readonly<Record<number, string>>;
  stopReason: string | null;
  usage: Readonly<Record<string, unknown>>;
  isComplete: boolean;
  failure: { code: string; message: string } | null;
}

export const emptyAnswer: Answer = {
  model: null,
  blocks: [],
  inputTexts: {},
  stopReason: null,
  usage: {},
  isComplete: false,
  failure: null,
};

type Json = Record<string, unknown>;

/** Applies a parsed event. Ignores unknown events. */
export function applyEvent(answer: Answer, event: Json): Answer {
  switch (event['type']) {
    case 'message_start':
      return withStart(answer, objectOf(event['message']));
    case 'content_block_start':
      return withBlock(answer, placeOf(event), objectOf(event['content_block']));
    case 'content_block_delta':
      return withDelta(answer, placeOf(event), objectOf(event['delta']));
    case 'content_block_stop':
      return withStop(answer, placeOf(event));
    case 'message_delta': {
      const stopReason = objectOf(event['delta'])['stop_reason'];
      return {
        ...answer,
        usage: { ...answer.usage, ...objectOf(event['usage']) },
        ...(typeof stopReason === 'string' && { stopReason }),
      };
    }
    case 'message_stop':
      return { ...answer, isComplete: true };
    case 'error': {
      const { code, type, message } = objectOf(event['error']);
      return { ...answer, failure: { code: textOf(code) || textOf(type), message: textOf(message) } };
    }
    default:
      return answer;
  }
}

/** The blocks to send back. Omits unsigned thinking, incomplete tool calls and media, which providers reject. */
export function blocksToSend(answer: Answer): Block[] {
  return answer.blocks.filter(({ type, text, signature }, place) => {
    if (type === 'text') return textOf(text).trim() !== '';
    if (type === 'thinking') return textOf(signature) !== '';
    if (type === 'tool_use') return answer.inputTexts[place] === undefined;
    if (type === 'image' || type === 'sound') return false; // of another model, which takes no conversation
    return answer.isComplete;
  });
}

export function toolCallsOf(answer: Answer): { id: string; name: string }[] {
  return blocksToSend(answer)
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name }) => ({ id: textOf(id), name: textOf(name) }));
}

function withStart(answer: Answer, { model, usage }: Json): Answer {
  return { ...answer, model: textOf(model) || null, usage: { ...answer.usage, ...objectOf(usage) } };
}

function withBlock(answer: Answer, place: number, block: Json): Answer {
  const blocks = [...answer.blocks];
  blocks[place] = { ...block, type: textOf(block['type']) };
  const isCall = block['type'] === 'tool_use' || block['type'] === 'server_tool_use';
  return { ...answer, blocks, ...(isCall && { inputTexts: { ...answer.inputTexts, [place]: '' } }) };
}

const grown: Readonly<Record<string, { member: string; of: string }>> = {
  text_delta: { member: 'text', of: 'text' },
  thinking_delta: { member: 'thinking', of: 'thinking' },
  signature_delta: { member: 'signature', of: 'signature' },
};

function withDelta(answer: Answer, place: number, delta: Json): Answer {
  const block = answer.blocks[place];
  if (block === undefined) return answer;
  if (delta['type'] === 'input_json_delta') {
    const text = (answer.inputTexts[place] ?? '') + textOf(delta['partial_json']);
    return { ...answer, inputTexts: { ...answer.inputTexts, [place]: text } };
  }
  const growth = grown[textOf(delta['type'])];
  if (growth === undefined) return answer;
  const blocks = [...answer.blocks];
  blocks[place] = { ...block, [growth.member]: textOf(block[growth.member]) + textOf(delta[growth.of]) };
  return { ...answer, blocks };
}

/** Parses the complete input of a tool call. No text means an empty object. */
function withStop(answer: Answer, place: number): Answer {
  const { [place]: text, ...inputTexts } = answer.inputTexts;
  const block = answer.blocks[place];
  if (text === undefined || block === undefined) return answer;
  try {
    const blocks = [...answer.blocks];
    blocks[place] = { ...block, input: text === '' ? (block['input'] ?? {}) : JSON.parse(text) };
    return { ...answer, blocks, inputTexts };
  } catch {
    return answer; // invalid JSON stays visible as text and is not sent back
  }
}

function placeOf(event: Json): number {
  const { index } = event;
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < 10_000 ? index : 0;
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

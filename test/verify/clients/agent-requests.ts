// Reads requests of coding agents in the protocol of any provider: calls with their results, and the beginning of a prompt. No tests of its own.

import type { Json } from './conversations/conversation.ts';

/** Instructions, tools and messages of a request in this order, without cache markers, which move. */
export function beginningOf({
  system,
  instructions,
  systemInstruction,
  tools,
  messages,
  input,
  contents,
}: Json): string {
  const parts = [tools, system ?? instructions ?? systemInstruction ?? '', messages ?? input ?? contents];
  return JSON.stringify(parts, (name, value) => (name === 'cache_control' ? undefined : value));
}

/** The calls of a request, by name, and whether each has its own result. Gemini's need no ids, so their order decides. */
export function pairsOf(kind: string, body: Json): [string, boolean][] {
  const all = ((body['messages'] ?? body['input'] ?? body['contents']) as Json[]).flatMap(blocksOf);
  const results = all.flatMap(({ result }) => result ?? []);
  const calls = all.flatMap(({ call, name }) => (call === undefined ? [] : [{ call, name: String(name) }]));
  return calls.map(({ call, name }, place) => [
    name,
    kind === 'gemini' ? results[place] === name : results.includes(call),
  ]);
}

/** A call, or the result of one, by the call's id. */
interface Paired {
  call?: string;
  name?: unknown;
  result?: string;
}

/** Calls and results of one message or item, of any protocol. */
function blocksOf(message: Json): Paired[] {
  const blocks = [message, message['content'], message['parts'], message['tool_calls']].flat() as (Json | undefined)[];
  return blocks.flatMap((block): Paired[] => {
    if (typeof block !== 'object' || block === null) return [];
    const { functionCall, functionResponse } = block as Record<string, Json | undefined>;
    if (functionCall !== undefined) return [{ call: '', name: functionCall['name'] }];
    if (functionResponse !== undefined) return [{ result: String(functionResponse['name']) }];
    switch (block['type'] ?? block['role']) {
      case 'tool_use':
        return [{ call: String(block['id']), name: block['name'] }];
      case 'function':
        return [{ call: String(block['id']), name: (block['function'] as Json)['name'] }];
      case 'function_call':
        return [{ call: String(block['call_id']), name: block['name'] }];
      case 'tool_result':
        return [{ result: String(block['tool_use_id']) }];
      case 'tool':
        return [{ result: String(block['tool_call_id']) }];
      case 'function_call_output':
        return [{ result: String(block['call_id']) }];
      default:
        return [];
    }
  });
}

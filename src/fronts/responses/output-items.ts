// The output items of a response, from the blocks of a message.

import { customInput, readObject } from '../../protocols/custom-tool.ts';
import { isExactObject } from '../../protocols/placed.ts';
import { type JsonObject, type JsonValue, textOf } from '../../wire/wire.ts';
import type { CalledTool } from './convert-tools.ts';
import { sealThinking } from './sealed-thinking.ts';

export function messageItem(id: string, text: string, status: string): JsonObject {
  return { id, type: 'message', status, role: 'assistant', content: status === 'in_progress' ? [] : [textPart(text)] };
}

export function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function reasoningItem(id: string, block: JsonObject, isShown: boolean): JsonObject {
  const text = textOf(block['thinking']);
  const summary = isShown && text !== '' ? [summaryPart(text)] : [];
  return { id, type: 'reasoning', summary, encrypted_content: sealThinking(block) };
}

export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text };
}

/** A call as it was named by the client. `json` is the input. */
export function callItem(id: string, callId: JsonValue, called: CalledTool, json: string, status: string): JsonObject {
  const { kind, name, namespace } = called;
  const inNamespace = namespace !== null && { namespace };
  switch (kind) {
    case 'custom':
      return { id, type: 'custom_tool_call', status, call_id: callId, ...inNamespace, name, input: customInput(json) };
    case 'tool_search':
      return {
        id,
        type: 'tool_search_call',
        status,
        call_id: callId,
        execution: 'client',
        arguments: readObject(json),
      };
    case 'function':
      return { id, type: 'function_call', status, call_id: callId, ...inNamespace, name, arguments: json };
  }
}

/** The search of a `server_tool_use` block. */
export function searchItem(id: string, input: JsonValue | undefined, status: string): JsonObject {
  const query = isExactObject(input) ? textOf(input['query']) : '';
  return { id, type: 'web_search_call', status, action: { type: 'search', query } };
}

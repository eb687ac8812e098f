// A provider of the Messages API that does what a request asks for: it calls a tool that is offered, with inputs that its schema
// allows, writes JSON by a schema, and otherwise answers in text. For suites that judge what comes back. No tests of its own.

import type { Script } from '../../../support/scripted-upstream.ts';
import type { Json } from '../conversations/conversation.ts';
import { type Block, sayMessage } from './speak-messages.ts';

const WORDS = '你好 — こんにちは';
let callCount = 0;

/** Streams slowly enough that a client sees more than one piece. */
export const beWilling: Script = (answer, request) => {
  const body = JSON.parse(request.body) as Json;
  const stopSequence = (body['stop_sequences'] as string[] | undefined)?.[0];
  const ending = stopSequence === undefined ? {} : { stopReason: 'stop_sequence', stopSequence };
  return sayMessage({ content: contentFor(body), ...ending })(answer, request);
};

function contentFor(body: Json): Block[] {
  const { format } = (body['output_config'] ?? {}) as { format?: { schema?: Json } };
  if (format?.schema !== undefined) return [{ type: 'text', text: JSON.stringify(exampleOf(format.schema)) }];
  const tools = (body['tools'] ?? []) as { name: string; input_schema?: Json }[];
  const choice = (body['tool_choice'] ?? {}) as { type?: string; name?: string };
  const tool = tools.find(({ name }) => choice.name === undefined || name === choice.name);
  const isOver = hasResult(body['messages'] as Json[]) && choice.type !== 'tool' && choice.type !== 'any';
  if (tool === undefined || choice.type === 'none' || isOver) return [{ type: 'text', text: textFor(body) }];
  const input = JSON.stringify(exampleOf(tool.input_schema ?? {}));
  return [{ type: 'tool_use', id: `toolu_willing${++callCount}`, name: tool.name, input }];
}

/** JSON without a schema is asked for in words. */
function textFor({ messages, system }: Json): string {
  const isJson = /\bJSON\b/.test(JSON.stringify([system, messages]));
  return isJson ? JSON.stringify({ setup: WORDS, punchline: WORDS }) : 'It is done: the answer is three.';
}

function hasResult(messages: readonly Json[]): boolean {
  const content = messages.at(-1)?.['content'];
  return Array.isArray(content) && content.some(({ type }: Json) => type === 'tool_result');
}

/** A value that the schema allows. */
function exampleOf(schema: Json, root: Json = schema): unknown {
  const reference = schema['$ref'];
  if (typeof reference === 'string') return exampleOf(referred(root, reference), root);
  const [choice] = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'] ?? []) as Json[];
  if (choice !== undefined) return exampleOf(choice, root);
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  switch ([schema['type']].flat()[0]) {
    case 'integer':
    case 'number':
      return 3;
    case 'boolean':
      return true;
    case 'array':
      return [exampleOf((schema['items'] ?? {}) as Json, root)];
    case 'object':
      return Object.fromEntries(
        Object.entries((schema['properties'] ?? {}) as Record<string, Json>).map(([name, member]) => [
          name,
          exampleOf(member, root),
        ]),
      );
    default:
      return WORDS;
  }
}

function referred(root: Json, reference: string): Json {
  return reference
    .split('/')
    .slice(1)
    .reduce((found, name) => (found[name] ?? {}) as Json, root);
}

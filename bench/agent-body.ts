// A coding agent's request: instructions, tools, and a conversation of calls and their results, in the protocols of clients.

import { models } from './processes.ts';

const TOOLS = 18;
const SOURCE = `export function read(path: string): string {\n  const text = "a \\"quoted\\" word, a tab\\t and — some — Unicode";\n  return text + path;\n}\n`;

/** A body of about this many bytes, with three cached places. */
export function agentBody(bytes: number): string {
  const cached = { cache_control: { type: 'ephemeral' } };
  const tools = Array.from({ length: TOOLS }, (_, at) => ({
    name: `tool_${at}`,
    description: 'Reads a file of the working directory, and answers with its lines. '.repeat(8),
    input_schema: {
      type: 'object',
      properties: {
        file_path: { type: 'string', description: 'The absolute path of the file' },
        offset: { type: 'number', description: 'The line to begin with' },
        limit: { type: 'number', description: 'How many lines to read' },
      },
      required: ['file_path'],
      additionalProperties: false,
    },
  }));
  const messages: object[] = [];
  const body = {
    model: models.agent,
    max_tokens: 32_000,
    stream: true,
    system: [{ type: 'text', text: 'You are a coding agent. '.repeat(400), ...cached }],
    thinking: { type: 'enabled', budget_tokens: 4_000 },
    tools,
    messages,
  };
  let length = JSON.stringify(body).length;
  for (let turn = 0; length < bytes; turn++) {
    const id = `toolu_${String(turn).padStart(8, '0')}`;
    const added = [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I read the next file.' },
          { type: 'tool_use', id, name: 'tool_1', input: { file_path: `/src/file-${turn}.ts`, offset: 1, limit: 200 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: SOURCE.repeat(12) }] },
    ];
    if (turn === 0) messages.push({ role: 'user', content: 'Find the fault.' });
    messages.push(...added);
    length += JSON.stringify(added).length;
  }
  Object.assign((messages.at(-1) as { content: object[] }).content[0] as object, cached);
  return JSON.stringify(body);
}

interface Block {
  type: string;
  text: string;
  id: string;
  name: string;
  input: object;
  tool_use_id: string;
  content: string;
}

interface AgentRequest {
  model: string;
  max_tokens: number;
  system: Block[];
  tools: { name: string; description: string; input_schema: object }[];
  messages: { role: string; content: string | Block[] }[];
}

/** The same request in Chat Completions. */
export function chatBody(body: string): string {
  const { model, max_tokens, system, tools, messages } = JSON.parse(body) as AgentRequest;
  const said = messages.flatMap(({ role, content }): object[] => {
    if (typeof content === 'string') return [{ role, content }];
    const [first, call] = content as [Block, Block | undefined];
    if (call === undefined) return [{ role: 'tool', tool_call_id: first.tool_use_id, content: first.content }];
    const called = { name: call.name, arguments: JSON.stringify(call.input) };
    return [{ role, content: first.text, tool_calls: [{ id: call.id, type: 'function', function: called }] }];
  });
  return JSON.stringify({
    model,
    max_completion_tokens: max_tokens,
    stream: true,
    messages: [{ role: 'system', content: system[0]?.text }, ...said],
    tools: tools.map(({ name, description, input_schema: parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    })),
  });
}

/** The same request in Responses. */
export function responsesBody(body: string): string {
  const { model, max_tokens, system, tools, messages } = JSON.parse(body) as AgentRequest;
  const input = messages.flatMap(({ role, content }): object[] => {
    if (typeof content === 'string') return [{ role, content }];
    const [first, call] = content as [Block, Block | undefined];
    if (call === undefined)
      return [{ type: 'function_call_output', call_id: first.tool_use_id, output: first.content }];
    return [
      { role, content: first.text },
      { type: 'function_call', call_id: call.id, name: call.name, arguments: JSON.stringify(call.input) },
    ];
  });
  return JSON.stringify({
    model,
    max_output_tokens: max_tokens,
    stream: true,
    store: false,
    instructions: system[0]?.text,
    input,
    tools: tools.map(({ name, description, input_schema: parameters }) => ({
      type: 'function',
      name,
      description,
      parameters,
    })),
  });
}

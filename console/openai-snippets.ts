// A request as code for OpenAI's SDKs: the body of POST /v1/messages as one of Chat Completions. Pure.

import { pythonArguments, type SnippetOf, scriptText, scriptValue } from './snippets.ts';

const OPENAI_KEY_VARIABLE = 'OPENAI_API_KEY';

export function openaiTypescriptOf({ baseUrl, key, body }: SnippetOf): string {
  const apiKey = key === null ? `process.env['${OPENAI_KEY_VARIABLE}']` : scriptText(key);
  const { stream, ...whole } = chatBodyOf(body);
  return [
    "import OpenAI from 'openai';",
    '',
    `const client = new OpenAI({ baseURL: ${scriptText(`${baseUrl}/v1`)}, apiKey: ${apiKey} });`,
    ...(stream === true
      ? [
          `const stream = client.chat.completions.stream(${scriptValue(whole)});`,
          "stream.on('content', (text) => process.stdout.write(text));",
          'const completion = await stream.finalChatCompletion();',
        ]
      : [`const completion = await client.chat.completions.create(${scriptValue(whole)});`]),
    'console.log(completion.choices[0]?.message, completion.usage);',
  ].join('\n');
}

export function openaiPythonOf({ baseUrl, key, body }: SnippetOf): string {
  const apiKey = key === null ? `os.environ[${scriptText(OPENAI_KEY_VARIABLE)}]` : scriptText(key);
  const { stream, ...whole } = chatBodyOf(body);
  return [
    ...(key === null ? ['import os', ''] : []),
    'import openai',
    '',
    `client = openai.OpenAI(base_url=${scriptText(`${baseUrl}/v1`)}, api_key=${apiKey})`,
    ...(stream === true
      ? [
          `with client.chat.completions.stream(${pythonArguments(whole)}) as stream:`,
          '    for event in stream:',
          '        if event.type == "content.delta":',
          '            print(event.delta, end="", flush=True)',
          '    completion = stream.get_final_completion()',
        ]
      : [`completion = client.chat.completions.create(${pythonArguments(whole)})`]),
    'print(completion.choices[0].message, completion.usage)',
  ].join('\n');
}

type Json = Readonly<Record<string, unknown>>;

/** Omits what Chat Completions cannot express: earlier thinking and tools of providers. */
export function chatBodyOf(body: Json): Json {
  const { model, max_tokens: maxTokens, system, temperature, thinking, tools, stop_sequences: stop, stream } = body;
  const functions = listOf(tools).flatMap((tool) => functionOf(tool));
  const instructions = typeof system === 'string' ? system : textOf(system);
  return {
    model,
    max_completion_tokens: maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(thinking !== undefined && { reasoning_effort: effortOf(thinking as Json) }),
    ...(listOf(stop).length > 0 && { stop }),
    ...(functions.length > 0 && { tools: functions }),
    ...(stream === true && { stream }),
    messages: [
      ...(instructions === '' ? [] : [{ role: 'system', content: instructions }]),
      ...listOf(body['messages']).flatMap(messagesOf),
    ],
  };
}

/** The efforts whose budgets docs/chat-completions.md states. */
function effortOf({ budget_tokens: budget }: Json): string {
  if (typeof budget !== 'number') return 'medium';
  if (budget <= 1_024) return 'low';
  return budget <= 4_096 ? 'medium' : 'high';
}

function functionOf({ name, description, input_schema: parameters }: Json): Json[] {
  if (parameters === undefined) return [];
  return [{ type: 'function', function: { name, ...(description !== undefined && { description }), parameters } }];
}

/** A turn of tool results becomes a message for each, before the rest of the turn. */
function messagesOf({ role, content }: Json): Json[] {
  if (typeof content === 'string') return [{ role, content }];
  const blocks = listOf(content);
  if (role === 'assistant') {
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(callOf);
    return [{ role, content: textOf(blocks), ...(calls.length > 0 && { tool_calls: calls }) }];
  }
  const results = blocks.filter(({ type }) => type === 'tool_result').map(resultOf);
  const parts = blocks.flatMap(partOf);
  return [...results, ...(parts.length > 0 ? [{ role, content: parts }] : [])];
}

function callOf({ id, name, input }: Json): Json {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}

function resultOf({ tool_use_id: id, content }: Json): Json {
  return { role: 'tool', tool_call_id: id, content: typeof content === 'string' ? content : textOf(content) };
}

function partOf({ type, text, source }: Json): Json[] {
  if (type === 'text') return [{ type: 'text', text }];
  if (type !== 'image') return [];
  const { media_type: mediaType, data, url } = source as Json;
  return [{ type: 'image_url', image_url: { url: url ?? `data:${mediaType};base64,${data}` } }];
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function textOf(blocks: unknown): string {
  return listOf(blocks)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => String(text))
    .join('\n');
}

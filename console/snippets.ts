// A request as code to copy: curl, Anthropic's SDKs, Claude Code. Pure. Each string follows the quoting rules of its
// language, so the code runs as shown.

export interface SnippetOf {
  /** The base URL of the service, without /v1. */
  baseUrl: string;
  /** Null: the code reads the environment variable ANTHROPIC_API_KEY, or OPENAI_API_KEY for OpenAI's SDKs. */
  key: string | null;
  /** The body of POST /v1/messages. */
  body: Readonly<Record<string, unknown>>;
}

export const KEY_VARIABLE = 'ANTHROPIC_API_KEY';

/** The first message of a new key. */
export function firstBody(model: string, words: string): Readonly<Record<string, unknown>> {
  return { model, max_tokens: 200, messages: [{ role: 'user', content: words }] };
}

export function curlOf({ baseUrl, key, body }: SnippetOf): string {
  const shownKey = key === null ? `"x-api-key: $${KEY_VARIABLE}"` : shellQuoted(`x-api-key: ${key}`);
  return [
    `curl ${body['stream'] === true ? '--no-buffer ' : ''}${shellQuoted(`${baseUrl}/v1/messages`)}`,
    `  -H ${shownKey}`,
    `  -H 'anthropic-version: 2023-06-01'`,
    `  -H 'content-type: application/json'`,
    `  -d ${shellQuoted(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n');
}

export function typescriptOf({ baseUrl, key, body }: SnippetOf): string {
  const apiKey = key === null ? `process.env['${KEY_VARIABLE}']` : scriptText(key);
  const made = [
    "import Anthropic from '@anthropic-ai/sdk';",
    '',
    `const client = new Anthropic({ baseURL: ${scriptText(baseUrl)}, apiKey: ${apiKey} });`,
  ];
  const { stream, ...whole } = body;
  if (stream !== true)
    return [...made, `const message = await client.messages.create(${scriptValue(whole)});`, LOG_CONTENT].join('\n');
  return [
    ...made,
    `const stream = client.messages.stream(${scriptValue(whole)});`,
    "stream.on('text', (text) => process.stdout.write(text));",
    'const message = await stream.finalMessage();',
    LOG_CONTENT,
  ].join('\n');
}

const LOG_CONTENT = 'console.log(message.content, message.usage);';

export function pythonOf({ baseUrl, key, body }: SnippetOf): string {
  const apiKey = key === null ? `os.environ[${scriptText(KEY_VARIABLE)}]` : scriptText(key);
  const made = [
    ...(key === null ? ['import os', ''] : []),
    'import anthropic',
    '',
    `client = anthropic.Anthropic(base_url=${scriptText(baseUrl)}, api_key=${apiKey})`,
  ];
  const { stream, ...whole } = body;
  const named = pythonArguments(whole);
  if (stream !== true)
    return [...made, `message = client.messages.create(${named})`, 'print(message.content, message.usage)'].join('\n');
  return [
    ...made,
    `with client.messages.stream(${named}) as stream:`,
    '    for text in stream.text_stream:',
    '        print(text, end="", flush=True)',
    '    message = stream.get_final_message()',
    'print(message.content, message.usage)',
  ].join('\n');
}

/** The shell commands that connect Claude Code to the service. */
export function claudeCodeOf({ baseUrl, key, model }: Omit<SnippetOf, 'body'> & { model: string }): string {
  return [
    `export ANTHROPIC_BASE_URL=${shellQuoted(baseUrl)}`,
    `export ANTHROPIC_AUTH_TOKEN=${key === null ? `"$${KEY_VARIABLE}"` : shellQuoted(key)}`,
    `export ANTHROPIC_MODEL=${shellQuoted(model)}`,
    `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${shellQuoted(model)}`,
    'export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1',
    'claude',
  ].join('\n');
}

/** Quotes a word for a shell. Only the single quote is special within single quotes. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A JSON string is also a JavaScript and Python string: JSON.stringify escapes lone surrogates. */
export function scriptText(text: string): string {
  return JSON.stringify(text);
}

export function scriptValue(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

export function pythonArguments(body: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(body)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `    ${name}=${pythonValue(value, '    ')},\n`);
  return `\n${lines.join('')}`;
}

/** A JSON value in Python syntax: only null, true and false differ. */
function pythonValue(value: unknown, indent: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const members = Array.isArray(value)
    ? value.map((member) => pythonValue(member, inner))
    : Object.entries(value)
        .filter(([, member]) => member !== undefined)
        .map(([name, member]) => `${JSON.stringify(name)}: ${pythonValue(member, inner)}`);
  if (members.length === 0) return `${open}${close}`;
  return `${open}\n${members.map((member) => `${inner}${member},\n`).join('')}${indent}${close}`;
}

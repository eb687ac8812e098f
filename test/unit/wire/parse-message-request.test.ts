// Validation of a body as a message request; the request keeps the whole body.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { parseInTurns, parseMessageRequest } from '../../../src/wire/wire.ts';

const plain = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };

function parse(body: unknown) {
  return parseMessageRequest(new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)));
}

function refusal(body: unknown): [string, string] {
  try {
    if (body instanceof Uint8Array) parseMessageRequest(body);
    else parse(body);
  } catch (error) {
    if (error instanceof TurnpikeError) return [error.code, error.message];
    throw error;
  }
  return ['accepted', ''];
}

test('a request keeps its own text and has the fields that the service needs', () => {
  const text =
    '{ "model":"m" ,"max_tokens":5,"stream":true,"messages":[{"role":"user","content":"é"}],"later":{"x":[1]} }';
  const request = parse(text);
  expect(request.text).toBe(text);
  expect(request.bytes).toBe(new TextEncoder().encode(text).length);
  expect(request).toMatchObject({ model: 'm', maxTokens: 5, stream: true, body: { later: { x: [1] } } });
  const span = request.members.get('later');
  expect(text.slice(span?.start, span?.end)).toBe('{"x":[1]}');
});

test('a tool has a name of bounded length, also one that a message adds', () => {
  const longest = 'n'.repeat(bounds.toolNameCharactersMax);
  const withTool = (name: string) => ({ ...plain, tools: [{ name: 'a' }, { name }] });
  const adding = (name: string) => ({
    ...plain,
    messages: [
      ...plain.messages,
      { role: 'system', content: [{ type: 'tool_addition', tool: { definition: { name } } }] },
    ],
  });
  const sentence = `String should have at most ${bounds.toolNameCharactersMax} characters`;
  for (const body of [withTool(longest), adding(longest)]) expect(refusal(body)).toEqual(['accepted', '']);
  expect(refusal(withTool(`${longest}n`))).toEqual(['invalid_request', `tools.1.name: ${sentence}`]);
  expect(refusal(adding(`${longest}n`))).toEqual([
    'invalid_request',
    `messages.1.content.0.tool.definition.name: ${sentence}`,
  ]);
});

test('max_tokens and stream may be absent or null', () => {
  const { max_tokens: _, ...rest } = plain;
  expect(parse(rest)).toMatchObject({ maxTokens: null, stream: false });
  expect(parse({ ...plain, max_tokens: null, stream: null, system: null, tools: null, thread: null })).toMatchObject({
    maxTokens: null,
    stream: false,
  });
  for (const maxTokens of [0, Number.MAX_SAFE_INTEGER])
    expect(parse({ ...plain, max_tokens: maxTokens }).maxTokens).toBe(maxTokens);
});

test('a byte order mark is skipped', () => {
  const request = parse(`\ufeff${JSON.stringify(plain)}`);
  expect(request.text).toBe(JSON.stringify(plain));
  expect(request.bytes).toBe(request.text.length);
});

test('a body that is not UTF-8 or not JSON is invalid_json', () => {
  expect(refusal(new Uint8Array([0x7b, 0xff, 0x7d]))[0]).toBe('invalid_json');
  expect(refusal(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]))[0]).toBe('invalid_json'); // half a surrogate pair
  for (const text of ['', '{', '{"model":}', '{"model":"m",}', 'nonsense', '{"a":"\n"}', '{}}', '{"a":1}{', '"\\'])
    expect(refusal(text)).toEqual(['invalid_json', expect.stringMatching(/^The request body is not valid JSON: .+/)]);
});

test('a syntax error is described briefly, however long the text', () => {
  expect(refusal(`{"a":${'x'.repeat(1e6)}}`)[1].length).toBeLessThan(300);
});

test('the error for an invalid field begins with its path', () => {
  const message = { role: 'user', content: 'hi' };
  const cases: [unknown, string][] = [
    [[], 'body: Input should be a valid dictionary'],
    ['null', 'body: Input should be a valid dictionary'],
    [{ ...plain, model: undefined }, 'model: Field required'],
    [{ ...plain, model: 7 }, 'model: Input should be a valid string'],
    [{ ...plain, model: '' }, 'model: String should have at least 1 character'],
    [{ ...plain, model: 'm'.repeat(bounds.modelNameCharactersMax + 1) }, 'model: String should have at most'],
    [{ ...plain, messages: undefined }, 'messages: Field required'],
    [{ ...plain, messages: 'hi' }, 'messages: Input should be a valid list'],
    [{ ...plain, messages: [] }, 'messages: at least one message is required'],
    [{ ...plain, messages: Array(bounds.messagesMax + 1).fill(message) }, 'messages: List should have at most'],
    [{ ...plain, messages: ['hi'] }, 'messages.0: Input should be a valid dictionary'],
    [{ ...plain, messages: [message, { content: 'hi' }] }, 'messages.1.role: Field required'],
    [{ ...plain, messages: [{ role: 'tool', content: 'hi' }] }, "messages.0.role: Input should be 'user'"],
    [{ ...plain, messages: [{ role: 'user' }] }, 'messages.0.content: Field required'],
    [
      { ...plain, messages: [{ role: 'user', content: null }] },
      'messages.0.content: Input should be a valid string or',
    ],
    [{ ...plain, messages: [{ role: 'user', content: ['hi'] }] }, 'messages.0.content.0: Input should be a valid dict'],
    [{ ...plain, messages: [{ role: 'user', content: [{ text: 'a' }] }] }, 'messages.0.content.0.type: Field required'],
    [{ ...plain, messages: [{ role: 'user', content: [{ type: 1 }] }] }, 'messages.0.content.0.type: Input should be'],
    [{ ...plain, max_tokens: -1 }, 'max_tokens: Input should be greater than or equal to 0'],
    [{ ...plain, max_tokens: 1.5 }, 'max_tokens: Input should be a valid integer'],
    [{ ...plain, max_tokens: '5' }, 'max_tokens: Input should be a valid integer'],
    [
      '{"model":"m","max_tokens":-0,"messages":[{"role":"user","content":"hi"}]}',
      'max_tokens: Input should be a valid integer',
    ],
    [{ ...plain, max_tokens: 1e-5 }, 'max_tokens: Input should be a valid integer'],
    [{ ...plain, max_tokens: 1e308 }, 'max_tokens: Input should be less than or equal to'],
    [{ ...plain, max_tokens: 2 ** 53 }, 'max_tokens: Input should be less than or equal to'],
    [JSON.stringify(plain).replace('5', '1e999'), 'max_tokens: Input should be a valid integer'],
    [{ ...plain, stream: 'true' }, 'stream: Input should be a valid boolean'],
    [{ ...plain, system: 5 }, 'system: Input should be a valid string or list'],
    [{ ...plain, tools: {} }, 'tools: Input should be a valid list'],
    ['{"model":"a","model":"b"}', 'model: Duplicate key in one object'],
  ];
  for (const [body, message] of cases)
    expect(refusal(body)).toEqual(['invalid_request', expect.stringContaining(message)]);
  for (const [body, message] of cases) expect(refusal(body)[1]).toStartWith(message);
});

test('the roles user, assistant and system are all accepted', () => {
  const messages = ['user', 'assistant', 'user', 'system'].map((role) => ({
    role,
    content: [{ type: 'text', text: 'a' }],
  }));
  expect(refusal({ ...plain, messages })[0]).toBe('accepted');
});

test('a Blob is decoded like its bytes', async () => {
  const text = JSON.stringify({ ...plain, system: 'é \ufffd 😀' });
  for (const valid of [text, `\ufeff${text}`]) {
    const bytes = new TextEncoder().encode(valid);
    expect(await parseInTurns(new Blob([bytes]))).toEqual(parseMessageRequest(bytes));
  }
  const invalid = new Blob([new TextEncoder().encode(text).fill(0xff, 20, 21)]);
  await expect(parseInTurns(invalid)).rejects.toMatchObject({ code: 'invalid_json' });
});

test('a thread gets the error code on which clients retry without it', () => {
  expect(refusal({ ...plain, thread: { type: 'create' } })).toEqual([
    'thread_unsupported_request',
    'thread is not supported by this endpoint',
  ]);
});

test('fields named __proto__ change no prototype, also when nested', () => {
  const request = parse(
    '{"model":"m","messages":[{"role":"user","content":"a","__proto__":{"polluted":1}}],"__proto__":{"polluted":1,"max_tokens":9}}',
  );
  expect(Reflect.get(request.body, 'polluted')).toBeUndefined();
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  expect(request.maxTokens).toBeNull();
});

test('100,000 levels in an unknown field are refused as too deep', () => {
  const [code, message] = refusal(`{"model":"m","extra":${'['.repeat(100_000)}`);
  expect(code).toBe('invalid_request');
  expect(message).toStartWith('extra.0');
});

const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5' };

test('an advisor tool that the client may not have chosen is left out, and everything else keeps its text', () => {
  const text = `{"model":"m", "tools":[${JSON.stringify(advisor)},{"name":"f","input_schema":{"const":12345678901234567890}}], "messages":[{"role":"user","content":"caf\\u00e9"}]}`;
  const request = parse(text);
  expect(request.text).toBe(
    '{"model":"m", "tools":[{"name":"f","input_schema":{"const":12345678901234567890}}], "messages":[{"role":"user","content":"caf\\u00e9"}]}',
  );
  expect(JSON.stringify(request.body)).not.toContain('advisor');
  const span = request.members.get('messages');
  expect(request.text.slice(span?.start, span?.end)).toBe('[{"role":"user","content":"caf\\u00e9"}]');
});

test('an advisor tool alone leaves no tools and no choice among them, and one that is demanded stays, to be refused', () => {
  const choose = (tool_choice: object) => parse({ ...plain, tools: [advisor], tool_choice });
  expect(JSON.parse(choose({ type: 'auto' }).text)).toEqual(plain);
  expect(choose({ type: 'auto' }).body).toEqual(plain);
  const demanded = choose({ type: 'tool', name: 'advisor' });
  expect(demanded.body['tools']).toEqual([advisor]);
});

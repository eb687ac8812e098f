// Conversations of one question and one answer: words, pictures, documents, caches, objects, stops, long answers, and
// what is asked beside messages. No tests of its own.

import { expect } from 'bun:test';
import { scripts } from '../../../support/scripted-upstream.ts';
import { sayMessage } from '../upstreams/speak-messages.ts';
import {
  blocksOf,
  type Conversation,
  expectRecord,
  type Json,
  modelOf,
  PNG,
  picture,
  saidTo,
  USUAL,
  USUAL_USAGE,
  user,
} from './conversation.ts';

const SAID = 'Hello — ünïcödé \u2028 ✓ 😀 "quoted" \\ back';
const ANSWERED = 'Good day — ✓ 😀 \u2028 </tag> "so" \\ it is';
const LONG = Array.from({ length: 6_000 }, (_, line) => `line ${line} ✓\n`).join('');
const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n').toString('base64');
const linked = { type: 'image', source: { type: 'url', url: 'https://images.example.com/cat.png' } };
const paper = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } };
const CITY = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  additionalProperties: false,
};

const hello = { max_tokens: 200, system: 'Be brief.', messages: [user(SAID)] };

export const text: Conversation = {
  name: 'text',
  body: hello,
  upstream: [sayMessage({ content: [{ type: 'text', text: ANSWERED }] })],
  check({ got, sent, records }) {
    expect(got).toMatchObject({ text: ANSWERED, usage: USUAL_USAGE });
    expect(got.stopReason ?? 'stop').toMatch(/^(?:end_turn|stop)$/);
    expect(sent).toHaveLength(1);
    expect(saidTo(sent[0])).toBe(SAID);
    expect(JSON.stringify(sent[0]?.json['system'])).toContain('Be brief.');
    expect(sent[0]?.json).toMatchObject({ max_tokens: 200 });
    expectRecord(records, 1, { ...USUAL, stream: false });
  },
};

export const stream: Conversation = {
  name: 'stream',
  body: hello,
  isStreamed: true,
  upstream: [sayMessage({ content: [{ type: 'text', text: ANSWERED }] })],
  check({ got, sent, records }) {
    expect(got).toMatchObject({ text: ANSWERED, usage: USUAL_USAGE });
    expect(sent.map(({ json }) => json['stream'])).toEqual([true]);
    expectRecord(records, 1, { ...USUAL, stream: true });
  },
};

export const images: Conversation = {
  name: 'images',
  body: { max_tokens: 200, messages: [user([{ type: 'text', text: 'Compare.' }, picture, linked])] },
  upstream: [sayMessage({ content: [{ type: 'text', text: 'Both are small.' }] })],
  check({ got, sent, records }) {
    expect(got.text).toBe('Both are small.');
    expect(blocksOf(sent[0], 'image').map(({ source }) => source as object)).toEqual([picture.source, linked.source]);
    expectRecord(records, 1, USUAL);
  },
};

export const documents: Conversation = {
  name: 'documents',
  body: { max_tokens: 200, messages: [user([paper, { type: 'text', text: 'Summarise.' }])] },
  upstream: [sayMessage({ content: [{ type: 'text', text: 'It is empty.' }] })],
  check({ got, sent, records }) {
    expect(got.text).toBe('It is empty.');
    expect(blocksOf(sent[0], 'document')).toMatchObject([{ source: paper.source }]);
    expectRecord(records, 1, USUAL);
  },
};

export const caching: Conversation = {
  name: 'caching',
  body: {
    max_tokens: 200,
    system: [{ type: 'text', text: 'Know this.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [user([{ type: 'text', text: 'And this.', cache_control: { type: 'ephemeral' } }])],
  },
  upstream: [
    sayMessage({
      content: [{ type: 'text', text: 'Known.' }],
      usage: {
        input_tokens: 20,
        cache_creation_input_tokens: 50,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
        cache_read_input_tokens: 100,
        output_tokens: 30,
      },
    }),
  ],
  check({ got, sent, records }) {
    expect(got).toMatchObject({ text: 'Known.', usage: { ...USUAL_USAGE, cacheWrite: 50 } });
    expect(sent[0]?.json['system']).toMatchObject([{ cache_control: { type: 'ephemeral', ttl: '1h' } }]);
    expect(blocksOf(sent[0], 'text')).toMatchObject([{ text: 'And this.', cache_control: { type: 'ephemeral' } }]);
    expectRecord(records, 1, { ...USUAL, cache_creation_input_tokens: 50, cost: '0.000795' });
  },
};

export const structured: Conversation = {
  name: 'structured',
  body: {
    max_tokens: 200,
    messages: [user('Which city, how long?')],
    output_config: { format: { type: 'json_schema', schema: CITY } },
  },
  upstream: [sayMessage({ content: [{ type: 'text', text: '{"city": "Zürich", "days": 2}' }] })],
  check({ got, sent, records }) {
    expect(got.object).toEqual({ city: 'Zürich', days: 2 });
    const schema = { type: 'object', required: ['city', 'days'], additionalProperties: false };
    expect(sent[0]?.json['output_config']).toMatchObject({ format: { type: 'json_schema', schema } });
    expectRecord(records, 1, USUAL);
  },
};

export const stop: Conversation = {
  name: 'stop',
  body: { ...hello, stop_sequences: ['END', '\n\nEND'] },
  upstream: [
    sayMessage({ content: [{ type: 'text', text: 'So far' }], stopReason: 'stop_sequence', stopSequence: 'END' }),
  ],
  check({ got, sent, records }) {
    expect(got.text).toBe('So far');
    expect(got.stopReason).toMatch(/^stop(?:_sequence)?$/);
    expect(sent[0]?.json['stop_sequences']).toEqual(['END', '\n\nEND']);
    expectRecord(records, 1, USUAL);
  },
};

export const long: Conversation = {
  name: 'long',
  body: { ...hello, max_tokens: 60_000 },
  isStreamed: true,
  upstream: [
    sayMessage({ content: [{ type: 'text', text: LONG }], usage: { input_tokens: 20, output_tokens: 50_000 } }),
  ],
  check({ got, records }) {
    expect(got.text === LONG ? 'whole' : `${got.text?.length} of ${LONG.length} characters`).toBe('whole');
    expectRecord(records, 1, { outcome: 'completed', output_tokens: 50_000, cost: '0.75006' });
  },
};

export const count: Conversation = {
  name: 'count',
  body: { messages: hello.messages, system: hello.system },
  upstream: [scripts.json('{"input_tokens":42}')],
  check({ got, sent, records }) {
    expect(got.inputTokens).toBe(42);
    expect(sent.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens']);
    expect(saidTo(sent[0])).toBe(SAID);
    expect(records).toEqual([]);
  },
};

export const models: Conversation = {
  name: 'models',
  body: {},
  upstream: [scripts.good()],
  check({ got, sent }) {
    for (const name of ['text', 'models']) expect(got.models).toContain(modelOf(name));
    expect(new Set(got.models).size).toBe(got.models?.length ?? 0);
    expect(sent).toEqual([]);
  },
};

/** The older protocol of a prompt and its continuation, for clients that have it. */
export const completion: Conversation = {
  name: 'completion',
  body: { max_tokens: 200, messages: [user(SAID)] },
  only: ['dspy'],
  upstream: [sayMessage({ content: [{ type: 'text', text: ANSWERED }] })],
  check({ got, sent, records }) {
    expect(got.text).toBe(ANSWERED);
    expect(saidTo(sent[0])).toBe(SAID);
    expectRecord(records, 1, USUAL);
  },
};

/** The clients with calls for images and sound. */
const OPENAI_MEDIA = ['openai-sdk', 'openai-python', 'open-webui'];

export const drawing: Conversation = {
  name: 'drawing',
  body: { prompt: 'a red bicycle', n: 2, size: '1024x1024' },
  only: OPENAI_MEDIA,
  provider: { kind: 'openai' },
  model: { serves: 'images', price: { units: { per_image: { '1x1': '0.01', '1024x1024': '0.04' } } } },
  upstream: [scripts.json(JSON.stringify({ created: 1_790_000_000, data: [{ b64_json: PNG }, { b64_json: PNG }] }))],
  check({ got, sent, records }) {
    expect(got.files).toEqual([PNG, PNG]);
    expect(sent.map(({ json }) => [json['prompt'], json['n'], json['size']])).toEqual([
      ['a red bicycle', 2, '1024x1024'],
    ]);
    // The file itself says its size.
    expectRecord(records, 1, { outcome: 'completed', endpoint: 'images', units: { images: 2 }, cost: '0.02' });
  },
};

export const editing: Conversation = {
  name: 'editing',
  body: { prompt: 'the bicycle in blue', picture: PNG },
  only: [...OPENAI_MEDIA, 'genai-sdk', 'genai-python'],
  provider: { kind: 'openai' },
  model: { serves: 'images', price: { units: { per_image: '0.04' } } },
  upstream: [scripts.json(JSON.stringify({ created: 1_790_000_000, data: [{ b64_json: PNG }] }))],
  check({ got, sent, records }) {
    expect(got.files).toEqual([PNG]);
    expect(sent.map(({ path, json }) => [path, json['prompt'], json['image'] ?? json['image[]']])).toEqual([
      ['/v1/images/edits', 'the bicycle in blue', PNG],
    ]);
    expectRecord(records, 1, { outcome: 'completed', endpoint: 'images', units: { images: 1 }, cost: '0.04' });
  },
};

const SOUND = 'ID3 sound of a good morning';

export const speaking: Conversation = {
  name: 'speaking',
  body: { input: 'Good morning!', voice: 'alloy' },
  only: OPENAI_MEDIA,
  provider: { kind: 'openai' },
  model: { serves: 'speech', price: { units: { per_million_characters: '15' } } },
  upstream: [(answer) => answer.send(200, { 'content-type': 'audio/mpeg' }, SOUND)],
  check({ got, sent, records }) {
    expect(got.files).toEqual([btoa(SOUND)]);
    expect(sent.map(({ json }) => [json['input'], json['voice']])).toEqual([['Good morning!', 'alloy']]);
    expectRecord(records, 1, { outcome: 'completed', endpoint: 'speech', units: { characters: 13 }, cost: '0.000195' });
  },
};

/** A second of silence. */
const RECORDED = Buffer.concat([
  Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0', 'latin1'),
  Buffer.from([0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0]),
  Buffer.from('data\x40\x1f\0\0', 'latin1'),
  Buffer.alloc(8_000, 0x80),
]).toString('base64');

export const hearing: Conversation = {
  name: 'hearing',
  body: { sound: RECORDED, language: 'de' },
  only: OPENAI_MEDIA,
  provider: { kind: 'openai' },
  model: { serves: 'transcription', price: { units: { per_hour: '0.36' } } },
  upstream: [scripts.json(JSON.stringify({ text: ANSWERED, usage: { type: 'duration', seconds: 1 } }))],
  check({ got, sent, records }) {
    expect(got.text).toBe(ANSWERED);
    expect(sent.map(({ path, json }) => [path, json['file'], json['language']])).toEqual([
      ['/v1/audio/transcriptions', RECORDED, 'de'],
    ]);
    const record = { outcome: 'completed', endpoint: 'transcription', units: { seconds: 1 }, cost: '0.0001' };
    expectRecord(records, 1, record);
  },
};

export const ranking: Conversation = {
  name: 'ranking',
  body: { query: 'a red car', documents: ['a blue boat', 'a red bus — ✓'], top_n: 1 },
  only: ['cohere-sdk'],
  provider: { kind: 'openai' },
  model: { serves: 'rerank', price: { units: { per_thousand_searches: '2' } } },
  upstream: [
    scripts.json(
      JSON.stringify({ results: [{ index: 1, relevance_score: 0.75 }], meta: { billed_units: { search_units: 1 } } }),
    ),
  ],
  check({ got, sent, records }) {
    expect(got.ranking).toEqual([[1, 0.75]]);
    expect(sent.map(({ json }) => [json['query'], json['documents'], json['top_n']])).toEqual([
      ['a red car', ['a blue boat', 'a red bus — ✓'], 1],
    ]);
    expectRecord(records, 1, { outcome: 'completed', endpoint: 'rerank', units: { searches: 1 }, cost: '0.002' });
  },
};

const VECTORS = [
  [0.5, -0.25],
  [0.125, 1],
];

/** The text of the message is uploaded as a file, which the message names. */
export const files: Conversation = {
  name: 'files',
  body: hello,
  only: ['anthropic-sdk', 'anthropic-sdk-0', 'anthropic-python', 'openai-sdk', 'openai-python'],
  upstream: [sayMessage({ content: [{ type: 'text', text: ANSWERED }] })],
  check({ got, sent, records }) {
    const bytes = Buffer.byteLength(SAID);
    expect(got).toMatchObject({ text: ANSWERED, file: { content: SAID, bytes, isListed: true, statusOfDeleted: 404 } });
    const source = { type: 'text', media_type: 'text/plain', data: SAID };
    expect(sent).toHaveLength(1);
    expect(blocksOf(sent[0], 'document')).toMatchObject([{ source }]);
    expectRecord(records, 1, { ...USUAL, stream: false });
  },
};

/** The message is the only request of a batch, whose result is read once the batch has ended. */
export const batch: Conversation = {
  name: 'batch',
  body: hello,
  only: ['anthropic-python', 'openai-python'],
  upstream: [sayMessage({ content: [{ type: 'text', text: ANSWERED }] })],
  check({ got, sent, records }) {
    expect(got).toMatchObject({ text: ANSWERED });
    expect(sent).toHaveLength(1);
    expectRecord(records, 1, { ...USUAL, stream: false });
  },
};

/** SDKs ask for vectors in base64, unless they are asked for something else. */
export const embeddings: Conversation = {
  name: 'embeddings',
  body: { input: ['Good morning!', 'Good night — ✓'] },
  only: [
    'openai-sdk',
    'openai-python',
    'genai-sdk',
    'genai-python',
    'vercel-openai',
    'openrouter-sdk',
    'open-webui',
    'mastra',
    'llama-index',
    'haystack',
    'openai-go',
    'dspy',
    'async-openai',
  ],
  provider: { kind: 'openai' },
  model: { serves: 'embeddings', price: { input: '3' } },
  upstream: [
    (answer, request) => {
      const { encoding_format } = JSON.parse(request.body) as Json;
      const data = VECTORS.map((vector, index) => {
        const bytes = new Uint8Array(new Float32Array(vector).buffer);
        return { object: 'embedding', index, embedding: encoding_format === 'base64' ? bytes.toBase64() : vector };
      });
      const usage = { prompt_tokens: 20, total_tokens: 20 };
      const list = JSON.stringify({ object: 'list', data, model: 'embedder', usage });
      answer.send(200, { 'content-type': 'application/json' }, list);
    },
  ],
  check({ got, sent, records }) {
    expect(got.vectors).toEqual(VECTORS);
    expect(sent.map(({ json }) => json['input'])).toEqual([embeddings.body['input']]);
    expectRecord(records, 1, { outcome: 'completed', input_tokens: 20, output_tokens: 0, cost: '0.00006' });
  },
};

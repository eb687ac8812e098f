// PDFs and texts in the place of an image are documents, and images in the place of a file are images, for every front with
// such fields.

import { describe, expect, test } from 'bun:test';
import { readAsMessages as readChat, user } from './chat-completions/read-as-messages.ts';
import { messageOf as readGemini } from './gemini/read-gemini.ts';
import { readAsMessages as readResponses } from './responses/read-response.ts';

type Json = Record<string, unknown>;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const PDF = base64('%PDF-1.7 a file');
const PNG = Buffer.from('\x89PNG\r\n\x1a\n a file', 'latin1').toString('base64');
const JPEG = Buffer.from('\xff\xd8\xff\xe0 a file', 'latin1').toString('base64');
const GIF = base64('GIF89a a file');
const WEBP = base64('RIFF1234WEBP a file');
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } };
const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüezi, a;b' } };
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
const image = (media_type: string, data: string) => ({ type: 'image', source: { type: 'base64', media_type, data } });
const jpeg = { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: PNG } };

/** The first block of the user's message. */
const blockOf = (message: Json) => ((message['messages'] as { content: Json[] }[])[0]?.content ?? [])[0];

/** Places of an image, by front. Gemini's have a media type of their own, which must be that of a document for one. */
const PLACES: Readonly<Record<string, (url: string) => Json>> = {
  'image_url of Chat Completions': (url) => readChat({ messages: [user([{ type: 'image_url', image_url: { url } }])] }),
  'image_url of Chat Completions, as a text': (url) =>
    readChat({ messages: [user([{ type: 'image_url', image_url: url }])] }),
  'input_image of Responses': (url) =>
    readResponses({ input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }),
  'image of Messages': (url) => readChat({ messages: [user([{ type: 'image', source: { type: 'url', url } }])] }),
  'file of Chat Completions': (url) => readChat({ messages: [user([{ type: 'file', file: { file_data: url } }])] }),
  'input_file of Responses': (url) =>
    readResponses({ input: [{ role: 'user', content: [{ type: 'input_file', file_data: url }] }] }),
  'document of Messages': (url) => readChat({ messages: [user([{ type: 'document', source: { type: 'url', url } }])] }),
};

const MEDIA: readonly [url: string, block: Json][] = [
  [`data:application/pdf;base64,${PDF}`, pdf],
  [`data:Application/PDF;name=a.pdf;base64,${PDF}`, pdf],
  [`data:application/octet-stream;base64,${PDF}`, pdf],
  [`data:image/png;base64,${PDF}`, pdf],
  [`data:;base64,${PDF}`, pdf],
  [`data:text/plain;base64,${base64('Grüezi, a;b')}`, text],
  [`data:text/csv;charset=utf-8;base64,${base64('Grüezi, a;b')}`, text],
  [`data:image/png;base64,${PNG}`, png],
  [`data:image/jpg;base64,${PNG}`, jpeg],
  [PDF, pdf],
  [PNG, png],
  [JPEG, image('image/jpeg', JPEG)],
  [GIF, image('image/gif', GIF)],
  [WEBP, image('image/webp', WEBP)],
  [`data:application/octet-stream;base64,${PNG}`, png],
  ['https://example.org/a.png', { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }],
  ['https://example.org/A.PDF?b', { type: 'document', source: { type: 'url', url: 'https://example.org/A.PDF?b' } }],
];

describe.each(Object.entries(PLACES))('%s', (_, read) => {
  test.each(MEDIA)('%s', (url, block) => {
    expect(blockOf(read(url))).toEqual(block);
  });
});

test.each([
  ['image_url of Chat Completions', 'image'],
  ['file of Chat Completions', 'document'],
])('an address that does not tell is what the field is for: %s', (place, type) => {
  const url = 'https://example.org/a?b=.pdf&c=.png';
  expect(blockOf(PLACES[place]?.(url) ?? {})).toEqual({ type, source: { type: 'url', url } });
});

test.each<[given: Json, block: Json]>([
  [image('application/pdf', PDF), pdf],
  [image('image/png', PDF), pdf],
  [image('image/jpg', PNG), jpeg],
  [image('text/csv', base64('Grüezi, a;b')), text],
  [image('image/bmp', 'AAAA'), image('image/bmp', 'AAAA')],
  [image('video/mp4', 'AAAA'), image('video/mp4', 'AAAA')],
  [{ ...image('image/png', PNG), type: 'document', title: 'a', citations: { enabled: true } }, png],
  [
    { ...pdf, title: 'a', citations: { enabled: true } },
    { ...pdf, title: 'a', citations: { enabled: true } },
  ],
])('a block of Messages is what its file is: %j', (given, block) => {
  const cache_control = { type: 'ephemeral' };
  expect(blockOf(readChat({ messages: [user([{ ...given, cache_control }])] }))).toEqual({ ...block, cache_control });
});

test('a file has its name as the title of a document only', () => {
  const file = (file_data: string) =>
    readChat({ messages: [user([{ type: 'file', file: { file_data, filename: 'a' } }])] });
  expect(blockOf(file(PNG))).toEqual(png);
  expect(blockOf(file(PDF))).toEqual({ ...pdf, title: 'a' });
});

test.each([
  ['application/pdf', PDF, pdf],
  ['text/csv', base64('Grüezi, a;b'), text],
  ['image/png', PNG, png],
  ['image/png', PDF, pdf],
])('inlineData of Gemini: %s', (mimeType, data, block) => {
  expect(blockOf(readGemini({ contents: [{ role: 'user', parts: [{ inlineData: { mimeType, data } }] }] }))).toEqual(
    block,
  );
});

// PDFs and texts in the place of an image are documents, for every front with such a field; images stay images.

import { describe, expect, test } from 'bun:test';
import { readAsMessages as readChat, user } from './chat-completions/read-as-messages.ts';
import { messageOf as readGemini } from './gemini/read-gemini.ts';
import { readAsMessages as readResponses } from './responses/read-response.ts';

type Json = Record<string, unknown>;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const PDF = base64('%PDF-1.7 a file');
const PNG = base64('\x89PNG a file');
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } };
const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüezi, a;b' } };
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
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
  ['https://example.org/a.png', { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }],
  ['https://example.org/a?b=.pdf', { type: 'image', source: { type: 'url', url: 'https://example.org/a?b=.pdf' } }],
  ['https://example.org/A.PDF?b', { type: 'document', source: { type: 'url', url: 'https://example.org/A.PDF?b' } }],
];

describe.each(Object.entries(PLACES))('%s', (_, read) => {
  test.each(MEDIA)('%s', (url, block) => {
    expect(blockOf(read(url))).toEqual(block);
  });
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

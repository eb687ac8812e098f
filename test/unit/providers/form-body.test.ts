// The form that providers are sent: its bytes, and that it can be sent again.

import { expect, test } from 'bun:test';
import { formBody } from '../../../src/providers/form-body.ts';

const content = Buffer.from('RIFF\r\n--not the boundary\r\n');
const file = {
  field: 'file',
  name: 'a "b"\r\nx-evil: 1.wav',
  mediaType: 'audio/wav',
  bytes: content.length,
  async *read() {
    yield content.subarray(0, 5);
    yield content.subarray(5);
  },
};
const bytesOf = async (body: ReturnType<typeof formBody>) => Buffer.concat(await Array.fromAsync(body.read()));

test('a form has its length, its fields in order, and its files; a name cannot end its head', async () => {
  const body = formBody(
    [
      { name: 'a"', value: '1' },
      { name: 'list[]', value: 'ü' },
    ],
    [file],
  );
  const bytes = await bytesOf(body);
  expect(bytes.length).toBe(body.bytes);
  expect(await bytesOf(body)).toEqual(bytes);
  const boundary = body.contentType.replace('multipart/form-data; boundary=', '');
  expect(bytes.toString()).toBe(
    [
      `--${boundary}\r\ncontent-disposition: form-data; name="a%22"\r\n\r\n1\r\n`,
      `--${boundary}\r\ncontent-disposition: form-data; name="list[]"\r\n\r\nü\r\n`,
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a %22b%22%0D%0Ax-evil: 1.wav"\r\n`,
      `content-type: audio/wav\r\n\r\n${content}\r\n--${boundary}--\r\n`,
    ].join(''),
  );
});

test('a media type that is none is not sent', async () => {
  const bytes = await bytesOf(formBody([], [{ ...file, mediaType: 'a/b\r\nx: y' }]));
  expect(bytes.toString()).toContain('\r\ncontent-type: application/octet-stream\r\n\r\n');
});

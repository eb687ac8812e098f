// Frames of AWS's event stream: a provider that lies about lengths, or damages a frame, is a failure at once and costs no
// memory. `npm run test:clouds` compares the parser with botocore.

import { expect, test } from 'bun:test';
import { crc32 } from 'node:zlib';
import { bounds } from '../../../../src/config/config.ts';
import { FrameParser, loadCodec } from '../../../../src/providers/bedrock/frame-parser.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { converseDriver } from '../conformance/bedrock-wire.ts';
import { bytesOf } from '../conformance/driver.ts';

const codec = await loadCodec();
const frame = (text: string) => bytesOf(converseDriver, [text]);

function prelude(frameBytes: number, headerBytes: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(frameBytes);
  bytes.writeUInt32BE(headerBytes, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  return bytes;
}

/** A frame with these bytes as its headers and right checksums. */
function sealed(headers: Uint8Array, payload = '{}'): Buffer {
  const checked = Buffer.concat([
    prelude(16 + headers.length + payload.length, headers.length),
    headers,
    Buffer.from(payload),
  ]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(checked));
  return Buffer.concat([checked, sum]);
}

function faultOf(parser: FrameParser, bytes: Uint8Array): ProviderFault | null {
  try {
    for (const _ of parser.push(bytes));
    return null;
  } catch (thrown) {
    if (thrown instanceof ProviderFault) return thrown;
    throw thrown;
  }
}

const open = () => new FrameParser(codec, 'theirs-1');

test('a frame that claims too many bytes is a failure as soon as its first 12 bytes are there', () => {
  for (const [frameBytes, headerBytes] of [
    [bounds.upstreamFrameBytesMax + 1, 0],
    [0xffffffff, 0],
    [1_000_000, bounds.upstreamFrameHeaderBytesMax + 1],
    [1_000_000, 0xffffffff],
  ] as const) {
    const parser = open();
    const bytes = prelude(frameBytes, headerBytes);
    expect(faultOf(parser, bytes.subarray(0, 11))).toBeNull();
    expect(faultOf(parser, bytes.subarray(11))).toMatchObject({
      kind: 'failed',
      message: 'the provider sent a frame that is too long',
      upstreamRequestId: 'theirs-1',
    });
  }
});

test('a frame whose parts do not fit into its length is a failure', () => {
  for (const [frameBytes, headerBytes] of [
    [0, 0],
    [15, 0],
    [16, 1],
    [100, 85],
  ] as const)
    expect(faultOf(open(), prelude(frameBytes, headerBytes))?.kind).toBe('failed');
});

test('a frame of the greatest length waits for its bytes, and keeps only those that came', () => {
  const parser = open();
  expect(faultOf(parser, prelude(bounds.upstreamFrameBytesMax, 0))).toBeNull();
  const before = process.memoryUsage().arrayBuffers;
  for (let count = 0; count < 1_000; count++) expect(faultOf(parser, Uint8Array.of(1))).toBeNull();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
});

test('headers that lead beyond their frame are a failure', () => {
  const text = Buffer.from(':message-type');
  for (const headers of [
    Buffer.from([255, 65]),
    Buffer.concat([Buffer.from([text.length]), text, Buffer.from([7, 0xff, 0xff])]),
    Buffer.concat([Buffer.from([text.length]), text, Buffer.from([42])]),
    Buffer.concat([Buffer.from([9]), Buffer.from('__proto__'), Buffer.from([0])]),
    Buffer.from([0, 0]),
    Buffer.alloc(0),
  ])
    expect(faultOf(open(), sealed(headers))?.kind).toBe('failed');
});

test('a damaged frame is a failure after the frames before it, in the same bytes', () => {
  const [first, second] = [frame('messageStart {"role":"assistant"}'), Buffer.from(frame('metadata {"usage":{}}'))];
  second[second.length - 6] = (second[second.length - 6] ?? 0) ^ 1;
  const names: string[] = [];
  const read = () => {
    for (const { name } of open().push(Buffer.concat([first, second]))) names.push(name);
  };
  expect(read).toThrow('the provider sent a damaged frame');
  expect(names).toEqual(['messageStart']);
});

test('many small frames in one chunk, and one long frame in many chunks, are read whole', () => {
  const small = Buffer.concat(Array.from({ length: 500 }, () => frame('contentBlockStop {"contentBlockIndex":0}')));
  expect([...open().push(small)]).toHaveLength(500);
  const long = frame(`metadata {"p":"${'x'.repeat(300_000)}"}`);
  const parser = open();
  const found = [];
  for (let at = 0; at < long.length; at += 1_000) found.push(...parser.push(long.subarray(at, at + 1_000)));
  expect(found).toHaveLength(1);
  expect(found[0]?.text.length).toBe(300_000 + '{"p":""}'.length);
});

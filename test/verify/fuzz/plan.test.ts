// Failures are repeatable: plans, their bytes, and how they are shortened depend on the seed alone.

import { expect, test } from 'bun:test';
import { readAnswers } from './answers.ts';
import { type Batch, planBatch, renderVisit } from './plan.ts';
import { shrink } from './shrink.ts';

const SECRETS = { key: 'sk-tp-key', ownerToken: 'sk-tp-token' };

test('the same seed gives the same bytes, also through JSON, and another seed gives others', () => {
  const bytesOf = (batch: Batch) => Buffer.concat(batch.map((visit) => renderVisit(visit, SECRETS).bytes));
  for (const at of [0, 1, 7]) {
    const batch = planBatch(5, at);
    const bytes = bytesOf(batch);
    expect(bytesOf(planBatch(5, at)).equals(bytes)).toBe(true);
    expect(bytesOf(JSON.parse(JSON.stringify(batch))).equals(bytes)).toBe(true);
    expect(bytesOf(planBatch(6, at)).equals(bytes)).toBe(false);
  }
});

test('a request without mutations is valid HTTP with the length of its body', () => {
  for (const visit of planBatch(1, 0)) {
    const plain = { ...visit, requests: visit.requests.slice(0, 1).map((request) => ({ ...request, mutations: [] })) };
    const { bytes, isOrdered } = renderVisit(plain, SECRETS);
    const [head = '', body = ''] = bytes.toString('latin1').split('\r\n\r\n');
    expect(isOrdered).toBe(true);
    expect(Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)).toBe(body.length);
  }
});

test('a batch shrinks to the one failing mutation', async () => {
  const isHole = ({ name }: { name: string }) => name === 'content-length-twice';
  const breaks = async (batch: Batch) =>
    batch.some(({ requests }) => requests.some(({ mutations }) => mutations.some(isHole)));
  const broken = [planBatch(1, 0), planBatch(1, 1), planBatch(1, 2)].flat();
  const shrunk = await shrink(broken, breaks, () => false);
  expect(shrunk).toHaveLength(1);
  expect(shrunk[0]).toMatchObject({ ending: 'answered', pieces: 1, startMs: 0, restMs: 0 });
  expect(shrunk[0]?.requests.flatMap(({ mutations }) => mutations.map(({ name }) => name))).toEqual([
    'content-length-twice',
  ]);
});

test('responses are parsed strictly, one after the other', () => {
  const read = (text: string, methods: string[] = [], isClosed = false) =>
    readAnswers(Buffer.from(text), methods, isClosed);
  const plain = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
  expect(read(plain + chunked).whole.map(({ body }) => body.toString())).toEqual(['ok', 'ok']);
  expect(read(`HTTP/1.1 100 Continue\r\n\r\n${plain}`).whole).toHaveLength(1);
  expect(read(`HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n${plain}`, ['HEAD']).whole).toHaveLength(2);
  expect(read(plain.slice(0, -1))).toMatchObject({ whole: [], hasPart: true, fault: null });
  expect(read(`${plain}x`).fault).not.toBeNull();
  expect(read(chunked.replace('2\r\n', '-2\r\n')).fault).not.toBeNull();
  expect(read(plain.replace('content-length', 'content length')).fault).not.toBeNull();
});

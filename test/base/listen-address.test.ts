// Where to listen, as people write it.

import { expect, test } from 'bun:test';
import { type ListenAddress, parseListenAddress } from '../../src/base/listen-address.ts';

test.each<[string, ListenAddress | null]>([
  ['127.0.0.1:8080', { hostname: '127.0.0.1', port: 8080 }],
  ['localhost:0', { hostname: 'localhost', port: 0 }],
  [':8080', { hostname: '0.0.0.0', port: 8080 }],
  ['[::1]:8080', { hostname: '::1', port: 8080 }],
  ['[::ffff:10.0.0.1]:80', { hostname: '::ffff:10.0.0.1', port: 80 }],
  ['127.0.0.1', null],
  ['8080', null],
  ['::1:8080', null],
  ['127.0.0.1:65536', null],
  ['127.0.0.1:-1', null],
  ['127.0.0.1:80 ', null],
  ['http://127.0.0.1:80', null],
  ['a b:80', null],
  ['', null],
])('%j', (text, address) => {
  expect(parseListenAddress(text)).toEqual(address as ListenAddress);
});

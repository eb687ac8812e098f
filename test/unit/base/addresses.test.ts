// Address ranges, which are used for the allowed addresses of keys and for trusted proxies, and listen addresses.

import { expect, test } from 'bun:test';
import {
  isInRanges,
  type ListenAddress,
  networksOf,
  parseAddress,
  parseListenAddress,
  parseRange,
} from '../../../src/base/addresses.ts';

function isIn(address: string, range: string): boolean {
  const parsedAddress = parseAddress(address);
  const parsedRange = parseRange(range);
  if (parsedAddress === null || parsedRange === null) throw new Error(`unreadable: ${address} ${range}`);
  return isInRanges(parsedAddress, [parsedRange]);
}

test.each([
  ['10.1.2.3', '10.0.0.0/8', true],
  ['11.0.0.0', '10.0.0.0/8', false],
  ['192.168.1.127', '192.168.1.0/25', true],
  ['192.168.1.128', '192.168.1.0/25', false],
  ['255.255.255.255', '255.255.255.255', true],
  ['255.255.255.254', '255.255.255.255', false],
  ['1.2.3.4', '0.0.0.0/0', true],
  ['::ffff:10.1.2.3', '10.0.0.0/8', true],
  ['10.1.2.3', '::ffff:10.0.0.0/104', true],
  ['11.1.2.3', '::ffff:10.0.0.0/104', false],
  ['1.2.3.4', '::/0', false],
  ['::1', '0.0.0.0/0', false],
  ['::1', '::/0', true],
  ['2001:db8::5', '2001:db8::/32', true],
  ['2001:db9::5', '2001:db8::/32', false],
  ['2001:db8:0:0:8000::', '2001:db8::/65', false],
  ['2001:db8:0:0:7fff::', '2001:db8::/65', true],
  ['fe80::1%eth0', 'fe80::/10', true],
  ['::ffff:1.2.3.4', '::ffff:0:0/95', false],
  ['::fffe:1.2.3.4', '::ffff:0:0/95', true],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0', true],
  ['2001:DB8::1.2.3.4', '2001:db8::102:304', true],
])('%s in %s is %p', (address, range, expected) => {
  expect(isIn(address, range)).toBe(expected);
});

test.each([
  '',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '010.1.1.1',
  '0x7f.0.0.1',
  '2130706433',
  '127.1',
  '1.2.3.4%eth0',
  ' 1.2.3.4',
  '::1\n',
  '::ffff:1.2.3.04',
  '1.2.3.4:80',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '12345::',
  'localhost',
  '::1.2.3.4.5',
  '1.2.3.4::',
  '1:2:3:4:5:6:7::8',
])('"%s" is not an address', (text) => expect(parseAddress(text)).toBeNull());

test.each([
  '10.0.0.0/33',
  '::/129',
  'fe80::%eth0/10',
  '10.0/8',
  '010.0.0.0/8',
  '10.0.0.0/',
  '/8',
  '10.0.0.0/-1',
  'any',
  '10.0.0.0/8/8',
])('"%s" is not a range', (text) => expect(parseRange(text)).toBeNull());

test.each<[shares: string, one: string, other: string]>([
  ['subscriber site region', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9'],
  ['site region', '2001:db8:1:2::1', '2001:db8:1:3::1'],
  ['region', '2001:db8:1:2::1', '2001:db8:2:2::1'],
  ['', '2001:db8:1:2::1', '2001:db9:1:2::1'],
  ['subscriber site region', '10.0.0.1', '::ffff:10.0.0.1'],
  ['site region', '10.0.0.1', '10.0.0.2'],
  ['region', '10.0.0.1', '10.0.1.1'],
  ['', '10.0.0.1', '10.1.0.1'],
  ['', '0.0.0.0', '::'],
  ['subscriber site region', 'unix socket', 'unix socket'],
])('the networks "%s" are the same for %s and %s', (shares, one, other) => {
  const [first, second] = [networksOf(one), networksOf(other)];
  const same = (['subscriber', 'site', 'region'] as const).filter((size) => first[size] === second[size]);
  expect(same.join(' ')).toBe(shares);
});

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
])('the listen address %j is read or refused', (text, address) => {
  expect(parseListenAddress(text)).toEqual(address as ListenAddress);
});

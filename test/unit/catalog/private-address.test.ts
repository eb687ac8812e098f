// Private addresses: in every range and every notation.

import { expect, test } from 'bun:test';
import { isPrivateAddress } from '../../../src/base/addresses.ts';
import { findPrivateAddress, findPrivateProviders, planApply } from '../../../src/catalog/catalog.ts';
import { planOptions } from './support.ts';

test('every private range is recognized up to its boundaries', () => {
  const inside = [
    '0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 169.254.169.254',
    '172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 224.0.0.1 239.255.255.255 255.255.255.255 198.18.0.1',
    ':: ::1 fc00::1 fdff::1 fe80::1 febf::1 ff02::1 fec0::1',
  ];
  for (const address of inside.join(' ').split(' '))
    expect([address, isPrivateAddress(address)]).toEqual([address, true]);
});

test('addresses next to those ranges are public', () => {
  const outside = [
    '1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0',
    '172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 223.255.255.255',
    '2606:4700::1111 2001:4860:4860::8888 fbff::1 fe00::1 2003::1',
  ];
  for (const address of outside.join(' ').split(' '))
    expect([address, isPrivateAddress(address)]).toEqual([address, false]);
});

test('an IPv4 address inside an IPv6 one counts as itself', () => {
  const inside =
    '::ffff:127.0.0.1 ::ffff:a00:1 ::10.0.0.1 ::ffff:0:10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::8.8.8.8 2002:7f00:1:: 2002:a9fe:a9fe::1 2001:0:1:2:3:4:5:6';
  for (const address of inside.split(' ')) expect([address, isPrivateAddress(address)]).toEqual([address, true]);
  for (const address of '::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1'.split(' '))
    expect([address, isPrivateAddress(address)]).toEqual([address, false]);
});

test('unusual notation does not hide a private address', () => {
  const spellings =
    '2130706433 0x7f000001 0x7f.1 127.1 017700000001 0177.0.0.1 127.0.0.1. [::1] 0:0:0:0:0:0:0:1 [::FFFF:7F00:1] fe80::1%eth0 １２７.0.0.1';
  for (const address of spellings.split(' ')) expect([address, isPrivateAddress(address)]).toEqual([address, true]);
});

test('names are not addresses', () => {
  for (const name of ['example.com', '', 'not an address', 'a:b']) expect(isPrivateAddress(name)).toBe(false);
});

test('a base URL is private because of its literal address, its local name or its resolved addresses', async () => {
  const lookup = async (name: string) => {
    if (name === 'inside.example') return ['93.184.216.34', '10.1.2.3'];
    if (name === 'outside.example') return ['93.184.216.34'];
    throw new Error('no such name');
  };
  expect(await findPrivateAddress('http://0x7f.1:11434/v1', lookup)).toBe('127.0.0.1');
  expect(await findPrivateAddress('http://[::ffff:10.0.0.1]/', lookup)).toBe('[::ffff:a00:1]');
  expect(await findPrivateAddress('http://LOCALHOST.:80/', lookup)).toBe('localhost.');
  expect(await findPrivateAddress('http://api.localhost/', lookup)).toBe('api.localhost');
  expect(await findPrivateAddress('https://inside.example', lookup)).toBe('10.1.2.3');
  expect(await findPrivateAddress('https://outside.example', lookup)).toBeNull();
  expect(await findPrivateAddress('https://unresolved.example', lookup)).toBeNull();
  expect(await findPrivateAddress('https://8.8.8.8/v1', lookup)).toBeNull();
  expect(await findPrivateAddress('', lookup)).toBeNull();
});

test('a provider whose name resolves to a private address must declare it', async () => {
  const at = { kind: 'openai', base_url: 'https://models.example/v1' };
  const file = { providers: { hidden: at, declared: { ...at, private_network: true }, sandbox: { kind: 'sandbox' } } };
  const { questions } = planApply([], file, planOptions());
  const faults = await findPrivateProviders(questions.providers, async () => ['192.168.1.1']);
  expect(faults.map((fault) => fault.path)).toEqual([['providers', 'hidden', 'base_url']]);
});

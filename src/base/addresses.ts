// Network addresses as text: IP addresses and CIDR ranges, private addresses, listen addresses and browser origins.
// An IPv4 address mapped into IPv6 (::ffff:10.0.0.1) equals the IPv4 address, in addresses and in ranges.

import { isIPv4, isIPv6 } from 'node:net';
import { parseDigits, parseHex, parseWholeNumber } from './checked-number.ts';

const V4_BITS = 32;
const V6_BITS = 128;
const MAPPED_BITS = V6_BITS - V4_BITS;
const MAPPED = 0xffffn;

export interface Address {
  isV4: boolean;
  /** Has 32 or 128 bits. */
  value: bigint;
}

export interface AddressRange extends Address {
  /** The number of trailing bits that do not count. */
  freeBits: bigint;
}

/**
 * Reads an address without brackets, port or prefix; a zone ("%eth0") is ignored. Null when it is not an address, as with
 * octal and short forms of IPv4 ("010.1.1.1", "10.1").
 */
export function parseAddress(text: string): Address | null {
  if (isIPv4(text)) return { isV4: true, value: readV4(text) };
  const [written = ''] = text.split('%', 1);
  if (!isIPv6(written)) return null;
  const value = readV6(written);
  return value >> 32n === MAPPED ? { isV4: true, value: value & 0xffff_ffffn } : { isV4: false, value };
}

/** Reads "10.0.0.0/8", "2001:db8::/32" or a single address. Null when it is neither. */
export function parseRange(text: string): AddressRange | null {
  const match = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text);
  if (match === null) return null;
  const written = match[1] as string;
  const address = parseAddress(written);
  if (address === null) return null;
  const writtenBits = written.includes(':') ? V6_BITS : V4_BITS;
  const prefixBits = match[2] === undefined ? writtenBits : parseDigits(match[2]);
  if (prefixBits > writtenBits) return null;
  const freeBits = BigInt(writtenBits - prefixBits);
  // Wider than the mapped addresses: an IPv6 range that contains no IPv4 address.
  if (address.isV4 && writtenBits === V6_BITS && prefixBits < MAPPED_BITS)
    return { isV4: false, value: (MAPPED << 32n) | address.value, freeBits };
  return { ...address, freeBits };
}

export function isInRanges(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some(
    ({ isV4, value, freeBits }) => isV4 === address.isV4 && value >> freeBits === address.value >> freeBits,
  );
}

/** The networks of an address, each inside of the next one. */
export interface Networks {
  /** An IPv4 address, or a /64 of IPv6. One subscriber has it. */
  subscriber: string;
  /** A /24 of IPv4, or a /48 of IPv6. One customer can get all of it. */
  site: string;
  /** A /16 of IPv4, or a /32 of IPv6. One provider has it, for many customers. */
  region: string;
}

/** Names of stored counters. Other text than an address is each of its networks. */
export function networksOf(text: string): Networks {
  const address = parseAddress(text);
  if (address === null) return { subscriber: text, site: text, region: text };
  const { isV4, value } = address;
  if (isV4) return { subscriber: `v4:${value}`, site: `v4:${value >> 8n}/24`, region: `v4:${value >> 16n}/16` };
  const [first, second] = [value >> 96n, (value >> 64n) & 0xffff_ffffn];
  return { subscriber: `v6:${first}:${second}`, site: `v6:${first}:${second >> 16n}/48`, region: `v6:${first}/32` };
}

function readV4(text: string): bigint {
  return BigInt(text.split('.').reduce((value, byte) => value * 256 + parseDigits(byte), 0));
}

function readV6(text: string): bigint {
  const [head = '', tail = ''] = text.split('::');
  const [first, last] = [readGroups(head), readGroups(tail)];
  const zeros = new Array<bigint>(8 - first.length - last.length).fill(0n);
  return [...first, ...zeros, ...last].reduce((value, group) => (value << 16n) | group, 0n);
}

/** The 16-bit groups of one side of "::". */
function readGroups(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(parseHex(group) ?? 0)];
    const value = readV4(group);
    return [value >> 16n, value & 0xffffn];
  });
}

const PRIVATE = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, where clouds serve credentials
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  'fc00::/7', // unique local
  'fe80::/10', // link-local
  'fec0::/10', // site-local (deprecated)
  'ff00::/8', // multicast
  '2001::/32', // Teredo: hides an IPv4 address
].map((range) => parseRange(range) as AddressRange);

/**
 * Whether an address is loopback, private, link-local, carrier-grade NAT, multicast or reserved, in any spelling that a
 * URL parser accepts ("0x7f.1", "[::ffff:10.0.0.1]"). An IPv4 address inside a mapped, compatible, translated, NAT64 or
 * 6to4 address counts as itself. False for a host name.
 */
export function isPrivateAddress(ip: string): boolean {
  const bare = ip.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, ''); // without brackets and zone ("fe80::1%eth0")
  const host = URL.parse(bare.includes(':') ? `http://[${bare}]/` : `http://${bare}/`)?.hostname ?? '';
  const address = parseAddress(host.replace(/^\[(.*)\]$/, '$1'));
  return address !== null && (isInRanges(address, PRIVATE) || (!address.isV4 && embedsPrivate(address.value)));
}

function embedsPrivate(address: bigint): boolean {
  const isPrivateV4 = (bits: bigint) => isInRanges({ isV4: true, value: bits & 0xffff_ffffn }, PRIVATE);
  const network = address >> 32n;
  if (network === 0n || network === 0xffff_0000n) return isPrivateV4(address); // compatible, translated
  if (address >> 96n === 0x64_ff9bn) return (address >> 80n) % 0x1_0000n !== 0n || isPrivateV4(address); // NAT64: of one network, or the well-known one
  return address >> 112n === 0x2002n && isPrivateV4(address >> 80n); // 6to4
}

/** The host of a base URL when it is `localhost` or a private address; else null. Resolves no names. */
export function findPrivateHost(baseUrl: string): string | null {
  const host = URL.parse(baseUrl)?.hostname;
  if (host === undefined) return null;
  const name = host.replace(/\.$/, '');
  const isLocal = name === 'localhost' || name.endsWith('.localhost');
  return isLocal || isPrivateAddress(host) ? host : null;
}

export interface ListenAddress {
  hostname: string;
  /** 0: any free port. */
  port: number;
}

/** Reads "127.0.0.1:8080", "[::1]:8080" or ":8080" (all IPv4 addresses). Null for other text. */
export function parseListenAddress(text: string): ListenAddress | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/]*)):(\d{1,5})$/.exec(text);
  const port = parseWholeNumber(match?.[3] ?? '');
  if (match === null || port === null || port > 65_535) return null;
  return { hostname: match[1] ?? (match[2] || '0.0.0.0'), port };
}

/** Whether the text is exactly what a browser sends as `origin`: origins are compared byte for byte. */
export function isExactOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\,*]+$/.test(text)) return false;
  const url = URL.parse(text);
  if (url === null) return false;
  return url.origin === 'null' ? url.href.replace(/\/$/, '') === text : url.origin === text;
}

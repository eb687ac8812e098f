// Network addresses as text: IP addresses and CIDR ranges, private addresses, listen addresses and browser origins.
// An IPv4 address mapped into IPv6 (::ffff:10.0.0.1) equals the IPv4 address, in addresses and in ranges.

import { parseDigits, parseHex, parseWholeNumber } from './checked-number.ts';

const V4_BITS = 32;
const V6_BITS = 128;
const MAPPED_BITS = V6_BITS - V4_BITS;

/** Four 32-bit words; an IPv4 address has only the last. */
export interface Address {
  isV4: boolean;
  words: readonly [number, number, number, number];
}

export interface AddressRange extends Address {
  /** The number of leading bits that count, of 32 or 128. */
  prefixBits: number;
}

/** Reads an address without brackets, port or prefix; a zone ("%eth0") is ignored. Null when it is not an address. */
export function parseAddress(text: string): Address | null {
  if (!text.includes(':')) {
    const word = parseV4(text);
    return word === null ? null : { isV4: true, words: [0, 0, 0, word] };
  }
  const zoneAt = text.indexOf('%');
  const words = parseV6(zoneAt < 0 ? text : text.slice(0, zoneAt));
  if (words === null) return null;
  if (isMapped(words)) return { isV4: true, words: [0, 0, 0, words[3]] };
  return { isV4: false, words };
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
  if (!address.isV4 || writtenBits === V4_BITS) return { ...address, prefixBits };
  if (prefixBits >= MAPPED_BITS) return { ...address, prefixBits: prefixBits - MAPPED_BITS };
  // Wider than the mapped addresses: an IPv6 range that contains no IPv4 address.
  return { isV4: false, words: [0, 0, 0xffff, address.words[3]], prefixBits };
}

export function isInRanges(address: Address, ranges: readonly AddressRange[]): boolean {
  for (const range of ranges) if (contains(range, address)) return true;
  return false;
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

/** Other text than an address is each of its networks. */
export function networksOf(text: string): Networks {
  const address = parseAddress(text);
  if (address === null) return { subscriber: text, site: text, region: text };
  const [first, second, , last] = address.words;
  if (address.isV4) return { subscriber: `v4:${last}`, site: `v4:${last >>> 8}/24`, region: `v4:${last >>> 16}/16` };
  return { subscriber: `v6:${first}:${second}`, site: `v6:${first}:${second >>> 16}/48`, region: `v6:${first}/32` };
}

function contains(range: AddressRange, address: Address): boolean {
  if (range.isV4 !== address.isV4) return false;
  let bitsLeft = range.isV4 ? range.prefixBits + MAPPED_BITS : range.prefixBits;
  for (let place = 0; bitsLeft > 0; place++, bitsLeft -= 32) {
    const mask = bitsLeft >= 32 ? 0xffffffff : ~(0xffffffff >>> bitsLeft);
    if ((((range.words[place] as number) ^ (address.words[place] as number)) & mask) !== 0) return false;
  }
  return true;
}

function isMapped(words: Address['words']): boolean {
  return words[0] === 0 && words[1] === 0 && words[2] === 0xffff;
}

/** Dotted decimal without leading zeros, because some systems read "010" as 8. */
function parseV4(text: string): number | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return null;
  let word = 0;
  for (const part of match.slice(1)) {
    const byte = parseDigits(part);
    if (byte > 255 || (part.length > 1 && part.startsWith('0'))) return null;
    word = word * 256 + byte;
  }
  return word;
}

function parseV6(text: string): [number, number, number, number] | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const head = parseGroups(halves[0] as string, halves.length === 1);
  const tail = halves.length === 1 ? [] : parseGroups(halves[1] as string, true);
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  const word = (place: number) => (groups[place] as number) * 65_536 + (groups[place + 1] as number);
  return [word(0), word(2), word(4), word(6)];
}

/** The 16-bit groups of one side of "::"; only the last side may end in dotted decimal. */
function parseGroups(text: string, isLast: boolean): number[] | null {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [place, part] of parts.entries()) {
    if (isLast && place === parts.length - 1 && part.includes('.')) {
      const word = parseV4(part);
      if (word === null) return null;
      groups.push(word >>> 16, word & 0xffff);
      continue;
    }
    const group = part.length <= 4 ? parseHex(part) : null;
    if (group === null) return null;
    groups.push(group);
  }
  return groups;
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
  return address !== null && (isInRanges(address, PRIVATE) || (!address.isV4 && embedsPrivate(address.words)));
}

function embedsPrivate([first, second, third, last]: Address['words']): boolean {
  const isPrivateV4 = (word: number) => isInRanges({ isV4: true, words: [0, 0, 0, word] }, PRIVATE);
  if (first === 0 && second === 0 && (third === 0 || third === 0xffff0000)) return isPrivateV4(last); // compatible, translated
  if (first === 0x64ff9b) return second >>> 16 !== 0 || isPrivateV4(last); // NAT64: of one network, or the well-known one
  return first >>> 16 === 0x2002 && isPrivateV4((first & 0xffff) * 65_536 + (second >>> 16)); // 6to4
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

// Which addresses are inside of a network: loopback, private, link-local and their like, in whatever spelling. Pure:
// nobody is asked for a name.

/** Ranges of IPv4: the first address and how many bits all of a range share. */
const PRIVATE_V4: readonly (readonly [address: string, bits: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, where clouds keep their credentials
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
];

/**
 * Whether an address is loopback, private, link-local, carrier-grade NAT, multicast or reserved, in
 * any spelling that a URL parser takes for an address ("0x7f.1", "[::ffff:10.0.0.1]"), also as the
 * IPv4 address inside a mapped, compatible, NAT64 or 6to4 one. A name is no address: false.
 */
export function isPrivateAddress(ip: string): boolean {
  const host = normaliseHost(ip);
  if (host === null) return false;
  if (host.startsWith('[')) return isPrivateV6(groupsOfV6(host.slice(1, -1)));
  const bytes = bytesOfV4(host);
  return bytes !== null && isPrivateV4(bytes);
}

/** The host of a base URL when it is a private address or `localhost` in its spelling; else null. */
export function findPrivateHost(baseUrl: string): string | null {
  const host = URL.parse(baseUrl)?.hostname;
  if (host === undefined) return null;
  const name = host.replace(/\.$/, '');
  const isLocal = name === 'localhost' || name.endsWith('.localhost');
  return isLocal || isPrivateAddress(host) ? host : null;
}

/** The address as a URL parser writes it: four decimal numbers, or IPv6 in brackets; null when it is none. */
function normaliseHost(ip: string): string | null {
  const bare = ip.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, ''); // a zone ("fe80::1%eth0") is no part of an address
  return URL.parse(bare.includes(':') ? `http://[${bare}]/` : `http://${bare}/`)?.hostname ?? null;
}

/** The four numbers of an IPv4 address as a URL parser writes it; null for anything else. */
export function bytesOfV4(host: string): number[] | null {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(host) ? host.split('.').map(Number) : null;
}

function isPrivateV4(bytes: readonly number[]): boolean {
  const value = wordOf(bytes);
  return PRIVATE_V4.some(([address, bits]) => {
    const span = 2 ** (32 - bits);
    return Math.floor(value / span) === Math.floor(wordOf(address.split('.').map(Number)) / span);
  });
}

function wordOf(bytes: readonly number[]): number {
  return bytes.reduce((word, byte) => word * 256 + byte, 0);
}

/** The eight groups of an address that a URL parser wrote: lower case, no dotted part. */
function groupsOfV6(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const read = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const before = read(head);
  if (tail === undefined) return before;
  const after = read(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function isPrivateV6(groups: readonly number[]): boolean {
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0, eighth = 0] = groups;
  const embedded = bytesOf(seventh, eighth);
  if (first === 0 && second === 0 && third === 0 && fourth === 0) {
    if (fifth === 0 && (sixth === 0 || sixth === 0xffff)) return isPrivateV4(embedded); // compatible (also :: and ::1), mapped
    if (fifth === 0xffff && sixth === 0) return isPrivateV4(embedded); // translated
  }
  if (first === 0x64 && second === 0xff9b) return third !== 0 || isPrivateV4(embedded); // NAT64: a network's own, or that of all
  if (first === 0x2002) return isPrivateV4(bytesOf(second, third)); // 6to4
  if (first === 0x2001 && second === 0) return true; // Teredo: hides an IPv4 address
  return (
    (first & 0xfe00) === 0xfc00 || // unique local
    (first & 0xffc0) === 0xfe80 || // link-local
    (first & 0xffc0) === 0xfec0 || // site-local, of old
    (first & 0xff00) === 0xff00 // multicast
  );
}

function bytesOf(high: number, low: number): number[] {
  return [high >> 8, high & 255, low >> 8, low & 255];
}

// Internet addresses and CIDR ranges, compared exactly. An IPv4 address mapped into IPv6
// (::ffff:10.0.0.1) is the IPv4 address it stands for, in addresses and in ranges alike.

const V4_BITS = 32;
const V6_BITS = 128;
const MAPPED_BITS = V6_BITS - V4_BITS;

/** Four 32-bit words; of an IPv4 address only the last is not zero. */
export interface Address {
  isV4: boolean;
  words: readonly [number, number, number, number];
}

export interface AddressRange extends Address {
  /** How many leading bits count, of the address's own 32 or 128. */
  prefixBits: number;
}

/** Reads an address without brackets, port or prefix; a zone ("%eth0") is ignored. Null when it is none. */
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

/** Reads "10.0.0.0/8", "2001:db8::/32" or a single address. Null when it is none. */
export function parseRange(text: string): AddressRange | null {
  const match = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text);
  if (match === null) return null;
  const written = match[1] as string;
  const address = parseAddress(written);
  if (address === null) return null;
  const writtenBits = written.includes(':') ? V6_BITS : V4_BITS;
  const prefixBits = match[2] === undefined ? writtenBits : Number(match[2]);
  if (prefixBits > writtenBits) return null;
  if (!address.isV4 || writtenBits === V4_BITS) return { ...address, prefixBits };
  if (prefixBits >= MAPPED_BITS) return { ...address, prefixBits: prefixBits - MAPPED_BITS };
  // Wider than the mapped addresses: a range of IPv6, which holds no IPv4 address.
  return { isV4: false, words: [0, 0, 0xffff, address.words[3]], prefixBits };
}

/** Whether any of the ranges holds the address. */
export function isInRanges(address: Address, ranges: readonly AddressRange[]): boolean {
  for (const range of ranges) if (holds(range, address)) return true;
  return false;
}

/** The network that one subscriber has: the address itself of IPv4, the /64 of IPv6. Other text stands for itself. */
export function subscriberNetwork(text: string): string {
  const address = parseAddress(text);
  if (address === null) return text;
  const [first, second, , last] = address.words;
  return address.isV4 ? `v4:${last}` : `v6:${first}:${second}`;
}

function holds(range: AddressRange, address: Address): boolean {
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

/** Dotted decimal without leading zeros: some systems read "010" as eight. */
function parseV4(text: string): number | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return null;
  let word = 0;
  for (const part of match.slice(1)) {
    if (Number(part) > 255 || (part.length > 1 && part.startsWith('0'))) return null;
    word = word * 256 + Number(part);
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
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return null;
  }
  return groups;
}

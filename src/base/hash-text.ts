// A hash of a text, the same on every machine, to spread load. Not cryptographic: collisions are easy to construct.

const LANES = [
  [0x9e3779b1, 0x85ebca6b],
  [0xc2b2ae35, 0x27d4eb2f],
] as const;
const UNIT = 2 ** -53;

/** In [0, 1), with 53 bits. */
export function hashText(text: string): number {
  const high = hashLane(text, LANES[0]);
  const low = hashLane(text, LANES[1]);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) * UNIT;
}

/** 32 bits over the UTF-16 units. */
function hashLane(text: string, [factor, seed]: readonly [number, number]): number {
  let hash = seed ^ text.length;
  for (let place = 0; place < text.length; place++) {
    hash = Math.imul(hash ^ text.charCodeAt(place), factor);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

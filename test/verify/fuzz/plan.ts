// A batch of visits: connections, the requests on each of them, and how it is sent, read and left. A plan is data, so
// that it can be shortened and given on the command line; its bytes follow from it alone.

import { Chance } from '../simulation/chance.ts';
import { makeDraft, markOf, pickKind, renderDraft, type Secrets } from './draft.ts';
import { applyMutation, keepsFraming, type Mutation, pickMutation } from './mutations.ts';

const VISITS_LEAST = 20;
const VISITS_MOST = 60;

export interface RequestPlan {
  kind: string;
  seed: number;
  mutations: Mutation[];
}

/** `answered` leaves after the last answer; the others leave earlier, or read late. */
export const endings = [
  'answered',
  'half-close',
  'reset-in-request',
  'close-in-request',
  'reset-when-sent',
  'close-when-sent',
  'reset-in-answer',
  'close-in-answer',
  'read-late',
] as const;

export interface Visit {
  /** Its place in the batch as drawn: part of its bytes, and kept when others are left out. */
  place: number;
  requests: RequestPlan[];
  ending: (typeof endings)[number];
  /** In how many pieces it is sent, with a pause after each. */
  pieces: number;
  pauseMs: number;
  /** How much is sent before a visit that ends in its request does, of 1. */
  part: number;
  startMs: number;
  /** After all is sent, before a visit that ends then does, or reads. */
  restMs: number;
  /** After which it is left, whatever came. */
  patienceMs: number;
}

export type Batch = readonly Visit[];

/** The same for the same numbers. */
export function planBatch(seed: number, batch: number): Batch {
  const chance = new Chance((Math.imul(seed, 0x9e3779b1) ^ Math.imul(batch + 1, 0x85ebca6b)) | 0);
  return Array.from({ length: chance.between(VISITS_LEAST, VISITS_MOST) }, (_, place) => planVisit(chance, place));
}

function planVisit(chance: Chance, place: number): Visit {
  const count = chance.is(0.75) ? 1 : chance.between(2, 5);
  return {
    place,
    requests: Array.from({ length: count }, () => planRequest(chance)),
    ending: chance.is(0.5) ? 'answered' : chance.pick(endings),
    pieces: chance.is(0.7) ? 1 : chance.between(2, 12),
    pauseMs: chance.pick([0, 1, 5, 40]),
    part: chance.below(1_000) / 1_000,
    startMs: chance.below(300),
    restMs: chance.pick([0, 0, 1, 3, 10, 50, 400]),
    patienceMs: chance.is(0.02) ? 6_500 : chance.pick([700, 1_200, 2_000]),
  };
}

function planRequest(chance: Chance): RequestPlan {
  const count = chance.pick([0, 0, 1, 1, 1, 1, 2, 2, 3]);
  return {
    kind: pickKind(chance),
    seed: chance.below(2 ** 31),
    mutations: Array.from({ length: count }, () => pickMutation(chance)),
  };
}

/** The bytes of a visit's requests, and their methods as far as answers depend on them. */
export interface RenderedVisit {
  bytes: Buffer;
  methods: readonly string[];
  /** Whether every request is answered by one answer, in order. */
  isOrdered: boolean;
}

export function renderVisit(visit: Visit, secrets: Secrets): RenderedVisit {
  const methods: string[] = [];
  const parts = visit.requests.map(({ kind, seed, mutations }, at) => {
    const draft = makeDraft(kind, seed, secrets, markOf(visit.place, at));
    for (const mutation of mutations) applyMutation(draft, mutation);
    methods.push(draft.method);
    return renderDraft(draft);
  });
  const isOrdered = visit.requests.every(({ mutations }) => mutations.every(keepsFraming));
  return { bytes: Buffer.concat(parts), methods, isOrdered };
}

const SHOWN_BYTES_MAX = 700;

/** For people: the bytes escaped, and when what is sent. */
export function describeVisit(visit: Visit, secrets: Secrets): string {
  const { bytes } = renderVisit(visit, secrets);
  const shown = escapeBytes(bytes.subarray(0, SHOWN_BYTES_MAX));
  const more = bytes.byteLength > SHOWN_BYTES_MAX ? `… ${bytes.byteLength} bytes in all` : '';
  const { place, ending, pieces, pauseMs, part, startMs, restMs, patienceMs } = visit;
  const names = visit.requests.map(({ kind, mutations }) => [kind, ...mutations.map(({ name }) => name)].join('+'));
  const timing = `at ${startMs} ms, ${pieces} pieces, ${pauseMs} ms apart, rest ${restMs} ms, patience ${patienceMs} ms`;
  const sent = ending.endsWith('in-request') ? `, ${Math.round(part * 100)} % sent` : '';
  return `connection ${place} (${names.join(', ')}): ${timing}, ${ending}${sent}\n    ${shown}${more}`;
}

export function escapeBytes(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/\\/g, '\\\\')
    .replace(/\r/g, '\\r')
    .replace(/\n/g, '\\n')
    .replace(/[^\x20-\x7e]/g, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

// When incidents begin, go on and end, in virtual time.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import {
  type Finding,
  facts,
  followIncidents,
  type Incident,
  mostAffectingFirst,
  onePerProblem,
} from '../../../src/incidents/incidents.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 10, 30);
const MINUTE_MS = 60_000;

const finding = (more: Partial<Finding> = {}): Finding => ({
  name: 'model:fable',
  account: null,
  sinceMs: NOW_MS - 5 * MINUTE_MS,
  begins: true,
  facts: facts('model_failing', 'critical', { model: 'fable' }),
  ...more,
});

/** The incidents that are open after each round, by rounds of findings. */
function followAll(rounds: [atMs: number, findings: Finding[], over?: string[]][]): Incident[] {
  const all = new Map<number, Incident>();
  for (const [atMs, findings, over = []] of rounds) {
    const open = [...all.values()].filter(({ endedAtMs }) => endedAtMs === null);
    for (const change of followIncidents(open, { findings, over: new Set(over) }, atMs)) {
      const incident = 'update' in change ? change.update : { ...change.begin, seq: all.size + 1, endedAtMs: null };
      all.set(incident.seq, incident);
    }
  }
  return [...all.values()];
}

test('a problem that is bad enough begins once, and keeps since when', () => {
  const later = NOW_MS + 2 * MINUTE_MS;
  const incidents = followAll([
    [NOW_MS, [finding()]],
    [later, [finding({ sinceMs: later })]],
  ]);
  expect(incidents).toMatchObject([{ beganAtMs: NOW_MS - 5 * MINUTE_MS, seenAtMs: later, endedAtMs: null }]);
});

test('a smaller problem begins none, and lets one that has begun go on', () => {
  const small = finding({ begins: false });
  expect(followAll([[NOW_MS, [small]]])).toEqual([]);
  const quietMs = bounds.incidentQuietMs;
  const incidents = followAll([
    [NOW_MS, [finding()]],
    [NOW_MS + quietMs - 1, [small]],
    [NOW_MS + 2 * quietMs - 2, []],
  ]);
  expect(incidents).toMatchObject([{ seenAtMs: NOW_MS + quietMs - 1, endedAtMs: null }]);
});

test('an incident ends when its problem was not seen for ten minutes, at the time when it was seen last', () => {
  const rounds: Parameters<typeof followAll>[0] = [
    [NOW_MS, [finding()]],
    [NOW_MS + bounds.incidentQuietMs - 1, []],
  ];
  expect(followAll(rounds)).toMatchObject([{ endedAtMs: null }]);
  rounds.push([NOW_MS + bounds.incidentQuietMs, []]);
  expect(followAll(rounds)).toMatchObject([{ endedAtMs: NOW_MS }]);
  rounds.push([NOW_MS + bounds.incidentQuietMs + 1, [finding({ sinceMs: NOW_MS + bounds.incidentQuietMs })]]);
  expect(followAll(rounds)).toMatchObject([{ endedAtMs: NOW_MS }, { endedAtMs: null }]);
});

test('a problem that is known to be over ends at once, whatever was found before', () => {
  const incidents = followAll([
    [NOW_MS, [finding()]],
    [NOW_MS + MINUTE_MS, [finding()], ['model:fable']],
  ]);
  expect(incidents).toMatchObject([{ endedAtMs: NOW_MS + MINUTE_MS }]);
});

test('what was last seen long ago begins no incident, and ends one', () => {
  const seenAtMs = NOW_MS - bounds.incidentQuietMs;
  expect(followAll([[NOW_MS, [finding({ seenAtMs })]]])).toEqual([]);
  const ended = followAll([
    [NOW_MS, [finding({ seenAtMs: NOW_MS })]],
    [NOW_MS + bounds.incidentQuietMs, [finding({ seenAtMs: NOW_MS })]],
  ]);
  expect(ended).toMatchObject([{ endedAtMs: NOW_MS }]);
});

test('an open incident is stored again when its figures change, and now and then', () => {
  const [open] = followAll([[NOW_MS, [finding()]]]) as [Incident];
  const changes = (atMs: number, found: Finding) =>
    followIncidents([open], { findings: [found], over: new Set() }, atMs);
  expect(changes(NOW_MS + 1_000, finding())).toEqual([]);
  const more = finding({ facts: facts('model_failing', 'critical', { model: 'fable', requests: 4 }) });
  expect(changes(NOW_MS + 1_000, more)).toMatchObject([{ update: { facts: { requests: 4 } } }]);
  expect(changes(NOW_MS + bounds.incidentSeenEveryMs, finding())).toHaveLength(1);
});

test('a crowd of problems begins a bounded number of incidents', () => {
  const crowd = Array.from({ length: bounds.incidentsOpenMax + 5 }, (_, at) => finding({ name: `key:${at}` }));
  expect(followAll([[NOW_MS, crowd]])).toHaveLength(bounds.incidentsOpenMax);
});

test('critical incidents come first, then those that affect most accounts and requests', () => {
  const incident = (
    seq: number,
    severity: 'critical' | 'warning',
    accounts: number | null,
    requests: number,
  ): Incident => ({
    ...{ seq, name: `${seq}`, account: null, beganAtMs: seq, seenAtMs: seq, endedAtMs: null },
    facts: facts('model_failing', severity, { accounts, requests }),
  });
  const ranked = [
    incident(1, 'warning', 9, 900),
    incident(2, 'critical', 1, 5),
    incident(3, 'critical', 2, 3),
    incident(4, 'critical', 1, 7),
    incident(5, 'critical', null, 99),
  ].sort(mostAffectingFirst);
  expect(ranked.map(({ seq }) => seq)).toEqual([3, 4, 2, 5, 1]);
});

test('a model that fails because of a provider with an incident is part of that one, with the accounts it affects', () => {
  const of = (seq: number, known: Parameters<typeof facts>): Incident => ({
    ...{ seq, name: `${seq}`, account: null, beganAtMs: seq, seenAtMs: seq, endedAtMs: null },
    facts: facts(...known),
  });
  const affected = (account: number, requests: number) => ({ mostAffected: [{ account, requests }], accounts: 1 });
  const incidents = [
    of(1, ['model_failing', 'critical', { model: 'opus', provider: 'one', ...affected(7, 3) }]),
    of(2, ['provider_failing', 'critical', { provider: 'one', models: ['fable', 'opus'] }]),
    of(3, ['model_failing', 'critical', { model: 'fable', provider: 'one', ...affected(8, 5) }]),
    of(4, ['model_failing', 'critical', { model: 'haiku', provider: 'one', ...affected(9, 5) }]),
    of(5, ['model_failing', 'critical', { model: 'opus', provider: 'two', ...affected(9, 5) }]),
  ];
  const shown = onePerProblem(incidents);
  expect(shown.map(({ seq }) => seq)).toEqual([2, 4, 5]);
  const mostAffected = [
    { account: 8, requests: 5 },
    { account: 7, requests: 3 },
  ];
  expect(shown[0]?.facts).toMatchObject({ accounts: 2, mostAffected });
});

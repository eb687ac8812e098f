// Incidents in every store: at most one of a name is open, and one that has ended stays as it is.

import { expect, test } from 'bun:test';
import { facts, type NewIncident } from '../../../src/incidents/incidents.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';

const incident = (name: string, beganAtMs: number, account: number | null = null): NewIncident => ({
  ...{ name, account, beganAtMs, seenAtMs: beganAtMs },
  facts: facts('model_failing', 'critical', {
    model: name,
    requests: 3,
    said: '"kind":"mail_failing"',
    mostAffected: [{ account: 7, requests: 3 }],
  }),
});

export function incidentConformance(open: OpenStores): void {
  test('an incident of a name is open once, and may begin anew after it ended', async () => {
    await using bench = await openWorkbench(open, 0);
    const { incidents, retention } = bench.stores;
    await incidents.changeIncidents([{ begin: incident('a', START_MS) }, { begin: incident('b', START_MS, 7) }]);
    await incidents.changeIncidents([{ begin: incident('a', START_MS + 1) }]); // another node
    const [a, b] = await incidents.listOpenIncidents();
    expect([a, b]).toMatchObject([
      { ...incident('a', START_MS), endedAtMs: null },
      { ...incident('b', START_MS, 7), endedAtMs: null },
    ]);
    if (a === undefined || b === undefined) throw new Error('none is open');
    await incidents.changeIncidents([
      { update: { ...a, seenAtMs: START_MS + 5, endedAtMs: START_MS + 5 } },
      { update: { ...b, seenAtMs: START_MS + 6 } },
    ]);
    await incidents.changeIncidents([{ update: { ...a, seenAtMs: START_MS + 9 } }]); // it has ended
    expect(await incidents.listOpenIncidents()).toMatchObject([{ name: 'b', seenAtMs: START_MS + 6 }]);
    await incidents.changeIncidents([{ begin: incident('a', START_MS + 8) }]);
    expect(await incidents.listOpenIncidents()).toMatchObject([{ name: 'b' }, { name: 'a', beganAtMs: START_MS + 8 }]);
    expect(await incidents.listEndedIncidents(START_MS, 5)).toMatchObject([{ seq: a.seq, seenAtMs: START_MS + 5 }]);
    expect(await incidents.listEndedIncidents(START_MS + 6, 5)).toEqual([]);
    expect(await incidents.listEndedIncidents(START_MS, 5, 'model_failing')).toMatchObject([{ seq: a.seq }]);
    expect(await incidents.listEndedIncidents(START_MS, 5, 'mail_failing')).toEqual([]);
    await retention.forget('incidents', START_MS + 100);
    expect(await incidents.listEndedIncidents(0, 5)).toEqual([]);
    expect(await incidents.listOpenIncidents()).toHaveLength(2);
  });
}

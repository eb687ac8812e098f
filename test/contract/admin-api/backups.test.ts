// Backups that are recorded: the newest one counts, its age is a metric on every node, and a time from the future is refused.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readSamples } from '../../support/read-samples.ts';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await startOwnTurnpike('it records backups of the installation');
});
afterAll(() => turnpike.stop());

const METRIC = 'turnpike_last_backup_timestamp_seconds';

async function readMetric(): Promise<number | undefined> {
  return readSamples(await (await turnpike.scrape()).text())[METRIC];
}

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

test('the metric is 0 until a backup is recorded, and then the time of the newest, with an audit record for each', async () => {
  expect(await readMetric()).toBe(0);
  const newest = hoursAgo(1);
  expect(await turnpike.admin('POST', '/backups', { taken_at: hoursAgo(3) })).toMatchObject({});
  expect(await turnpike.admin('POST', '/backups', { taken_at: newest })).toEqual({ last_taken_at: newest });
  expect(await turnpike.admin('POST', '/backups', { taken_at: hoursAgo(2) })).toEqual({ last_taken_at: newest });
  expect(await readMetric()).toBe(Date.parse(newest) / 1000);
  const { data } = (await turnpike.admin('GET', '/audit?object=backup')) as { data: object[] };
  expect(data).toHaveLength(2);
  expect(data[0]).toMatchObject({ action: 'backup.record', object: 'backup', after: { taken_at: newest } });
});

test('without a time it is now, and a clock that is a little ahead counts as now', async () => {
  const beforeMs = Date.now();
  for (const body of [{}, { taken_at: new Date(beforeMs + 120_000).toISOString() }]) {
    const recordedMs = Date.parse((await turnpike.admin('POST', '/backups', body))['last_taken_at'] as string);
    // On PostgreSQL, the service has the clock of its database.
    expect(recordedMs).toBeGreaterThan(beforeMs - 60_000);
    expect(recordedMs).toBeLessThan(Date.now() + 60_000);
  }
});

test('a time from the future is refused by name: it would hide that there is no backup', async () => {
  const before = await readMetric();
  const refused = turnpike.admin('POST', '/backups', { taken_at: '2099-01-01T00:00:00Z' });
  expect(refused).rejects.toThrow('taken_at: must not be in the future');
  await refused.catch(() => {});
  expect(await readMetric()).toBe(before);
});

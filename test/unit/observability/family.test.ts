// Series of a metric: present from the start, bounded, and in the format of Prometheus.

import { expect, test } from 'bun:test';
import { Count, Distribution, Family, MetricRegistry } from '../../../src/observability/registry.ts';

const TERMS = { name: 'turnpike_tries_total', help: 'Tries', labels: { result: ['good', 'bad'], model: null } };

function seriesOf(family: Family<Count>): string[] {
  return family.list().map(({ labels, series }) => `${Object.values(labels).join(' ')} ${series.value}`);
}

test('every value known beforehand has a series before anything happened', () => {
  const family = new Family(TERMS, () => new Count());
  expect(seriesOf(family)).toEqual(['good other 0', 'bad other 0']);
});

test('equal labels are one series', () => {
  const family = new Family(TERMS, () => new Count());
  family.of('good', 'a').value++;
  family.of('good', 'a').value++;
  expect(seriesOf(family)).toContain('good a 2');
});

test('names beyond the maximum count as other, and names known beforehand keep their own series', () => {
  const family = new Family(TERMS, () => new Count(), 4);
  for (let name = 0; name < 1_000; name++) family.of(name % 2 === 0 ? 'good' : 'bad', `m${name}`).value++;
  expect(seriesOf(family)).toEqual(['good other 499', 'bad other 499', 'good m0 1', 'bad m1 1']);
});

test('a value equal to a bucket bound counts in that bucket', () => {
  const distribution = new Distribution([1, 2]);
  for (const value of [0, 1, 1.5, 2, 3]) distribution.observe(value);
  expect({ counts: distribution.counts, sum: distribution.sum }).toEqual({ counts: [2, 2, 1], sum: 7.5 });
});

test('the output is in the format of Prometheus: cumulative buckets, escaped names', async () => {
  const registry = new MetricRegistry();
  registry.counter(TERMS).of('good', 'a "b"\\c\n').value = 0.5;
  registry.histogram({ name: 'turnpike_waits_seconds', help: 'Waits' }, [0.1, 1]).of().observe(0.5);
  registry.reading({ name: 'turnpike_rooms', help: 'A "room"\nor a\\b', labels: { floor: null } }, 'gauge', () => [
    [['first'], 3],
    [['endless'], Number.POSITIVE_INFINITY],
    [['below'], Number.NEGATIVE_INFINITY],
    [['unknown'], Number.NaN],
    [['small'], 1e-7],
  ]);
  expect(await registry.scrape()).toBe(`# HELP turnpike_tries_total Tries
# TYPE turnpike_tries_total counter
turnpike_tries_total{result="good",model="other"} 0
turnpike_tries_total{result="bad",model="other"} 0
turnpike_tries_total{result="good",model="a \\"b\\"\\\\c\\n"} 0.5

# HELP turnpike_waits_seconds Waits
# TYPE turnpike_waits_seconds histogram
turnpike_waits_seconds_bucket{le="0.1"} 0
turnpike_waits_seconds_bucket{le="1"} 1
turnpike_waits_seconds_bucket{le="+Inf"} 1
turnpike_waits_seconds_sum 0.5
turnpike_waits_seconds_count 1

# HELP turnpike_rooms A "room"\\nor a\\\\b
# TYPE turnpike_rooms gauge
turnpike_rooms{floor="first"} 3
turnpike_rooms{floor="endless"} Inf
turnpike_rooms{floor="below"} -Inf
turnpike_rooms{floor="unknown"} NaN
turnpike_rooms{floor="small"} 1e-7
`);
});

test('a source that cannot be read has no samples, and does not affect the others', async () => {
  const registry = new MetricRegistry();
  registry.reading({ name: 'turnpike_gone', help: 'Gone' }, 'gauge', () =>
    Promise.reject(new Error('the store is unavailable')),
  );
  registry.reading({ name: 'turnpike_here', help: 'Here' }, 'gauge', () => [[[], 1]]);
  const text = await registry.scrape();
  expect(text).toContain('# TYPE turnpike_gone gauge\n\n');
  expect(text).toContain('turnpike_here 1\n');
});

test('concurrent reads get the same values', async () => {
  const registry = new MetricRegistry();
  let readCount = 0;
  registry.reading({ name: 'turnpike_asked', help: 'Asked' }, 'gauge', () => [[[], ++readCount]]);
  const [first, second] = await Promise.all([registry.scrape(), registry.scrape()]);
  expect(first).toBe(second);
  expect(readCount).toBe(1);
  expect(await registry.scrape()).toContain('turnpike_asked 2');
});

// The dashboard, the alert rules and the documentation refer to metrics: every reference is compared with a running
// service, so that none of them silently shows nothing after a metric is renamed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parse } from 'yaml';
import { bodyOf, startOwnWorld, type World } from '../../contract/post-messages/world.ts';
import { readText } from '../../sources.ts';
import { readFamilies, readSamples } from '../../support/read-samples.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { faultsOfExpression } from './read-promql.ts';

const alertsText = readText('monitoring/alerts.yaml') ?? '';
const dashboardText = readText('monitoring/dashboard.json') ?? '';
const operating = readText('docs/operating.md') ?? '';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
}
const rules = (parse(alertsText) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}
const dashboard = JSON.parse(dashboardText) as {
  panels: Panel[];
  templating: { list: { name: string; query: string | { query: string } }[] };
};

let world: World;
/** The metrics of an unused service, and those after some traffic of every kind. */
let unused: string;
let used: string;
const values = new Map<string, Set<string>>();

beforeAll(async () => {
  world = await startOwnWorld('it compares the metrics of an unused service');
  const limited = { allowance: '50', allowance_period: 'month' };
  const { account, secret } = await world.makeKey(limited);
  await world.admin('POST', '/apply', { document: { settings: { accounts_in_metrics: [account] } } });
  unused = await (await world.scrape()).text();
  for (const [script, stream] of [
    [scripts.good(), false],
    [scripts.good(), true],
    [scripts.overloaded(), false],
    [scripts.dropMidStream(), true],
  ] as const) {
    world.upstream.play(script);
    await (await world.post(secret, bodyOf({ stream }))).text();
  }
  await world.post('sk-tp-nobody', bodyOf());
  used = await (await world.scrape()).text();
  for (const [, label = '', value = ''] of used.matchAll(
    /[{,](code|outcome|reason|result|source|kind|stream)="([^"]*)"/g,
  ))
    values.set(label, (values.get(label) ?? new Set()).add(value));
});
afterAll(() => world.stop());

const faultsOf = (expression: string) => faultsOfExpression(expression, readFamilies(used), values);

/** Replaces the variables as Grafana does. */
function filledIn(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:job|instance)\b/g, '.*');
}

describe('an unused service', () => {
  test('has every metric, its sums at zero', () => {
    const samples = readSamples(unused);
    for (const [name, { type }] of readFamilies(unused)) {
      const own = Object.entries(samples).filter(
        ([series]) => series.replace(/\{.*/, '').replace(/_(bucket|sum|count)$/, '') === name,
      );
      expect({ name, hasSeries: own.length > 0 }).toEqual({ name, hasSeries: true });
      const isOfMessages = type === 'counter' && !name.startsWith('turnpike_process_');
      if (isOfMessages) expect(own.filter(([, value]) => value !== 0)).toEqual([]);
    }
    expect([...readFamilies(unused).keys()]).toEqual([...readFamilies(used).keys()]);
  });

  test('has names that begin with turnpike_ and end with their unit or with _total', () => {
    const units =
      /_(seconds|bytes|usd|bundles|total|info|up|available|messages|holds|keys|admissions|endings|flight|routes|waiting|payments)$/;
    for (const [name, { type, help }] of readFamilies(unused)) {
      expect(name).toMatch(/^turnpike_[a-z_]+$/);
      expect(name).toMatch(type === 'counter' ? /_total$/ : units);
      expect(help).toMatch(/^[A-Z0-9].*[^.]$/);
    }
  });

  test('has only labels with names from the catalog, fixed words, and chosen accounts', () => {
    const labels = new Set([...readFamilies(used).values()].flatMap((family) => [...family.labels]));
    const allowed = [
      'account', // of the settings accounts_in_metrics and top_accounts_in_metrics: at most 100
      'code',
      'group',
      'kind',
      'le',
      'limit',
      'model',
      'name', // of such an account: changes at most once a day
      'outcome',
      'parent', // the same
      'place',
      'provider',
      'reason',
      'result',
      'runtime',
      'source',
      'state',
      'status',
      'stream',
      'tag', // of the setting tags_in_metrics
      'value', // chosen by clients: at most tagMetricValuesMax
      'version',
      'window',
    ];
    expect([...labels].toSorted()).toEqual(allowed);
  });
});

describe('expressions are compared with the exposed metrics', () => {
  test.each([
    ['an unknown metric', 'rate(turnpike_nothing_total[5m])', 'there is no metric turnpike_nothing_total'],
    ['an unknown label', 'rate(turnpike_refusals_total{model="a"}[5m])', 'has no label model'],
    ['an impossible value', 'rate(turnpike_refusals_total{code=~"internal|nonsense"}[5m])', 'never "nonsense"'],
    ['a grouping by an unknown label', 'sum by (account) (turnpike_open_holds)', 'no metric has the label account'],
    ['a counter used as a gauge', 'turnpike_refusals_total > 3', 'is a counter'],
    ['a histogram used as a number', 'turnpike_message_seconds > 3', 'there is no metric'],
    ['invalid PromQL', 'sum by (rate(turnpike_open_holds)', 'invalid PromQL'],
    ['an expression without a metric', 'vector(1)', 'reads no metric'],
  ])('%s is reported', (_what, expression, fault) => {
    expect(faultsOf(expression).join('\n')).toContain(fault);
  });
});

describe('alert rules', () => {
  test('exist', () => expect(rules.length).toBeGreaterThan(12));

  test.each(rules.map((rule) => [rule.alert, rule] as const))('%s uses only existing metrics', (_name, { expr }) => {
    expect(faultsOf(expr)).toEqual([]);
  });

  test('each have a severity, a meaning, and the heading that describes the remedy', () => {
    const headings = [...operating.matchAll(/^#### (\w+)$/gm)].map((match) => match[1]);
    expect(headings).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, labels, annotations, for: pending } of rules) {
      expect(alert).toMatch(/^Turnpike[A-Z]\w+$/);
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(10);
      expect(annotations.description).toMatch(/\.$/);
      expect(annotations.runbook).toBe(`docs/operating.md#${alert.toLowerCase()}`);
      expect(pending ?? '1m').toMatch(/^\d+m$/);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test('use in their texts only labels that their expression preserves', () => {
    for (const { alert, expr, annotations } of rules) {
      const usedLabels = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(
        (match) => match[1] as string,
      );
      // A condition after `and` drops no label.
      const grouped = /\bby \(([^)]*)\)/.exec(expr.split(' and ')[0] ?? '')?.[1]?.split(', ');
      for (const label of usedLabels)
        expect({ alert, kept: grouped?.includes(label) ?? true }).toEqual({ alert, kept: true });
    }
  });
});

describe('the dashboard', () => {
  const targets = dashboard.panels.flatMap((panel) =>
    (panel.targets ?? []).map(({ expr }) => [panel.title, expr] as const),
  );

  test.each(targets)('%s uses only existing metrics', (_title, expr) => {
    expect(faultsOf(filledIn(expr))).toEqual([]);
    expect(expr).toContain('{job=~"$job",instance=~"$instance"');
  });

  test('shows every metric', () => {
    const shown = targets.map(([, expr]) => expr).join('\n');
    const missing = [...readFamilies(used).keys()].filter(
      (name) => !new RegExp(`${name}(_bucket|_sum|_count)?\\{`).test(shown),
    );
    expect(missing).toEqual(['turnpike_build_info']); // the metric that the variables are read from
  });

  test('has panels that do not overlap, each with its own id and a description', () => {
    const cells = new Set<string>();
    for (const { type, title, description, gridPos } of dashboard.panels) {
      if (type !== 'row')
        expect({ title, isDescribed: (description ?? '').length > 5 }).toEqual({ title, isDescribed: true });
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect({ title, isFree: !cells.has(`${x} ${y}`) && x < 24 }).toEqual({ title, isFree: true });
          cells.add(`${x} ${y}`);
        }
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });

  test('reads its variables from an existing metric', () => {
    const queries = dashboard.templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));
    expect(queries).toEqual(['job', 'instance'].map((label) => `label_values(turnpike_build_info, ${label})`));
    expect([...readFamilies(used).keys()]).toContain('turnpike_build_info');
  });
});

test('the table of metrics in docs/operating.md matches a running service: names, types, labels', () => {
  const rows = [...operating.matchAll(/^\| `(turnpike_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \|$/gm)];
  const documented = rows.map(([, name, type, labels = '']) => ({
    name,
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map((match) => match[1]).toSorted(),
  }));
  const exposed = [...readFamilies(used)].map(([name, { type, labels }]) => ({
    name,
    type,
    labels: [...labels].filter((label) => label !== 'le').toSorted(),
  }));
  expect(documented).toEqual(exposed as typeof documented);
});

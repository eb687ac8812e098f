// Reads the metrics that a PromQL expression uses, with the grammar of Prometheus's own editor, and compares them
// with those of a service. It has no tests of its own.

import { parser } from '@prometheus-io/lezer-promql';

export interface Families {
  get(name: string): { type: string; labels: Set<string> } | undefined;
}

interface Selector {
  metric: string;
  matchers: { label: string; values: string[] }[];
  /** Whether a range of the metric is read, as for rate and increase. */
  isRange: boolean;
}

/** Labels that the scraper adds to every series, and its own metric. */
const SCRAPED = ['job', 'instance'];
const OF_SCRAPER = 'up';

/**
 * The faults of an expression: invalid syntax, unknown metrics or labels, values that a label never has, a counter
 * used as a gauge, a histogram used as a number.
 */
export function faultsOfExpression(
  expression: string,
  families: Families,
  values: ReadonlyMap<string, Set<string>>,
): string[] {
  const { faults, selectors, groupings } = readExpression(expression);
  const known = new Set(SCRAPED);
  for (const { metric, matchers, isRange } of selectors) {
    if (metric === OF_SCRAPER) continue;
    const base = metric.replace(/_(?:bucket|sum|count)$/, '');
    const family = families.get(metric) ?? families.get(base);
    if (family === undefined || (family.type === 'histogram') !== (metric !== base)) {
      faults.push(`there is no metric ${metric}`);
      continue;
    }
    if (family.type !== 'gauge' && !isRange) faults.push(`${metric} is a counter: use its rate`);
    for (const label of family.labels) known.add(label);
    for (const matcher of matchers) faults.push(...faultsOfMatcher(metric, matcher, family.labels, values));
  }
  for (const label of groupings) if (!known.has(label)) faults.push(`no metric has the label ${label}`);
  if (selectors.length === 0) faults.push('the expression reads no metric');
  return faults.map((fault) => `${fault}: ${expression}`);
}

function faultsOfMatcher(
  metric: string,
  { label, values: wanted }: Selector['matchers'][number],
  labels: ReadonlySet<string>,
  values: ReadonlyMap<string, Set<string>>,
): string[] {
  if (SCRAPED.includes(label)) return [];
  if (!labels.has(label)) return [`${metric} has no label ${label}`];
  const possible = values.get(label);
  if (possible === undefined) return [];
  return wanted.filter((value) => !possible.has(value)).map((value) => `${label} is never "${value}"`);
}

function readExpression(expression: string): { faults: string[]; selectors: Selector[]; groupings: string[] } {
  const faults: string[] = [];
  const selectors: Selector[] = [];
  const groupings: string[] = [];
  let isRange = false;
  let label = '';
  parser.parse(expression).iterate({
    enter(node) {
      const { name, from } = node;
      const isIn = (parent: string) => node.matchContext([parent]);
      const text = expression.slice(from, node.to);
      if (node.type.isError) faults.push(`invalid PromQL at ${from}`);
      if (name === 'MatrixSelector') isRange = true;
      if (name === 'VectorSelector') selectors.push({ metric: '', matchers: [], isRange });
      const selector = selectors.at(-1);
      if (name === 'Identifier' && isIn('VectorSelector') && selector) selector.metric = text;
      if (name === 'LabelName' && isIn('GroupingLabels')) groupings.push(text);
      if (name === 'LabelName' && isIn('UnquotedLabelMatcher')) label = text;
      if (name === 'StringLiteral' && isIn('UnquotedLabelMatcher'))
        selector?.matchers.push({ label, values: text.slice(1, -1).split('|') });
    },
    leave({ name }) {
      if (name === 'MatrixSelector') isRange = false;
    },
  });
  return { faults, selectors, groupings };
}

// Prices with effective dates: how a file states them, every fault, which version a snapshot has, and when.

import { describe, expect, test } from 'bun:test';
import {
  CatalogHolder,
  comparePrices,
  describeDocuments,
  formatFault,
  includedPriceList,
  planApply,
  rateRecord,
} from '../../../src/catalog/catalog.ts';
import { listedModels } from '../../../src/catalog/price-list/price-list.ts';
import { bounds } from '../../../src/config/config.ts';
import { NO_TOKENS } from '../../../src/wire/wire.ts';
import { apply, catalogOf, planOptions, unseal } from './support.ts';

const providers = { anthropic: { kind: 'anthropic' } };
const price = { input: '1', output: '2' };
const routes = [{ provider: 'anthropic' }];
const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse('2026-12-01');
const usd = 1_000_000_000_000n;

function faultsOf(model: object): string[] {
  return planApply([], { providers, models: { m: model } }, planOptions())
    .faults.map(formatFault)
    .sort();
}
const withChanges = (price_changes: unknown) => ({ price, price_changes, routes });
const change = (from: unknown) => ({ from, ...price });

describe('a file', () => {
  test('has later versions with times, or dates that mean midnight UTC', () => {
    const froms = ['2026-12-01', '2026-12-01T01:30:00+01:00', '2026-12-01T00:45:00.5Z'];
    const catalog = catalogOf({ providers, models: { m: withChanges(froms.map(change)) } });
    const times: number[] = [];
    for (let one = catalog.models.get('m')?.price.next; one != null; one = one.next) times.push(one.fromMs);
    expect(times).toEqual([FIRST_MS, FIRST_MS + 1_800_000, FIRST_MS + 2_700_500]);
  });

  test('is refused for a time in a wrong form, with the name of the field', () => {
    for (const from of ['tomorrow', '2026-13-01', '2026-02-30', '2026-12-01T00:00:00', '1.12.2026', '', '2026-12-01Z'])
      expect(faultsOf(withChanges([change(from)]))).toEqual([
        'models.m.price_changes.0.from: must be a time such as 2026-12-01T00:00:00Z, or a date, which means midnight UTC',
      ]);
    expect(faultsOf(withChanges([change(1)]))).toEqual(['models.m.price_changes.0.from: must be a string']);
    expect(faultsOf(withChanges([price]))).toEqual(['models.m.price_changes.0.from: is missing']);
  });

  test('is refused for two versions with the same time, or out of order, with the name of the field', () => {
    const words = 'must be later than that of the change before it';
    const sameMoment = [change('2026-12-01'), change('2026-12-01T00:00:00Z')];
    expect(faultsOf(withChanges(sameMoment))).toEqual([`models.m.price_changes.1.from: ${words}`]);
    const earlier = [change('2026-12-02'), change('2026-12-03'), change('2026-12-01')];
    expect(faultsOf(withChanges(earlier))).toEqual([`models.m.price_changes.2.from: ${words}`]);
    const cost_changes = [change('2026-12-01'), change('2026-12-01')];
    expect(faultsOf({ price, routes: [{ provider: 'anthropic', cost: price, cost_changes }] })).toEqual([
      `models.m.routes.0.cost_changes.1.from: ${words}`,
    ]);
  });

  test('is refused for wrong rates of a version, too many versions, and changes of an unknown cost', () => {
    expect(faultsOf(withChanges([{ from: '2026-12-01', input: '-1' }]))).toEqual([
      expect.stringContaining('models.m.price_changes.0.input: must be a decimal'),
      'models.m.price_changes.0.output: is missing',
    ]);
    const many = Array.from({ length: bounds.priceChangesMax + 1 }, (_, day) =>
      change(new Date(FIRST_MS + day * DAY_MS).toISOString()),
    );
    expect(faultsOf(withChanges(many))).toEqual([
      `models.m.price_changes: must not have more than ${bounds.priceChangesMax} entries`,
    ]);
    expect(faultsOf({ price, routes: [{ provider: 'anthropic', cost_changes: [change('2026-12-01')] }] })).toEqual([
      'models.m.routes.0.cost_changes: requires cost: the cost until the first change',
    ]);
  });

  test('cannot combine its own versions with those of the price list', () => {
    const changes = [change('2026-12-01')];
    expect(faultsOf({ catalogue: true, price_changes: changes, aliases: ['gemini-4-argon'], routes })).toEqual([
      'models.m.catalogue: cannot be combined with price_changes: remove one of them',
    ]);
    const listed = [{ provider: 'anthropic', model: 'gemini-4-argon', cost: 'catalogue', cost_changes: changes }];
    expect(faultsOf({ price, routes: listed })).toEqual([
      'models.m.routes.0.cost_changes: cannot be combined with cost: catalogue',
    ]);
  });

  test('takes the versions of the list, which the description of the catalog keeps as they are', () => {
    const file = {
      providers,
      models: { 'gemini-4-argon': { catalogue: true, routes: [{ ...routes[0], cost: 'catalogue' }] } },
    };
    const documents = apply([], file);
    const { price, routes: stored } = catalogOf(file).models.get('gemini-4-argon') ?? {};
    expect(price?.next).toMatchObject({ fromMs: FIRST_MS, standard: { input: 4n * usd, output: 20n * usd } });
    expect(stored?.[0]?.cost).toEqual(price as NonNullable<typeof price>);
    const described = describeDocuments(documents).document;
    expect(described.models['gemini-4-argon']).toMatchObject({ catalogue: true });
    expect(planApply(documents, described, planOptions()).changes).toEqual([]);
    const own = apply([], { providers, models: { m: withChanges([change('2026-12-01')]) } });
    expect(planApply(own, describeDocuments(own).document, planOptions()).changes).toEqual([]);
  });

  test('needs no output rate for a model of embeddings, in any version', () => {
    const changes = [{ from: '2026-12-01', input: '2' }];
    const costed = { provider: 'anthropic', cost: { input: '1' }, cost_changes: changes };
    expect(faultsOf({ serves: 'embeddings', price: { input: '1' }, price_changes: changes, routes: [costed] })).toEqual(
      [],
    );
  });
});

describe('the snapshot', () => {
  const changes = [
    { from: '2026-12-01', input: '3', output: '4' },
    { from: '2026-12-02', input: '5', output: '6' },
  ];
  const documents = apply([], {
    providers,
    models: {
      changing: { price, price_changes: changes, routes },
      costed: { price, routes: [{ provider: 'anthropic', cost: price, cost_changes: changes.slice(1) }] },
      constant: { price, routes },
    },
  });

  test('is replaced at the time of a change, once, and models that do not change stay the same', () => {
    let nowMs = FIRST_MS - 1;
    const holder = new CatalogHolder(documents, unseal, () => nowMs);
    const inputs = () =>
      ['changing', 'costed', 'constant'].map((name) => {
        const model = holder.current.models.get(name);
        return [model?.price.standard.input, model?.routes[0]?.cost?.standard.input ?? null];
      });
    const before = holder.current;
    expect(inputs()).toEqual([
      [usd, null],
      [usd, usd],
      [usd, null],
    ]);
    nowMs = FIRST_MS;
    const after = holder.current;
    expect(after).not.toBe(before);
    expect(holder.current).toBe(after);
    expect(inputs()).toEqual([
      [3n * usd, null],
      [usd, usd],
      [usd, null],
    ]);
    for (const name of ['costed', 'constant']) expect(after.models.get(name)).toBe(before.models.get(name) as never);
    // A message keeps the model that it was admitted with.
    expect(before.models.get('changing')?.price.standard.input).toBe(usd);
    nowMs = FIRST_MS + DAY_MS;
    expect(inputs()).toEqual([
      [5n * usd, null],
      [usd, 5n * usd],
      [usd, null],
    ]);
    expect(holder.current).toBe(holder.current);
    nowMs += 1_000 * DAY_MS;
    expect(inputs()[0]).toEqual([5n * usd, null]);
  });

  test('is also replaced when only a cost changes', () => {
    let nowMs = FIRST_MS;
    const costed = documents.filter(({ name }) => name !== 'changing');
    const holder = new CatalogHolder(costed, unseal, () => nowMs);
    const inputs = () => [...holder.current.models.values()].map(({ routes }) => routes[0]?.cost?.standard.input);
    expect(inputs()).toEqual([usd, undefined]);
    nowMs += DAY_MS;
    expect(inputs()).toEqual([5n * usd, undefined]);
  });

  test('has the version of its time from the start, and after it was replaced', () => {
    const holder = new CatalogHolder(documents, unseal, () => FIRST_MS + DAY_MS);
    expect(holder.current.models.get('changing')?.price.standard.input).toBe(5n * usd);
    holder.swap(documents);
    expect(holder.current.models.get('changing')?.price.standard.input).toBe(5n * usd);
    expect(() => (holder.current.models as Map<string, unknown>).clear()).toThrow('never changed');
  });

  test('gives usage records the time from which their version applies', () => {
    const [first] = [...catalogOf({ providers, models: { m: withChanges(changes) } }).models.values()];
    const recordOf = (one = first?.price) => rateRecord(one as never, NO_TOKENS, 1_000_000n, 'standard');
    expect(recordOf()).not.toHaveProperty('from');
    expect(recordOf(first?.price.next as never)).toMatchObject({ from: '2026-12-01T00:00:00.000Z', input: '3' });
  });
});

describe('the comparison with the price list', () => {
  const nowMs = Date.parse('2026-11-24');
  const [listed] = listedModels('gemini').filter(({ name }) => name === 'gemini-4-argon');
  const compare = (model: object, atMs = nowMs) =>
    comparePrices(
      catalogOf({ providers, models: { 'gemini-4-argon': { ...model, routes } } }),
      includedPriceList(),
      atMs,
    ).differences.map(({ fromMs, part, configured, listed }) => [fromMs, part, configured, listed]);

  test('finds a change that is missing, at its time', () => {
    expect(compare({ catalogue: true })).toEqual([]);
    expect(compare({ price: listed?.price })).toEqual([
      [FIRST_MS, 'input', '2', '4'],
      [FIRST_MS, 'output', '10', '20'],
      [FIRST_MS, 'cache_read', '0.1', '0.2'],
    ]);
    expect(compare({ price: listed?.price }, FIRST_MS)).toMatchObject([[null, 'input', '2', '4'], {}, {}]);
  });

  test('finds a change that the list does not have, and reports a lasting difference once', () => {
    const later = { ...listed?.priceChanges[0], from: '2026-12-24', input: '7' };
    const own = { price: { ...listed?.price, input: '3' }, price_changes: [...(listed?.priceChanges ?? []), later] };
    expect(compare(own)).toEqual([
      [null, 'input', '3', '2'],
      [Date.parse('2026-12-24'), 'input', '7', '4'],
    ]);
  });
});

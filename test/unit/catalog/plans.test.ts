// Plans in the catalog: read from a file, exported as one, and refused with each fault.

import { describe, expect, test } from 'bun:test';
import { describeDocuments, planApply } from '../../../src/catalog/catalog.ts';
import { apply, catalogOf, planOptions } from './support.ts';

const groups = { pro: { models: ['*'] } };
const pro = {
  title: 'Pro',
  price: '20',
  windows: { '5h': '2.5', month: '40.00' },
  groups: ['pro'],
  limits: { rpm: 300 },
};
const faultsOf = (plan: unknown, more: object = {}) =>
  planApply([], { groups, plans: { pro: plan }, ...more }, planOptions()).faults;

describe('a plan', () => {
  test('is read with its windows, shortest first, and without limits that it does not have', () => {
    const { plans } = catalogOf({ groups, plans: { pro: { ...pro, stripe_price: 'price_1', is_offered: true } } });
    expect(plans.get('pro')).toEqual({
      name: 'pro',
      title: 'Pro',
      price: 20_000_000_000,
      windows: [
        { length: '5h', limit: 2_500_000_000 },
        { length: 'month', limit: 40_000_000_000 },
      ],
      groups: ['pro'],
      limits: { requestsPerMinute: 300, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrency: null },
      stripePrice: 'price_1',
      isOffered: true,
    });
  });

  test('is exported as a file that changes nothing when it is applied', () => {
    const documents = apply([], { groups, plans: { pro } });
    const { document, origins } = describeDocuments(documents);
    expect(document.plans['pro']).toMatchObject({
      price: '20.00',
      windows: { '5h': '2.50', day: null, month: '40.00' },
    });
    expect(origins).toContainEqual({ kind: 'plan', name: 'pro', origin: 'file' });
    expect(planApply(documents, document, planOptions()).changes).toEqual([]);
  });

  test('is refused with the path of each fault', () => {
    const faults: [object, string, string][] = [
      [{ title: undefined }, 'title', 'is missing'],
      [{ price: '-1' }, 'price', 'must be an amount in USD'],
      [{ price: 1.5 }, 'price', 'must be in quotes'],
      [{ interval: 'year' }, 'interval', 'must be month'],
      [{ windows: {} }, 'windows', 'must have a window'],
      [{ windows: { day: '0' } }, 'windows.day', 'must be greater than zero'],
      [{ windows: { hour: '1' } }, 'windows.hour', 'unknown member'],
      [{ groups: ['nowhere'] }, 'groups.0', 'there is no group "nowhere"'],
      [{ limits: { rpm: 0 } }, 'limits.rpm', ''],
      [{ stripe_price: 'prod_1' }, 'stripe_price', 'must be the id of a price at Stripe'],
    ];
    for (const [members, path, message] of faults) {
      const [first] = faultsOf({ ...pro, ...members });
      expect([members, first?.path.join('.'), first?.message]).toEqual([
        members,
        `plans.pro.${path}`,
        expect.stringContaining(message),
      ]);
    }
  });

  test('keeps its groups from being removed', () => {
    const documents = apply([], { groups, plans: { pro } });
    const remove = [{ kind: 'group', name: 'pro' }] as const;
    const refused = planApply(documents, {}, planOptions({ remove }));
    expect(refused.faults).toEqual([
      { path: ['groups'], message: 'the group "pro" would be removed, but the plan "pro" gives it' },
    ]);
    const both = [...remove, { kind: 'plan', name: 'pro' }] as const;
    expect(planApply(documents, {}, planOptions({ remove: both })).questions.removedPlans).toEqual(['pro']);
  });
});

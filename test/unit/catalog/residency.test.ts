// Data residency: which routes a group sells, and what the file of apply may state.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  buildCatalog,
  describeDocuments,
  listOffers,
  planApply,
  resolveModel,
  routesWithinResidency,
} from '../../../src/catalog/catalog.ts';
import { isWithinResidency } from '../../../src/catalog/residency.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { apply, catalogOf, planOptions, unseal } from './support.ts';

const price = { input: '1', output: '2' };
const file = {
  providers: {
    eu: { kind: 'sandbox', residency: ['eu'] },
    both: { kind: 'sandbox', residency: ['eu', 'us'] },
    unstated: { kind: 'sandbox' },
  },
  models: {
    everywhere: { price, routes: [{ provider: 'eu' }, { provider: 'both' }, { provider: 'unstated' }] },
    european: { price, routes: [{ provider: 'eu' }] },
    elsewhere: { price, routes: [{ provider: 'both' }, { provider: 'unstated' }] },
  },
  groups: {
    any: { models: ['*'] },
    eu: { models: ['*'], residency: ['eu'] },
    atlantic: { models: ['*'], residency: ['us', 'eu'] },
  },
};
const catalog = catalogOf(file);
const callerIn = (...groups: string[]) => ({ account: 1, groups, keyModels: null });
const providersOf = (model: string, ...groups: string[]) =>
  resolveModel(catalog, callerIn(...groups), model).routes.map(({ provider }) => provider);

describe('a group with a residency', () => {
  test('sells only routes of providers all of whose places it has; other groups sell all', () => {
    expect(providersOf('everywhere', 'any')).toEqual(['eu', 'both', 'unstated']);
    expect(providersOf('everywhere', 'eu')).toEqual(['eu']);
    expect(providersOf('everywhere', 'atlantic')).toEqual(['eu', 'both']);
  });

  test('does not list or sell a model without a route that fits; operators learn why', () => {
    expect(listOffers(catalog, callerIn('eu')).map(({ model }) => model.name)).toEqual(['everywhere', 'european']);
    let refusal: unknown;
    try {
      resolveModel(catalog, callerIn('eu'), 'elsewhere');
    } catch (thrown) {
      refusal = thrown;
    }
    if (!(refusal instanceof TurnpikeError)) throw new Error('the model was sold');
    expect(refusal.message).toBe('model: elsewhere: the model does not exist, or this key does not have access to it');
    expect(refusal.cause).toBe('no route of the model elsewhere is within the residency of the group eu (eu)');
    expect(refusal.body('req_1')).not.toContain('residency');
  });

  test('leaves the model to the next group of the caller', () => {
    expect(resolveModel(catalog, callerIn('eu', 'any'), 'elsewhere').group.name).toBe('any');
  });

  test('decides once per snapshot, and keeps the routes of the model where all fit', () => {
    const routesOf = (model: string, group: string) => resolveModel(catalog, callerIn(group), model).routes;
    expect(routesOf('everywhere', 'eu')).toBe(routesOf('everywhere', 'eu'));
    expect(routesOf('european', 'eu')).toBe(catalog.models.get('european')?.routes as never);
    expect(routesOf('everywhere', 'any')).toBe(catalog.models.get('everywhere')?.routes as never);
  });

  test('follows what a provider states now, also for an offer of an earlier snapshot', () => {
    const { group, routes } = resolveModel(catalog, callerIn('eu'), 'european');
    const moved = catalogOf({ ...file, providers: { ...file.providers, eu: { kind: 'sandbox', residency: ['us'] } } });
    expect(routesWithinResidency(moved, group, routes)).toEqual([]);
    expect(routesWithinResidency(catalog, group, routes)).toBe(routes);
    const open = catalogOf({ ...file, groups: { ...file.groups, eu: { models: ['*'] } } });
    const { group: formerly, routes: all } = resolveModel(open, callerIn('eu'), 'everywhere');
    expect(routesWithinResidency(catalog, formerly, all).map(({ provider }) => provider)).toEqual(['eu']);
  });
});

test('a route is within a residency exactly if each place of its provider is', () => {
  const places = fc.uniqueArray(fc.constantFrom('eu', 'us', 'global', 'ch'), { minLength: 1 });
  fc.assert(
    fc.property(fc.option(places), fc.option(places), (residency, allowed) => {
      const outside = residency === null || residency.some((place) => allowed?.includes(place) === false);
      expect(isWithinResidency({ residency }, { residency: allowed })).toBe(allowed === null || !outside);
    }),
  );
});

describe('in documents', () => {
  test('it is absent unless set, and a file that repeats it changes nothing', () => {
    const documents = apply([], file);
    const memberOf = (kind: string, name: string) =>
      Object.hasOwn(documents.find((one) => one.kind === kind && one.name === name)?.document ?? {}, 'residency');
    expect([memberOf('group', 'any'), memberOf('group', 'eu')]).toEqual([false, true]);
    expect([memberOf('provider', 'unstated'), memberOf('provider', 'eu')]).toEqual([false, true]);
    const { document } = describeDocuments(documents);
    expect(document.groups).toMatchObject({ eu: { residency: ['eu'] } });
    expect(document.providers).toMatchObject({ both: { residency: ['eu', 'us'] } });
    expect(planApply(documents, document, planOptions()).changes).toEqual([]);
    expect(buildCatalog(documents, unseal).groups.get('any')?.residency).toBeNull();
  });

  test.each([[[]], [['EU']], [['eu', 'eu']], [['']], ['eu'], [null]])('%j is a fault', (residency) => {
    const { faults } = planApply(
      [],
      { providers: { p: { kind: 'sandbox', residency } }, groups: { g: { models: ['*'], residency } } },
      planOptions(),
    );
    const places = new Set(faults.map(({ path }) => path.slice(0, 3).join('.')));
    expect(places).toEqual(new Set(['providers.p.residency', 'groups.g.residency']));
  });
});

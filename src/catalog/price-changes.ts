// Versions of prices: which is in force, and when the next one takes effect. Pure.

import { type Catalog, frozenMap, type Model, type ModelPrice, type Route } from './model.ts';

/** The version in force at a time that is not before `price` took effect. */
export function priceAt(price: ModelPrice, nowMs: number): ModelPrice {
  let inForce = price;
  while (inForce.next !== null && inForce.next.fromMs <= nowMs) inForce = inForce.next;
  return inForce;
}

/** The later versions of a price, in order. */
export function laterPrices({ next }: ModelPrice): ModelPrice[] {
  return next === null ? [] : [next, ...laterPrices(next)];
}

/** The catalog with the prices and costs in force at a time; the same one if it has them. */
export function catalogAt(catalog: Catalog, nowMs: number): Catalog {
  if (nextPriceChangeMs(catalog) > nowMs) return catalog;
  const at = (models: Catalog['models']) =>
    frozenMap([...models].map(([name, model]): [string, Model] => [name, modelAt(model, nowMs)]));
  return Object.freeze({ ...catalog, models: at(catalog.models), patterns: at(catalog.patterns) });
}

function modelAt(model: Model, nowMs: number): Model {
  const price = priceAt(model.price, nowMs);
  const routes = model.routes.some((route) => costAt(route, nowMs) !== route.cost)
    ? Object.freeze(model.routes.map((route) => Object.freeze({ ...route, cost: costAt(route, nowMs) })))
    : model.routes;
  return price === model.price && routes === model.routes ? model : Object.freeze({ ...model, price, routes });
}

function costAt({ cost }: Route, nowMs: number): ModelPrice | null {
  return cost === null ? null : priceAt(cost, nowMs);
}

/** When the next price or cost takes effect; infinite if none does. */
export function nextPriceChangeMs({ models, patterns }: Catalog): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const { price, routes } of [...models.values(), ...patterns.values()])
    for (const one of [price, ...routes.map(({ cost }) => cost)])
      if (one !== null && one.next !== null) nextMs = Math.min(nextMs, one.next.fromMs);
  return nextMs;
}

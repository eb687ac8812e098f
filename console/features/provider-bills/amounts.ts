// Amounts of bills, which have more digits than a nanodollar, and the parts that explain a difference.

import type { ProviderBillShape } from '../../../src/admin-api/shapes.ts';

/** Cut to nanodollars, which is as much as the console shows. */
export function toNano(usd: string): string {
  return usd.replace(/^(-?\d+\.\d{9})\d+$/, '$1');
}

export const partLabels: Readonly<Record<keyof ProviderBillShape['parts'], string>> = {
  rounding: 'Rounding',
  tiers: 'Service tiers not requested',
  cancelled: 'Canceled requests',
  beside: 'Requests outside Turnpike',
  unknown_price: 'Routes without a cost',
  unexplained: 'Unexplained',
};

/** For columns. */
export const shortPartLabels: typeof partLabels = {
  rounding: 'Rounding',
  tiers: 'Tiers',
  cancelled: 'Canceled',
  beside: 'Outside',
  unknown_price: 'No cost',
  unexplained: 'Unexplained',
};

export const partNames = Object.keys(partLabels) as (keyof ProviderBillShape['parts'])[];

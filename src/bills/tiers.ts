// Names of service tiers on bills, as this service names them.

import { STANDARD } from './bill-line.ts';

const SAME: Readonly<Record<string, string>> = {
  '': STANDARD,
  default: STANDARD,
  auto: STANDARD,
  on_demand: STANDARD,
  standard: STANDARD,
  priority: 'fast', // of OpenAI and Amazon: src/protocols/service-tiers.ts
  fast: 'fast',
  flex: 'flex',
  batch: 'batch',
};

/** Another name stays as it is, in lower case. */
export function tierOnBill(name: string | null | undefined): string {
  const lower = (name ?? '').trim().toLowerCase();
  return Object.hasOwn(SAME, lower) ? (SAME[lower] as string) : lower.slice(0, 40);
}

// Entries of the command palette that need no request: the pages and actions of a role, and ids. Pure.

import type { Role } from '../../me.tsx';
import { type IconName, pathOf } from '../../parts/link.tsx';
import type { Screen } from '../../screens.ts';

export interface Entry {
  /** Unique among the entries shown. */
  id: string;
  group: string;
  label: string;
  description?: string;
  icon: IconName;
  to: string;
  search?: Record<string, string>;
}

const actionLabels = {
  '/keys/new': 'Create API key',
  '/accounts/new': 'Create account',
  '/models/new': 'Create model',
  '/providers/new': 'Create provider',
  '/destinations/new': 'Create destination',
} as Readonly<Record<string, string>>;

const otherPages = {
  '/profile': 'Account security',
  '/billing/plan': 'Plan',
  '/billing/payments': 'Payments',
  '/billing/transactions': 'Transactions',
  '/deliveries': 'Deliveries',
} as Readonly<Record<string, string>>;

/** The pages and actions of a role. */
export function pageEntries(screens: readonly Screen[], role: Role): Entry[] {
  const seen = screens.filter(({ roles }) => roles.includes(role));
  const actions = seen.flatMap(({ path }): Entry[] => {
    const label = actionLabels[path];
    return label === undefined ? [] : [{ id: path, group: 'Actions', label, icon: 'plus', to: path }];
  });
  const pages = seen.flatMap(({ path, nav }): Entry[] => {
    const label = nav?.label ?? otherPages[path];
    return label === undefined ? [] : [{ id: path, group: 'Pages', label, icon: nav?.icon ?? 'list', to: path }];
  });
  return [...pages, ...actions];
}

/** The entries whose label or description has every word of the text. */
export function matchingEntries(entries: readonly Entry[], text: string, max: number): Entry[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const matches = ({ label, description = '' }: Entry) => {
    const searched = `${label} ${description}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  };
  return entries.filter(matches).slice(0, max);
}

/** The page of a request, batch or payment, if the text is its id. Whether it exists is for that page to say. */
export function idEntries(text: string, paymentsPath: string | null): Entry[] {
  if (/^req_[0-9A-Za-z]{25}$/.test(text))
    return [
      { id: text, group: 'Requests', label: 'Open request', description: text, icon: 'list', to: pathOf.request(text) },
    ];
  if (/^msgbatch_[0-9A-Za-z]{9}$/.test(text))
    return [
      { id: text, group: 'Batches', label: 'Open batch', description: text, icon: 'layers', to: pathOf.batch(text) },
    ];
  if (/^pay_[0-9A-Za-z]{9}$/.test(text) && paymentsPath !== null)
    return [
      {
        id: text,
        group: 'Payments',
        label: 'Open payment',
        description: text,
        icon: 'card',
        to: paymentsPath,
        search: { show: text },
      },
    ];
  return [];
}

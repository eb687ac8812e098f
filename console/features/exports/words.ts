// The words for exports, and what may be done with them.

import type { ExportShape, MeShape } from '../../../src/admin-api/shapes.ts';

export const kindLabels = { costs: 'Costs', records: 'Requests', focus: 'FOCUS 1.2' } as const;
export const formatLabels = { csv: 'CSV', parquet: 'Parquet' } as const;
export const everyLabels = { month: 'Monthly', day: 'Daily' } as const;
export const dimensionLabels = {
  account: 'Account',
  payer: 'Paying account',
  key: 'API key',
  person: 'User',
  model: 'Model',
  provider: 'Provider',
  tag: 'Tag',
  day: 'Day',
} as const;

export type Dimension = keyof typeof dimensionLabels;

/** The dimensions that the user may ask for. */
export function dimensionLabelsFor({ hidden }: Pick<MeShape, 'hidden'>): Readonly<Record<string, string>> {
  const { provider, ...others } = dimensionLabels;
  return hidden.includes('provider') ? others : { ...others, provider };
}

export const optionsOf = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

export function nameOfExport({ name, kind, every }: Pick<ExportShape, 'name' | 'kind' | 'every'>): string {
  return name === '' ? `${everyLabels[every]} ${kindLabels[kind].toLowerCase()}` : name;
}

export function targetOf(row: ExportShape): string {
  return row.target === 'mail' ? row.mail_to.join(', ') : [row.s3_bucket, row.s3_prefix].filter(Boolean).join('/');
}

export function managesExports({ role }: Pick<MeShape, 'role'>): boolean {
  return role === 'operator' || role === 'owner';
}

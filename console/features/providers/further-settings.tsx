// Settings of a provider beside its address and credentials: batches of its own, and web addresses in requests.

import { NativeSelect, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { CatalogShape } from '../../../src/admin-api/shapes.ts';

type Written = CatalogShape['document']['providers'][string];

export interface FurtherSettings {
  /** Empty: as usual at its address. */
  batches: '' | 'true' | 'false';
  /** Texts of further members about batches; empty: absent. */
  batch_cost: string;
  fetch_urls: 'off' | 'public' | 'any';
}

const batchOptions = [
  { value: '', label: 'Default' },
  { value: 'true', label: 'On' },
  { value: 'false', label: 'Off' },
];

export const fetchLabels = {
  off: 'Left to the provider',
  public: 'Fetched from the internet',
  any: 'Fetched from any network',
};

export function furtherSettings({ batches, batch_cost, fetch_urls }: Written): FurtherSettings {
  return {
    batches: batches === undefined ? '' : `${batches}`,
    batch_cost: batch_cost ?? '',
    fetch_urls: fetch_urls ?? 'off',
  };
}

/** Members of the provider; undefined: absent. `batchMembers`: those about batches that its kind takes. */
export function furtherSettingMembers(values: FurtherSettings, batchMembers: readonly string[]): object {
  const { batches, batch_cost, fetch_urls } = values;
  return {
    fetch_urls,
    ...(batchMembers.includes('batches') && { batches: batches === '' ? undefined : batches === 'true' }),
    ...(batchMembers.includes('batch_cost') && { batch_cost: batch_cost.trim() || undefined }),
  };
}

export const furtherSettingNames: readonly string[] = ['batches', 'batch_cost', 'fetch_urls'];

interface FieldsProps<Values extends FurtherSettings> {
  form: UseFormReturnType<Values>;
  batchMembers: readonly string[];
}

export function FurtherSettingFields<Values extends FurtherSettings>({ form, batchMembers }: FieldsProps<Values>) {
  return (
    <>
      {batchMembers.includes('batches') && (
        <NativeSelect
          label="Batches"
          description="On sends requests of batches as batches of the provider, which stores them until they are collected. By default, this is on at the address of the vendor."
          data={batchOptions}
          {...form.getInputProps('batches')}
        />
      )}
      {batchMembers.includes('batch_cost') && (
        <TextInput
          label="Batch cost"
          description="What the provider charges for requests of its batches, as a part of its usual price. Empty: 0.5, half of it."
          inputMode="decimal"
          {...form.getInputProps('batch_cost')}
        />
      )}
      <NativeSelect
        label="Web addresses in requests"
        description="Images and documents at web addresses can be fetched by Turnpike and sent as bytes, for providers that read no addresses."
        data={Object.entries(fetchLabels).map(([value, label]) => ({ value, label }))}
        {...form.getInputProps('fetch_urls')}
      />
    </>
  );
}

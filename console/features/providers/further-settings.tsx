// Settings of a provider beside its address, credentials and batches: the cost of these, and web addresses in requests.

import { NativeSelect, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { CatalogShape } from '../../../src/admin-api/shapes.ts';
import { optionsOf } from '../../labels.ts';

type Written = CatalogShape['document']['providers'][string];

export interface FurtherSettings {
  /** Empty: the usual one. */
  batch_cost: string;
  fetch_urls: 'off' | 'public' | 'any';
}

export const fetchLabels = {
  off: 'Left to the provider',
  public: 'Fetched from the internet',
  any: 'Fetched from any network',
};

export const furtherSettingNames: readonly string[] = ['batch_cost', 'fetch_urls'];

export function furtherSettings({ batch_cost = '', fetch_urls }: Written): FurtherSettings {
  return { batch_cost, fetch_urls: fetch_urls ?? 'off' };
}

/** Members for the document; undefined: absent. `hasBatches`: whether its kind may have batches. */
export function furtherSettingMembers({ batch_cost, fetch_urls }: FurtherSettings, hasBatches: boolean): object {
  return { fetch_urls, ...(hasBatches && { batch_cost: batch_cost.trim() || undefined }) };
}

interface FieldsProps<Values extends FurtherSettings> {
  form: UseFormReturnType<Values>;
  hasBatches: boolean;
}

export function FurtherSettingFields<Values extends FurtherSettings>({ form, hasBatches }: FieldsProps<Values>) {
  return (
    <>
      {hasBatches && (
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
        data={optionsOf(fetchLabels)}
        {...form.getInputProps('fetch_urls')}
      />
    </>
  );
}

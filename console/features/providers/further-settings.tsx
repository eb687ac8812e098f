// Settings of a provider beside its address and credentials: batches of its own, and web addresses in requests.

import { NativeSelect, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { CatalogShape } from '../../../src/admin-api/shapes.ts';

type Written = CatalogShape['document']['providers'][string];

export interface FurtherSettings {
  /** Empty: as usual at its address. */
  batches: '' | 'true' | 'false';
  /** Texts; empty: absent. */
  batch_cost: string;
  batch_bucket: string;
  batch_role: string;
  batch_storage_url: string;
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

/** Texts about batches, of which each kind takes some. */
const texts = {
  batch_cost: {
    label: 'Batch cost',
    description:
      'What the provider charges for requests of its batches, as a part of its usual price. Empty: 0.5, half of it.',
  },
  batch_bucket: {
    label: 'Bucket for batches',
    description: 'Where batches keep requests and results, for example s3://bucket/prefix or gs://bucket/prefix.',
  },
  batch_role: { label: 'Role for batches', description: 'The ARN of the role as which Bedrock uses the bucket.' },
  batch_storage_url: {
    label: 'Address of the bucket’s store',
    description: 'Only for a private endpoint. Empty: the public address.',
  },
} as const;
const textNames = Object.keys(texts) as (keyof typeof texts)[];

export function furtherSettings(written: Written): FurtherSettings {
  const { batches, fetch_urls = 'off' } = written;
  return {
    batches: batches === undefined ? '' : `${batches}`,
    fetch_urls,
    ...(Object.fromEntries(textNames.map((name) => [name, written[name] ?? ''])) as Record<keyof typeof texts, string>),
  };
}

/** Members of the provider; undefined: absent. `batchMembers`: those about batches that its kind takes. */
export function furtherSettingMembers(values: FurtherSettings, batchMembers: readonly string[]): object {
  const { batches, fetch_urls } = values;
  const members = {
    batches: batches === '' ? undefined : batches === 'true',
    ...Object.fromEntries(textNames.map((name) => [name, values[name].trim() || undefined])),
  };
  const taken = Object.entries(members).filter(([name]) => batchMembers.includes(name));
  return { fetch_urls, ...Object.fromEntries(taken) };
}

export const furtherSettingNames: readonly string[] = ['batches', 'fetch_urls', ...textNames];

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
          description="On sends requests of batches as batches of the provider, which stores them until they are collected. By default, this is on at Anthropic’s, OpenAI’s and Google’s own addresses."
          data={batchOptions}
          {...form.getInputProps('batches')}
        />
      )}
      {textNames
        .filter((name) => batchMembers.includes(name))
        .map((name) => (
          <TextInput key={name} {...texts[name]} {...form.getInputProps(name)} />
        ))}
      <NativeSelect
        label="Web addresses in requests"
        description="Images and documents at web addresses can be fetched by Turnpike and sent as bytes, for providers that read no addresses."
        data={Object.entries(fetchLabels).map(([value, label]) => ({ value, label }))}
        {...form.getInputProps('fetch_urls')}
      />
    </>
  );
}

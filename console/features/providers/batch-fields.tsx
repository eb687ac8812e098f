// Batches that a provider runs itself: whether it gets them, and where a cloud keeps them.

import { Switch, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { CatalogShape } from '../../../src/admin-api/shapes.ts';

type Written = CatalogShape['document']['providers'][string];
/** The members that batches of a kind need; null: the kind has none. */
export type BatchNeeds = CatalogShape['provider_kinds'][number]['batches'];

export interface BatchValues {
  batches: boolean;
  batch_bucket: string;
  batch_role: string;
}

const texts: Readonly<Record<NonNullable<BatchNeeds>[number], { label: string; description: string }>> = {
  batch_bucket: {
    label: 'Batch bucket',
    description: 'Where requests and results are kept, for example s3://bucket/prefix or gs://bucket/prefix.',
  },
  batch_role: {
    label: 'Batch role',
    description: 'The ARN of the role as which Bedrock reads and writes the bucket.',
  },
};

/** `isOn`: whether the provider gets batches now, by a setting or because of its address. */
export function batchValues({ batch_bucket = '', batch_role = '' }: Partial<Written>, isOn: boolean): BatchValues {
  return { batches: isOn, batch_bucket, batch_role };
}

/** The members for the document. What follows from the address stays so, unless `isChanged`. */
export function batchMembers(values: BatchValues, needs: BatchNeeds, isChanged: boolean): Partial<BatchValues> {
  const given = (needs ?? []).map((member) => [member, values[member].trim()] as const);
  return {
    ...(isChanged && { batches: values.batches }),
    ...Object.fromEntries(given.map(([member, text]) => [member, text === '' ? undefined : text])),
  };
}

export function BatchFields<Values extends BatchValues>({
  form,
  needs,
}: {
  form: UseFormReturnType<Values>;
  needs: BatchNeeds;
}) {
  if (needs === null) return null;
  return (
    <>
      <Switch
        label="Batches"
        description="Batches of clients are sent as batches of the provider, at a lower price. Answers may take up to 24 hours."
        {...form.getInputProps('batches', { type: 'checkbox' })}
      />
      {form.values.batches &&
        needs.map((member) => <TextInput key={member} {...texts[member]} required {...form.getInputProps(member)} />)}
    </>
  );
}

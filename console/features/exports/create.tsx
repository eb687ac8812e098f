// Creates an export that is sent at regular times.

import { Card, Checkbox, PasswordInput, SegmentedControl, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { AccountSelect } from '../../parts/fields.tsx';
import { MultiSelect, TagsInput } from '../../parts/later.tsx';
import { pathOf, useGoTo } from '../../parts/link.tsx';
import { Hint, PageHead } from '../../parts/page.tsx';
import { useCreate, useGet } from '../../queries.ts';
import { dimensionLabelsFor, everyLabels, formatLabels, kindLabels, optionsOf } from './words.ts';

const initialValues = {
  kind: 'costs',
  by: ['account', 'model'],
  tag_name: '',
  below: false,
  format: 'csv',
  every: 'month',
  target: 's3',
  account: '',
  name: '',
  s3_endpoint: '',
  s3_region: '',
  s3_bucket: '',
  s3_prefix: '',
  s3_access_key_id: '',
  s3_secret_access_key: '',
  mail_to: [] as string[],
};
type Values = typeof initialValues;
const FIELDS = Object.keys(initialValues);

export function ExportCreate() {
  const me = useMe();
  const goTo = useGoTo();
  const signIn = useGet('/sign-in').data;
  const form = useForm<Values>({ initialValues });
  const create = useCreate('POST /exports', { toBody, onDone: ({ id }) => goTo(pathOf.export(id)) });
  const submit = form.onSubmit((values) =>
    create.mutate(values, { onError: (failure) => form.setErrors(fieldFaults(failure, FIELDS) ?? {}) }),
  );
  const { kind, by, target, account } = form.values;
  const isMailOff = signIn?.password_reset === false;
  const targets = [
    { value: 's3', label: 'Object storage (S3)' },
    { value: 'mail', label: 'Email', disabled: isMailOff },
  ];
  return (
    <>
      <PageHead title="Create export" text="Each file covers a whole month or day, in UTC." />
      <Card maw={820} p="lg" component="form" onSubmit={submit} noValidate>
        <Stack>
          <SegmentedControl aria-label="Content" data={optionsOf(kindLabels)} {...form.getInputProps('kind')} />
          {kind === 'costs' && (
            <MultiSelect
              label="Group by"
              data={optionsOf(dimensionLabelsFor(me))}
              maxValues={2}
              {...form.getInputProps('by')}
            />
          )}
          {kind === 'costs' && by.includes('tag') && (
            <TextInput label="Tag name" autoComplete="off" required {...form.getInputProps('tag_name')} />
          )}
          <SegmentedControl aria-label="Frequency" data={optionsOf(everyLabels)} {...form.getInputProps('every')} />
          <SegmentedControl aria-label="Format" data={optionsOf(formatLabels)} {...form.getInputProps('format')} />
          {me.account === null && (
            <AccountSelect
              label="Account"
              placeholder="All accounts"
              clearable
              {...form.getInputProps('account')}
              value={account || null}
              onChange={(id) => form.setValues({ account: id ?? '', ...(id === null && { below: false }) })}
            />
          )}
          {(account !== '' || me.account !== null) && (
            <Checkbox label="Include sub-accounts" {...form.getInputProps('below', { type: 'checkbox' })} />
          )}
          <TextInput label="Name" autoComplete="off" {...form.getInputProps('name')} />
          <SegmentedControl aria-label="Delivery" data={targets} {...form.getInputProps('target')} />
          {isMailOff && <Hint size="xs">Email is not set up on this installation.</Hint>}
          {target === 's3' ? (
            <StoreFields form={form} />
          ) : (
            <TagsInput
              label="Email addresses"
              description="Recipients get a link to the file. For an account, only its enabled users can be recipients."
              {...form.getInputProps('mail_to')}
            />
          )}
          <FormFailure failure={create.error} fields={FIELDS} />
          <FormActions label="Create export" cancelTo="/exports" isPending={create.isPending} />
        </Stack>
      </Card>
    </>
  );
}

function StoreFields({ form }: { form: ReturnType<typeof useForm<Values>> }) {
  const field = (name: keyof Values) => ({ spellCheck: false, autoComplete: 'off', ...form.getInputProps(name) });
  return (
    <>
      <TextInput
        label="Endpoint"
        placeholder="https://s3.eu-central-1.amazonaws.com"
        required
        {...field('s3_endpoint')}
      />
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <TextInput label="Region" placeholder="us-east-1" {...field('s3_region')} />
        <TextInput label="Bucket" required {...field('s3_bucket')} />
        <TextInput label="Prefix" {...field('s3_prefix')} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'end' }}>
        <TextInput label="Access key ID" required {...field('s3_access_key_id')} />
        <PasswordInput
          label="Secret access key"
          description="Stored encrypted, and not shown again."
          required
          {...field('s3_secret_access_key')}
          autoComplete="new-password"
        />
      </SimpleGrid>
    </>
  );
}

/** Only the members of the chosen content, dimensions and target, without empty ones. */
function toBody(values: Values): object {
  const other = values.target === 's3' ? 'mail_' : 's3_';
  const isByTag = values.kind === 'costs' && values.by.includes('tag');
  const kept = Object.entries(values).filter(
    ([name, value]) =>
      (typeof value === 'boolean' ? value : value.length > 0) &&
      !name.startsWith(other) &&
      (name !== 'by' || values.kind === 'costs') &&
      (name !== 'tag_name' || isByTag),
  );
  return Object.fromEntries(kept);
}

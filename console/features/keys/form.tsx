// The fields of a key, for creating and editing: the common ones first, further limits collapsed.

import { Collapse, Group, NativeSelect, NumberInput, SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { useEffect } from 'react';
import { optionsOf } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { AmountField } from '../../parts/amount-field.tsx';
import { FoundSelect, FoundTagsInput, TagsField } from '../../parts/fields.tsx';
import { foundHolders, foundModels } from '../../parts/found.ts';
import { MultiSelect, TagsInput } from '../../parts/later.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { TimeField } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { collapsedFields, isSandboxError, type KeyValues } from './values.ts';

const quotaPeriodLabels = { total: 'Never', day: 'Daily (UTC)', week: 'Weekly (Monday, UTC)', month: 'Monthly (UTC)' };

const expiryLabels = {
  never: 'Never',
  '12h': 'In 12 hours',
  '7d': 'In 7 days',
  '30d': 'In 30 days',
  '90d': 'In 90 days',
  '365d': 'In 1 year',
  at: 'Custom date',
};

type KeyForm = UseFormReturnType<KeyValues>;

const SERVICE = 'service';
/** A new key of the user. */
const OWN = 'own';

export const LISTED_MAX = 1_000;

/** `accountGroups` are the groups of the account of the key; empty until the account is chosen. */
export function KeyFields({ form, accountGroups }: { form: KeyForm; accountGroups: readonly string[] }) {
  const hasMore = collapsedFields.some((name) => form.values[name].toString() !== '');
  const [isOpen, more] = useDisclosure(hasMore);
  const hasCollapsedFault = collapsedFields.some((name) => form.errors[name] !== undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: opens collapsed fields that have faults
  useEffect(() => {
    if (hasCollapsedFault) more.open();
  }, [hasCollapsedFault]);
  return (
    <Stack>
      <TextInput
        label="Name"
        description="Optional. For example “production” or “nightly batch”."
        data-autofocus
        {...form.getInputProps('name')}
      />
      <PersonField form={form} />
      <QuotaFields form={form} />
      <ExpiryFields form={form} />
      <ModelsField form={form} accountGroups={accountGroups} />
      <Group>
        <ActionButton
          label={isOpen ? 'Show fewer limits' : 'Show more limits'}
          variant="subtle"
          size="compact-sm"
          px={0}
          onClick={more.toggle}
          aria-expanded={isOpen}
          icon="sliders"
        />
      </Group>
      <Collapse expanded={isOpen} keepMounted={false}>
        <CollapsedFields form={form} accountGroups={accountGroups} />
      </Collapse>
    </Stack>
  );
}

/** Members have keys of their own only. */
function PersonField({ form }: { form: KeyForm }) {
  const me = useMe();
  const { account } = form.values;
  const isEnabled = me.role !== 'member' && (me.account !== null || account !== '');
  if (!isEnabled) return null;
  const isOwnByDefault = me.kind === 'person' && me.account !== null;
  const value = form.values.person || (isOwnByDefault ? OWN : SERVICE);
  return (
    <FoundSelect
      label="Belongs to"
      description="A user, whose budget applies, or the account. A service key keeps working when users leave."
      first={[...(isOwnByDefault ? [{ value: OWN, label: 'You' }] : []), { value: SERVICE, label: 'Service key' }]}
      found={foundHolders(account || (me.account?.id ?? ''))}
      allowDeselect={false}
      value={value}
      onChange={(id) => form.setFieldValue('person', id === OWN ? '' : (id ?? ''))}
      error={form.errors['person']}
    />
  );
}

function QuotaFields({ form }: { form: KeyForm }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} style={{ alignItems: 'end' }}>
      <AmountField
        label="Quota (USD)"
        description="Maximum spend. Leave empty to limit spend by the balance only."
        placeholder="No limit"
        {...form.getInputProps('quota')}
      />
      <NativeSelect
        label="Resets"
        data={optionsOf(quotaPeriodLabels)}
        disabled={form.values.quota.trim() === ''}
        {...form.getInputProps('quota_period')}
      />
    </SimpleGrid>
  );
}

function ExpiryFields({ form }: { form: KeyForm }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} style={{ alignItems: 'end' }}>
      <NativeSelect
        label="Expires"
        data={optionsOf(expiryLabels)}
        {...form.getInputProps('expires')}
        {...(form.values.expires !== 'at' && { error: form.errors['expires_at'] })}
      />
      {form.values.expires === 'at' && (
        <TimeField label="Expiration date" required {...form.getInputProps('expires_at')} />
      )}
    </SimpleGrid>
  );
}

function ModelsField({ form, accountGroups }: { form: KeyForm; accountGroups: readonly string[] }) {
  const hidesGroups = useMe().hidden.includes('group');
  const groups = form.values.groups.length > 0 ? form.values.groups : accountGroups;
  return (
    <FoundTagsInput
      label="Model access"
      description="Model names, or patterns with * as a wildcard. Leave empty to allow all models of its groups."
      placeholder={form.values.models.length === 0 ? '*' : ''}
      found={foundModels(hidesGroups ? null : groups)}
      isDuplicate={(name, chosen) => chosen.includes(name)}
      {...form.getInputProps('models')}
    />
  );
}

/**
 * The first names of models that these groups offer, of all visible models for null, or if groups are hidden; of those that one of the
 * patterns matches.
 */
export function useModelNames(groups: readonly string[] | null, patterns: readonly string[] | null = null): string[] {
  const hidesGroups = useMe().hidden.includes('group');
  const isOfAll = hidesGroups || groups === null;
  const query = { limit: LISTED_MAX, ...(!isOfAll && { groups: groups.join() }), patterns: patterns?.join() };
  const models = useGet('/models', { query, isEnabled: isOfAll || groups.length > 0 });
  return (models.data?.data ?? [])
    .filter((model) => hidesGroups || model.groups.length > 0)
    .map(({ name }) => name)
    .toSorted((one, other) => Number(isSandboxError(one)) - Number(isSandboxError(other)));
}

function CollapsedFields({ form, accountGroups }: { form: KeyForm; accountGroups: readonly string[] }) {
  const limits = ['rpm', 'input_tpm', 'output_tpm', 'concurrency'] as const;
  const labels = {
    rpm: 'Requests per minute (RPM)',
    input_tpm: 'Input tokens per minute',
    output_tpm: 'Output tokens per minute',
    concurrency: 'Concurrent requests',
  };
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {limits.map((name) => (
          <NumberInput
            key={name}
            label={labels[name]}
            placeholder="No limit"
            min={1}
            allowDecimal={false}
            allowNegative={false}
            thousandSeparator=","
            hideControls
            {...form.getInputProps(name)}
          />
        ))}
      </SimpleGrid>
      {!useMe().hidden.includes('group') && (
        <MultiSelect
          label="Groups"
          description="The first group that offers a model sets its price. Leave empty to use all groups of the account."
          data={[...new Set([...accountGroups, ...form.values.groups])]}
          {...form.getInputProps('groups')}
        />
      )}
      <TagsInput
        label="Allowed origins"
        description="Exact origins, for example https://app.example.com. Leave empty to allow any origin."
        {...form.getInputProps('origins')}
      />
      <TagsInput
        label="Allowed IPs"
        description="Addresses or CIDR ranges, for example 203.0.113.0/24. Leave empty to allow any address."
        {...form.getInputProps('addresses')}
      />
      {useMe().role !== 'member' && <TagsField {...form.getInputProps('tags')} />}
    </Stack>
  );
}

/** The groups of the user's account or of a chosen account; null while loading. */
export function useGroupsOf(account: string): readonly string[] | null {
  const me = useMe();
  const isOwn = me.account !== null && (account === '' || account === me.account.id);
  const { data } = useGet('/accounts/{id}', { id: account, isEnabled: !isOwn && account !== '' });
  if (isOwn) return me.account?.groups ?? null;
  return data?.id === account ? data.groups : null;
}

// The fields of a key, for making one and for changing one: the simple ones first, further limits folded away.

import {
  Button,
  Collapse,
  Group,
  MultiSelect,
  NativeSelect,
  NumberInput,
  SimpleGrid,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { useEffect } from 'react';
import type { AccountShape, GroupShape, ModelShape, PageShape } from '../../../src/admin-api/shapes.ts';
import { fitsPattern, foldedFields, type KeyValues } from '../../key-terms.ts';
import { useMe } from '../../me.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';

export type KeyForm = UseFormReturnType<KeyValues>;

const LISTED_MAX = 1_000;
const { fields } = words.keys;

/** `accountGroups`: of the key's account; empty while it is not chosen. */
export function KeyFields({ form, accountGroups }: { form: KeyForm; accountGroups: readonly string[] }) {
  const hasMore = foldedFields.some((name) => form.values[name].toString() !== '');
  const [isOpen, more] = useDisclosure(hasMore);
  const isFaultFolded = foldedFields.some((name) => form.errors[name] !== undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a fault that nobody can see could not be mended
  useEffect(() => {
    if (isFaultFolded) more.open();
  }, [isFaultFolded]);
  return (
    <Stack>
      <TextInput label={fields.name} description={fields.nameHint} data-autofocus {...form.getInputProps('name')} />
      <QuotaFields form={form} />
      <ExpiryFields form={form} />
      <ModelsField form={form} accountGroups={accountGroups} />
      <Group>
        <Button
          variant="subtle"
          size="compact-sm"
          px={0}
          onClick={more.toggle}
          aria-expanded={isOpen}
          leftSection={<Icon name="sliders" sizePx={16} />}
        >
          {isOpen ? words.keys.less : words.keys.more}
        </Button>
      </Group>
      <Collapse expanded={isOpen} keepMounted={false}>
        <FoldedFields form={form} accountGroups={accountGroups} />
      </Collapse>
    </Stack>
  );
}

function QuotaFields({ form }: { form: KeyForm }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} style={{ alignItems: 'end' }}>
      <TextInput
        label={fields.quota}
        description={fields.quotaHint}
        inputMode="decimal"
        placeholder={words.keys.unlimited}
        {...form.getInputProps('quota')}
      />
      <NativeSelect
        label={fields.quotaPeriod}
        data={Object.entries(words.keys.periods).map(([value, label]) => ({ value, label }))}
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
        label={fields.expires}
        data={Object.entries(words.keys.expiries).map(([value, label]) => ({ value, label }))}
        {...form.getInputProps('expires')}
        {...(form.values.expires !== 'at' && { error: form.errors['expires_at'] })}
      />
      {form.values.expires === 'at' && (
        <TextInput type="datetime-local" label={fields.expiresAt} required {...form.getInputProps('expires_at')} />
      )}
    </SimpleGrid>
  );
}

function ModelsField({ form, accountGroups }: { form: KeyForm; accountGroups: readonly string[] }) {
  const names = useModelNames(form.values.groups.length > 0 ? form.values.groups : accountGroups);
  return (
    <TagsInput
      label={fields.models}
      description={fields.modelsHint}
      placeholder={form.values.models.length === 0 ? '*' : ''}
      data={names}
      isDuplicate={(name, chosen) => chosen.includes(name)}
      {...form.getInputProps('models')}
    />
  );
}

/** Names of the models that these groups sell; null: of all that can be seen. */
export function useModelNames(groupNames: readonly string[] | null): string[] {
  const models = useAsk<PageShape<ModelShape>>('/models', { limit: LISTED_MAX });
  const groups = useAsk<PageShape<GroupShape>>('/groups', { limit: LISTED_MAX });
  const patterns = (groups.data?.data ?? [])
    .filter(({ name }) => groupNames === null || groupNames.includes(name))
    .flatMap((group) => group.models);
  return (models.data?.data ?? [])
    .map(({ name }) => name)
    .filter((name) => patterns.some((pattern) => fitsPattern(name, pattern)));
}

function FoldedFields({ form, accountGroups }: { form: KeyForm; accountGroups: readonly string[] }) {
  const limits = ['rpm', 'input_tpm', 'output_tpm', 'concurrency'] as const;
  const labels = {
    rpm: fields.rpm,
    input_tpm: fields.inputTpm,
    output_tpm: fields.outputTpm,
    concurrency: fields.concurrency,
  };
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {limits.map((name) => (
          <NumberInput
            key={name}
            label={labels[name]}
            placeholder={words.keys.unlimited}
            min={1}
            allowDecimal={false}
            allowNegative={false}
            thousandSeparator=","
            hideControls
            {...form.getInputProps(name)}
          />
        ))}
      </SimpleGrid>
      <MultiSelect
        label={fields.groups}
        description={fields.groupsHint}
        data={[...new Set([...accountGroups, ...form.values.groups])]}
        {...form.getInputProps('groups')}
      />
      <TagsInput label={fields.origins} description={fields.originsHint} {...form.getInputProps('origins')} />
      <TagsInput label={fields.addresses} description={fields.addressesHint} {...form.getInputProps('addresses')} />
    </Stack>
  );
}

/** The groups of one's own account, or of one that the installation's people look at; null while they are not known. */
export function useGroupsOf(account: string): readonly string[] | null {
  const me = useMe();
  const isWanted = me.account === null && account !== '';
  const { data } = useAsk<AccountShape>(`/accounts/${account}`, {}, { isWanted });
  if (me.account !== null) return me.account.groups;
  return data?.id === account ? data.groups : null;
}

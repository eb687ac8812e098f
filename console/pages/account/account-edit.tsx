// Changes an account's name, groups, allowance and credit line.

import { Button, Group, Modal, MultiSelect, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import type { AccountShape, GroupShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useChange, usePages } from '../../queries.ts';
import { words } from '../../words.ts';

export function AccountEditButton({ account }: { account: AccountShape }) {
  const [isOpen, dialogue] = useDisclosure(false);
  return (
    <>
      <Button size="xs" variant="default" leftSection={<Icon name="pencil" sizePx={16} />} onClick={dialogue.open}>
        {words.accounts.edit}
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        size="lg"
        title={words.accounts.editTitle(account.name)}
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <AccountEditForm account={account} onDone={dialogue.close} />
      </Modal>
    </>
  );
}

function AccountEditForm({ account, onDone }: { account: AccountShape; onDone: () => void }) {
  const initialValues = fieldsOf(account);
  const form = useForm({ initialValues });
  const fields = Object.keys(initialValues);
  const groups = usePages<GroupShape>('/groups', { limit: 1000 }).rows.map(({ name }) => name);
  const change = useChange((body: object) => ask<AccountShape>(`/accounts/${account.id}`, { method: 'PATCH', body }), {
    done: words.accounts.saved,
    onDone,
  });
  const submit = form.onSubmit((values) =>
    change.mutate(changesOf(initialValues, values), {
      onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}),
    }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput label={words.accountForm.name} required data-autofocus {...form.getInputProps('name')} />
        <MultiSelect
          label={words.accountForm.groups}
          description={words.accountForm.groupsHint}
          data={[...new Set([...groups, ...account.groups])]}
          searchable
          {...form.getInputProps('groups')}
        />
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <TextInput
            label={words.accountForm.allowance}
            description={words.accountForm.allowanceHint}
            inputMode="decimal"
            {...form.getInputProps('allowance')}
          />
          <NativeSelect
            label={words.accountForm.period}
            data={Object.entries(words.accounts.periods).map(([value, label]) => ({ value, label }))}
            {...form.getInputProps('allowance_period')}
          />
        </SimpleGrid>
        <TextInput
          label={words.accountForm.creditLine}
          description={words.accountForm.creditLineHint}
          inputMode="decimal"
          {...form.getInputProps('credit_line')}
        />
        {change.error !== null && fieldFaults(change.error, fields) === null && (
          <FailureNotice failure={change.error} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={change.isPending} disabled={!form.isDirty()}>
            {words.accountForm.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type Fields = ReturnType<typeof fieldsOf>;

function fieldsOf(account: AccountShape) {
  return {
    name: account.name,
    groups: account.groups,
    allowance: account.allowance ?? '',
    allowance_period: account.allowance_period as string,
    credit_line: account.credit_line,
  };
}

/** Only what is different: what others change meanwhile stays. */
function changesOf(before: Fields, after: Fields): object {
  return {
    ...(after.name !== before.name && { name: after.name.trim() }),
    ...(after.groups.join() !== before.groups.join() && { groups: after.groups }),
    ...(after.allowance !== before.allowance && {
      allowance: after.allowance.trim() === '' ? null : after.allowance.trim(),
    }),
    ...(after.allowance_period !== before.allowance_period && { allowance_period: after.allowance_period }),
    ...(after.credit_line !== before.credit_line && {
      credit_line: after.credit_line.trim() === '' ? '0' : after.credit_line.trim(),
    }),
  };
}

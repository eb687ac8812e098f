// A credit by hand: the button and its dialogue, which says what the balance will be. For operators.

import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import type { AccountShape, CreditShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { fieldFaults } from '../form-faults.ts';
import { useOnce } from '../once.ts';
import { useChange } from '../queries.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';
import { Icon } from './icon.tsx';
import { formatMoney, Money, nanoOf, usdOf } from './money.tsx';

type CreditedAccount = Pick<AccountShape, 'id' | 'name' | 'balance'>;

export function CreditButton({ account }: { account: CreditedAccount }) {
  const [isOpen, dialogue] = useDisclosure(false);
  return (
    <>
      <Button leftSection={<Icon name="plus" />} onClick={dialogue.open}>
        {words.credit.add}
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        title={words.credit.title(account.name)}
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <CreditForm account={account} onDone={dialogue.close} />
      </Modal>
    </>
  );
}

const AMOUNT = /^-?\d+(?:\.\d{1,9})?$/;
const fields = ['amount', 'kind', 'reference', 'note'] as const;
const blank = { amount: '', kind: 'payment', reference: '', note: '' };

function CreditForm({ account, onDone }: { account: CreditedAccount; onDone: () => void }) {
  const requestOf = useOnce();
  const form = useForm({ initialValues: blank });
  const give = useChange(
    (body: object) =>
      ask<CreditShape>(
        `/accounts/${account.id}/credits`,
        requestOf(body, () => body),
      ),
    {
      onDone: ({ repeated }) => {
        notifications.show({
          message: repeated ? words.credit.repeated : words.credit.done,
          color: repeated ? 'yellow' : 'road',
        });
        onDone();
      },
    },
  );
  const submit = form.onSubmit((values) => {
    const body = Object.fromEntries(
      Object.entries(values)
        .map(([name, value]) => [name, value.trim()])
        .filter(([, value]) => value !== ''),
    );
    give.mutate(body, { onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}) });
  });
  // What is taken away is no payment, unless somebody says so.
  const setAmount = (text: string) => {
    const isUsual = ['payment', 'adjustment'].includes(form.values.kind) && !form.isTouched('kind');
    form.setValues({ amount: text, ...(isUsual && { kind: text.trim().startsWith('-') ? 'adjustment' : 'payment' }) });
    form.clearFieldError('amount');
  };
  const amount = AMOUNT.test(form.values.amount.trim()) ? form.values.amount.trim() : null;
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={words.credit.amount}
          description={words.credit.amountHint}
          inputMode="decimal"
          placeholder="100.00"
          required
          data-autofocus
          {...form.getInputProps('amount')}
          onChange={({ currentTarget }) => setAmount(currentTarget.value)}
        />
        <FurtherFields form={form} />
        <Afterwards balance={account.balance} amount={amount} />
        {give.error !== null && fieldFaults(give.error, fields) === null && <FailureNotice failure={give.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={give.isPending} disabled={amount === null} {...sayingOf(amount).look}>
            {sayingOf(amount).label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function FurtherFields({ form }: { form: UseFormReturnType<typeof blank> }) {
  return (
    <>
      <NativeSelect
        label={words.credit.kind}
        data={Object.entries(words.credit.kinds).map(([value, label]) => ({ value, label }))}
        {...form.getInputProps('kind')}
      />
      <TextInput
        label={words.credit.reference}
        description={words.credit.referenceHint}
        {...form.getInputProps('reference')}
      />
      <TextInput label={words.credit.note} description={words.credit.noteHint} {...form.getInputProps('note')} />
    </>
  );
}

/** What the button says: money that is taken away is told by more than its sign. */
function sayingOf(amount: string | null): { label: string; look: { color?: string } } {
  if (amount === null) return { label: words.credit.add, look: {} };
  const shown = formatMoney(amount.replace('-', ''));
  return amount.startsWith('-')
    ? { label: words.credit.take(shown), look: { color: 'red' } }
    : { label: words.credit.give(shown), look: {} };
}

function Afterwards({ balance, amount }: { balance: string; amount: string | null }) {
  const after = amount === null ? null : usdOf(nanoOf(balance) + nanoOf(amount));
  return (
    <Alert color={amount?.startsWith('-') ? 'orange' : 'gray'} variant="light" p="sm">
      <Group justify="space-between">
        <Text size="sm">{words.credit.before}</Text>
        <Money usd={balance} size="sm" />
      </Group>
      <Group justify="space-between" fw={600} aria-live="polite">
        <Text size="sm" fw={600}>
          {words.credit.after}
        </Text>
        <Money usd={after} size="sm" fw={600} />
      </Group>
    </Alert>
  );
}

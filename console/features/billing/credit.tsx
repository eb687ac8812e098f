// Adds credit to an account, or deducts it, and previews the new balance. For operators.

import { Alert, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { optionsOf } from '../../labels.ts';
import { formatExactMoney, nanoOf, sumOf } from '../../money.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { Icon } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { useCreate } from '../../queries.ts';

const creditKindLabels = {
  payment: 'Payment',
  promotion: 'Promotion: free credit',
  adjustment: 'Adjustment: correction',
  write_off: 'Debt write-off: at most the debt',
};

type CreditedAccount = Pick<AccountShape, 'id' | 'name' | 'balance'>;

export function CreditButton({ account }: { account: CreditedAccount }) {
  return (
    <DialogButton
      variant="filled"
      leftSection={<Icon name="plus" />}
      label="Add credit"
      title={`Add credit to ${account.name}`}
    >
      {(close) => <CreditForm account={account} onDone={close} />}
    </DialogButton>
  );
}

export function creditLineNote({ credit_line: line }: AccountShape): string {
  return nanoOf(line) > 0n ? 'The balance can go this far below zero' : 'The balance cannot go below zero';
}

const AMOUNT = /^-?\d+(?:\.\d{1,9})?$/;
const fields = ['amount', 'kind', 'reference', 'note'] as const;
const blank = { amount: '', kind: 'payment', reference: '', note: '' };

function CreditForm({ account, onDone }: { account: CreditedAccount; onDone: () => void }) {
  const form = useForm({ initialValues: blank });
  const addCredit = useCreate('POST /accounts/{id}/credits', {
    id: account.id,
    onDone: ({ repeated }) => {
      notifications.show({
        message: repeated
          ? 'Credit with this reference was already added. The balance did not change.'
          : 'Balance updated.',
        color: repeated ? 'yellow' : 'road',
      });
      onDone();
    },
  });
  const submit = form.onSubmit((values) => {
    const body = Object.fromEntries(
      Object.entries(values)
        .map(([name, value]) => [name, value.trim()])
        .filter(([, value]) => value !== ''),
    );
    addCredit.mutate(body, { onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}) });
  });
  // A negative amount defaults to an adjustment.
  const setAmount = (text: string) => {
    const isUsual = ['payment', 'adjustment'].includes(form.values.kind) && !form.isTouched('kind');
    form.setValues({ amount: text, ...(isUsual && { kind: text.trim().startsWith('-') ? 'adjustment' : 'payment' }) });
    form.clearFieldError('amount');
  };
  const amount = AMOUNT.test(form.values.amount.trim()) ? form.values.amount.trim() : null;
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <AmountField
          label="Amount (USD)"
          description="Enter a negative amount to deduct. You can deduct at most the available balance."
          placeholder="100.00"
          required
          data-autofocus
          {...form.getInputProps('amount')}
          onChange={setAmount}
        />
        <MoreFields form={form} />
        <NewBalance balance={account.balance} amount={amount} />
        <FormFailure failure={addCredit.error} fields={fields} />
        <FormActions
          {...buttonOf(amount)}
          onCancel={onDone}
          isPending={addCredit.isPending}
          isDisabled={form.values.amount === ''}
        />
      </Stack>
    </form>
  );
}

function MoreFields({ form }: { form: UseFormReturnType<typeof blank> }) {
  return (
    <>
      <NativeSelect label="Type" data={optionsOf(creditKindLabels)} {...form.getInputProps('kind')} />
      <TextInput
        label="Reference"
        description="Invoice or transfer number. Each reference can be credited only once per account."
        {...form.getInputProps('reference')}
      />
      <TextInput
        label="Note"
        description="Visible to the account in its transactions."
        {...form.getInputProps('note')}
      />
    </>
  );
}

/** The label and color of the button, which distinguish a deduction by more than its sign. */
function buttonOf(amount: string | null): { label: string; color?: string } {
  if (amount === null) return { label: 'Add credit' };
  const shown = formatExactMoney(amount.replace('-', ''));
  return amount.startsWith('-') ? { label: `Deduct ${shown}`, color: 'red' } : { label: `Add ${shown}` };
}

function NewBalance({ balance, amount }: { balance: string; amount: string | null }) {
  const after = amount === null ? null : sumOf([balance, amount]);
  return (
    <Alert color={amount?.startsWith('-') ? 'orange' : 'gray'}>
      <Group justify="space-between">
        <Text size="sm">Current balance</Text>
        <Money usd={balance} size="sm" />
      </Group>
      <Group justify="space-between" fw={600} aria-live="polite">
        <Text size="sm" fw={600}>
          New balance
        </Text>
        <Money usd={after} size="sm" fw={600} />
      </Group>
    </Alert>
  );
}

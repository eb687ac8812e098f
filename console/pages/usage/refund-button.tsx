// Gives back what a request cost, or a part of it. A click that comes twice gives it once.

import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import type { ReceiptShape, RefundShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useOnce } from '../../once.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { formatMoney, nanoOf, usdOf } from '../../parts/money.tsx';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';

const { request: its } = words;
const FIELDS = ['amount', 'note'];

export function RefundButton({ receipt }: { receipt: ReceiptShape }) {
  const [isOpen, dialogue] = useDisclosure(false);
  const left = nanoOf(receipt.cost) - nanoOf(receipt.written_off);
  if (left <= 0n) return null;
  return (
    <>
      <Button variant="default" onClick={dialogue.open}>
        {its.refund}
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        title={its.refundTitle}
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <RefundForm requestId={receipt.request_id} most={usdOf(left)} onDone={dialogue.close} />
      </Modal>
    </>
  );
}

interface RefundValues {
  amount: string;
  note: string;
}

interface RefundFormProps {
  requestId: string;
  most: string;
  onDone: () => void;
}

function RefundForm({ requestId, most, onDone }: RefundFormProps) {
  const form = useForm({ initialValues: { amount: '', note: '' } });
  const once = useOnce();
  const refund = useChange(
    (values: RefundValues) =>
      ask<RefundShape>(
        `/usage/${requestId}/refunds`,
        once(values, () => refundBody(values)),
      ),
    { done: its.refunded, onDone },
  );
  const faults = fieldFaults(refund.error, FIELDS);
  const change = (field: keyof RefundValues, value: string) => {
    form.setFieldValue(field, value);
    refund.reset();
  };
  return (
    <form onSubmit={form.onSubmit((values) => refund.mutate(values))}>
      <Stack>
        <Text size="sm">{its.refundText(formatMoney(most))}</Text>
        <TextInput
          label={its.refundAmount}
          description={its.refundAll}
          placeholder={most}
          inputMode="decimal"
          value={form.values.amount}
          onChange={(event) => change('amount', event.currentTarget.value)}
          error={faults?.['amount']}
          data-autofocus
        />
        <TextInput
          label={its.refundNote}
          description={its.refundNoteText}
          value={form.values.note}
          onChange={(event) => change('note', event.currentTarget.value)}
          error={faults?.['note']}
        />
        {faults === null && <FailureNotice failure={refund.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={refund.isPending}>
            {its.refundConfirm}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Without an amount all that is left is given back: how much that is then, the service knows. */
function refundBody({ amount, note }: RefundValues): object {
  return { ...(amount.trim() !== '' && { amount: amount.trim() }), ...(note.trim() !== '' && { note: note.trim() }) };
}

// Creates a batch of redemption codes, and shows its codes this once.

import { Alert, Group, NativeSelect, SimpleGrid, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import type { CreatedCodeBatchShape } from '../../../src/admin-api/shapes.ts';
import { countOf, formatCount } from '../../figures.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { optionsOf } from '../../labels.ts';
import { nanoOf, usdOf } from '../../money.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { CopyButton } from '../../parts/code-block.tsx';
import { csvLine, saveFile } from '../../parts/csv-button.tsx';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { DayField, useZone } from '../../parts/times.tsx';
import { useCreate } from '../../queries.ts';
import { startOfDay } from '../../times.ts';
import { markSecretSaved, useShownSecret } from '../../unsaved.ts';
import { countOrNull } from '../models/form-values.ts';

const kindLabels = { promotion: 'Promotion: free credit', payment: 'Payment: codes that you sell' };
const blank = { name: '', amount: '', count: '', kind: 'promotion', expires_at: '', once_per_account: false, note: '' };
const FIELDS = Object.keys(blank);

type Fields = typeof blank;

interface CodeBatchCreateProps {
  onCreated: (batch: CreatedCodeBatchShape) => void;
  onCancel: () => void;
}

export function CodeBatchForm({ onCreated, onCancel }: CodeBatchCreateProps) {
  const form = useForm({ initialValues: blank });
  const zone = useZone();
  const toBody = (values: Fields) => bodyOf(values, zone);
  const create = useCreate('POST /code-batches', { toBody, onDone: onCreated });
  const submit = form.onSubmit((values) =>
    create.mutate(values, { onError: (failure) => form.setErrors(fieldFaults(failure, FIELDS) ?? {}) }),
  );
  const { name, amount, count } = form.values;
  const total = nanoOf(amount.trim()) * BigInt(countOrNull(count) ?? 0);
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Name"
          description="Visible to operators only."
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps('name')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <AmountField
            label="Amount of each code (USD)"
            placeholder="5.00"
            required
            {...form.getInputProps('amount')}
          />
          <TextInput
            label="Number of codes"
            inputMode="numeric"
            placeholder="100"
            required
            {...form.getInputProps('count')}
          />
          <NativeSelect label="Credit type" data={optionsOf(kindLabels)} {...form.getInputProps('kind')} />
          <DayField label="Expiration date" note="00:00" {...form.getInputProps('expires_at')} />
        </SimpleGrid>
        <TextInput
          label="Note"
          description="Visible to the account in its transactions."
          {...form.getInputProps('note')}
        />
        <Switch
          label="One per account"
          description="Each account can redeem only one code of this batch."
          {...form.getInputProps('once_per_account', { type: 'checkbox' })}
        />
        {total > 0n && (
          <Text size="sm">
            {'Total value: '}
            <Money usd={usdOf(total)} precision="exact" />.
          </Text>
        )}
        <FormFailure failure={create.error} fields={FIELDS} />
        <FormActions
          label="Create codes"
          onCancel={onCancel}
          isPending={create.isPending}
          isDisabled={[name, amount, count].some((text) => text.trim() === '')}
        />
      </Stack>
    </form>
  );
}

function bodyOf(fields: Fields, zone: string): object {
  const { name, amount, count, kind, expires_at: day, once_per_account, note } = fields;
  const endsMs = startOfDay(day, zone);
  return {
    name: name.trim(),
    amount: amount.trim(),
    count: countOrNull(count) ?? count,
    kind,
    once_per_account,
    ...(endsMs !== null && { expires_at: new Date(endsMs).toISOString() }),
    ...(note.trim() !== '' && { note: note.trim() }),
  };
}

const CODES_SHOWN_MAX = 1_000;

export function CreatedCodes({ batch, onDone }: { batch: CreatedCodeBatchShape; onDone: () => void }) {
  const { id, codes, amount } = batch;
  useShownSecret();
  const text = codes.slice(0, CODES_SHOWN_MAX).join('\n');
  const save = () => {
    saveFile(`codes-${id}.csv`, [
      csvLine(['id', 'code', 'amount']),
      ...codes.map((code, at) => csvLine([`${id}:${at + 1}`, code, amount])),
    ]);
    markSecretSaved();
  };
  return (
    <Stack>
      <Alert color="yellow" icon={<Icon name="warning" />}>
        The codes are shown only once. Download them before you close this dialog.
      </Alert>
      <Textarea
        label={countOf(codes.length, 'code')}
        {...(codes.length > CODES_SHOWN_MAX && {
          description: `The first ${formatCount(CODES_SHOWN_MAX)}. The CSV file contains all codes.`,
        })}
        readOnly
        rows={Math.min(10, codes.length)}
        value={text}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        data-testid="codes"
      />
      <Group justify="flex-end">
        {codes.length <= CODES_SHOWN_MAX && <CopyButton text={text} onCopied={markSecretSaved} />}
        <ActionButton label="Download CSV" icon="download" isPrimary onClick={save} data-autofocus />
        <ActionButton label="Done" onClick={onDone} />
      </Group>
    </Stack>
  );
}

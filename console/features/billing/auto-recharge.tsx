// The automatic recharge of an account: threshold, amount, limit per day, the saved method and the last failure.

import { Alert, Button, Group, SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { AutoRechargeShape, PaymentOptionsShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { formatExactMoney } from '../../money.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { StatusBadge } from '../../parts/badges.tsx';
import { FormFailure } from '../../parts/dialog-button.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Facts, FailureNotice, Hint, Loading, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet } from '../../queries.ts';
import { countOrNull } from '../models/form-values.ts';

const FIELDS = ['threshold', 'amount', 'per_day_max', 'enabled'];

interface AutoRechargeProps {
  accountId: string;
  options: PaymentOptionsShape;
}

export function AutoRecharge({ accountId, options }: AutoRechargeProps) {
  const { role } = useMe();
  const { data, error, refetch } = useGet('/accounts/{id}/auto-recharge', { id: accountId });
  return (
    <Section
      title="Automatic recharge"
      text="Charges the saved payment method when available funds fall below the threshold. Running requests wait for the payment."
      aside={data !== undefined && <StateBadge recharge={data} />}
    >
      {data === undefined &&
        (error === null ? <Loading /> : <FailureNotice failure={error} onRetry={() => void refetch()} />)}
      {data !== undefined && (
        <>
          <Problems recharge={data} />
          {role === 'viewer' ? (
            <RechargeFacts recharge={data} />
          ) : (
            <AutoRechargeForm key={termsOf(data)} recharge={data} options={options} />
          )}
        </>
      )}
    </Section>
  );
}

/** Changes of others replace the form. */
function termsOf({ enabled, threshold, amount, per_day_max }: AutoRechargeShape): string {
  return [enabled, threshold, amount, per_day_max].join();
}

function StateBadge({ recharge: { enabled, is_suspended: isSuspended } }: { recharge: AutoRechargeShape }) {
  if (isSuspended) return <StatusBadge status="failed" label="Suspended" />;
  return <StatusBadge status={enabled ? 'enabled' : 'disabled'} label={enabled ? 'On' : 'Off'} />;
}

function Problems({ recharge: { is_suspended: isSuspended, last_failure: failure } }: { recharge: AutoRechargeShape }) {
  if (failure === null) return null;
  return (
    <Alert color={isSuspended ? 'red' : 'orange'} icon={<Icon name="warning" />}>
      {isSuspended
        ? 'Suspended after several failures. Check the payment method, then turn on automatic recharge again. Last failure: '
        : 'The last automatic recharge failed: '}
      {failure.message} <When at={failure.at} isRelative />
    </Alert>
  );
}

function methodText({ payment_method: method }: AutoRechargeShape): string | null {
  if (method === null) return null;
  const { kind, brand, last4, expires_month: month, expires_year: year } = method;
  const name = (brand ?? kind).replaceAll('_', ' ');
  return [
    `${name.slice(0, 1).toUpperCase()}${name.slice(1)}${last4 === null ? '' : ` ending in ${last4}`}`,
    ...(month === null || year === null ? [] : [`expires ${String(month).padStart(2, '0')}/${year}`]),
  ].join(', ');
}

function RechargeFacts({ recharge }: { recharge: AutoRechargeShape }) {
  return (
    <Facts
      facts={[
        { name: 'Payment method', value: methodText(recharge) ?? 'None saved' },
        { name: 'Threshold', value: <Money usd={recharge.threshold} precision="exact" /> },
        { name: 'Amount', value: <Money usd={recharge.amount} precision="exact" /> },
        { name: 'Maximum per day', value: recharge.per_day_max ?? 'No own limit' },
      ]}
    />
  );
}

interface AutoRechargeFormProps {
  recharge: AutoRechargeShape;
  options: PaymentOptionsShape;
}

function AutoRechargeForm({ recharge, options }: AutoRechargeFormProps) {
  const { account, enabled, is_suspended: isSuspended } = recharge;
  const most = options.auto_recharges_per_day_max;
  const form = useForm({ initialValues: fieldsOf(recharge, most) });
  const change = useChange((body: object) => call('PATCH /accounts/{id}/auto-recharge', { id: account, body }), {
    done: 'Automatic recharge saved.',
  });
  const method = methodText(recharge);
  const submit = form.onSubmit(({ threshold, amount, per_day_max: perDay }) =>
    change.mutate(
      {
        enabled: true,
        threshold: threshold.trim(),
        amount: amount.trim(),
        per_day_max: countOrNull(perDay) ?? perDay,
      },
      { onError: (failure) => form.setErrors(fieldFaults(failure, FIELDS) ?? {}) },
    ),
  );
  if (most === 0 && !enabled) return <Hint>Automatic recharge is not available on this installation.</Hint>;
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <Hint>
          {method === null
            ? 'No saved payment method. Recharge once, or add a method under Payment methods.'
            : `Payment method: ${method}`}
        </Hint>
        <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
          <AmountField label="Threshold (USD)" {...form.getInputProps('threshold')} />
          <AmountField label="Amount (USD)" {...form.getInputProps('amount')} />
          <TextInput label="Maximum per day" inputMode="numeric" {...form.getInputProps('per_day_max')} />
        </SimpleGrid>
        <Hint size="xs">
          {`The amount is ${formatExactMoney(options.minimum)} to ${formatExactMoney(options.maximum)}, at most ${most} times per day (UTC).`}
        </Hint>
        {form.errors['enabled'] !== undefined && <FailureNotice failure={new Error(String(form.errors['enabled']))} />}
        <FormFailure failure={change.error} fields={FIELDS} />
        <Group justify="flex-end">
          {(enabled || isSuspended) && (
            <ActionButton
              label="Turn off"
              onClick={() => change.mutate({ enabled: false })}
              disabled={change.isPending}
            />
          )}
          <Button type="submit" loading={change.isPending} disabled={method === null || (enabled && !form.isDirty())}>
            {enabled ? 'Save' : 'Turn on'}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const PER_DAY_DEFAULT = 3;

function fieldsOf({ threshold, amount, per_day_max: perDay }: AutoRechargeShape, most: number) {
  return {
    threshold: threshold ?? '5.00',
    amount: amount ?? '25.00',
    per_day_max: String(perDay ?? Math.min(PER_DAY_DEFAULT, most)),
  };
}

// One payment: amounts, times, why it failed, and where it is paid or its receipt is.

import { Alert, Anchor, Group, Stack, Text } from '@mantine/core';
import type { PaymentShape } from '../../../src/admin-api/shapes.ts';
import { paymentKindLabels } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { nanoOf } from '../../money.ts';
import { useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { CopyButton } from '../../parts/code-block.tsx';
import { Drawer } from '../../parts/later.tsx';
import { ExternalLink, Icon, pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { type Fact, Facts, FailureNotice, Loading } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';

interface PaymentDrawerProps {
  /** Null: closed. */
  id: string | null;
  onClose: () => void;
}

export function PaymentDrawer({ id, onClose }: PaymentDrawerProps) {
  return (
    <Drawer opened={id !== null} onClose={onClose} position="right" size="md" title="Payment">
      {id !== null && <Payment id={id} />}
    </Drawer>
  );
}

function Payment({ id }: { id: string }) {
  const { data, error, refetch } = useGet('/payments/{id}', { id });
  if (data === undefined || data.id !== id)
    return error === null ? <Loading /> : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  return (
    <Stack>
      <Group gap="sm">
        <Text fz={26} fw={650} lh={1.2}>
          <Money usd={data.amount} />
        </Text>
        <StatusBadge status={data.status} />
      </Group>
      <Problems payment={data} />
      <PaymentFacts payment={data} />
      <Links payment={data} />
    </Stack>
  );
}

function Problems({ payment: { failure, mismatch } }: { payment: PaymentShape }) {
  return (
    <>
      {failure !== null && (
        <Alert color="red" icon={<Icon name="warning" />} title="Failed">
          {`${failure.message} (${failure.code})`}
        </Alert>
      )}
      {mismatch !== null && (
        <Alert color="orange" icon={<Icon name="warning" />} title="Not credited">
          {`The payment does not match the order: ${mismatch}`}
        </Alert>
      )}
    </>
  );
}

function PaymentFacts({ payment }: { payment: PaymentShape }) {
  const me = useMe();
  const names = useNames([{ account: payment.account, key: null }]);
  const { amount, tax, total, refunded, disputed, credited, fee } = payment;
  const money = (name: string, usd: string | null): Fact => ({
    name,
    value: <Money usd={usd} none="Unknown" />,
  });
  const ifAny = (name: string, usd: string) => (nanoOf(usd) === 0n ? null : money(name, usd));
  const isInstallation = seesInstallation(me);
  return (
    <Facts
      facts={[
        isInstallation
          ? {
              name: 'Account',
              value: <TextLink to={pathOf.account(payment.account)}>{names.account(payment.account)}</TextLink>,
            }
          : null,
        { name: 'Type', value: paymentKindLabels[payment.kind] },
        money('Amount', amount),
        ifAny('Tax', tax),
        isPaid(payment) ? money('Paid', total) : null,
        ifAny('Refunded', refunded),
        ifAny('Disputed', disputed),
        money('Credited', credited),
        isInstallation ? money('Fee of Stripe', fee) : null,
        { name: 'Created', value: <When at={payment.created_at} isPrecise /> },
        { name: 'Updated', value: <When at={payment.updated_at} isPrecise /> },
        {
          name: 'ID',
          value: (
            <Group gap="xs">
              <Text size="sm" ff="monospace">
                {payment.id}
              </Text>
              <CopyButton text={payment.id} size="compact-xs" />
            </Group>
          ),
        },
      ]}
    />
  );
}

/** Stripe has a receipt of a failed bank debit, too. */
export function receiptOf(payment: PaymentShape): string | null {
  return isPaid(payment) ? payment.receipt_url : null;
}

function isPaid({ status }: PaymentShape): boolean {
  return !['pending', 'failed', 'canceled'].includes(status);
}

function Links({ payment }: { payment: PaymentShape }) {
  const { role } = useMe();
  const { checkout_url: checkout, status } = payment;
  const receipt = receiptOf(payment);
  return (
    <Group gap="md">
      {receipt !== null && <ExternalLink href={receipt}>Receipt</ExternalLink>}
      {role === 'owner' && status === 'pending' && checkout !== null && (
        <Anchor href={checkout} size="sm">
          Continue this payment
        </Anchor>
      )}
    </Group>
  );
}
